//! What takes too long for the gate: tests at their full size (every passage of
//! every fault point, ten thousand messages through twenty kills) and the ones
//! that are ignored because they take minutes. Nothing is tried twice: a test
//! that fails once in a night is what the night is for.

use anyhow::Result;

use crate::{
    Place,
    gate::{PROFILE, test_variables, with_lock},
    parts,
    steps::{Steps, answers},
};

/// Tests that have a full size look for this variable.
const VARIABLE: &str = "CODEBUTLER_NIGHTLY";

/// Crates whose ignored tests only take long; those of other crates need
/// something that is not here.
const LONG: [&str; 1] = ["butler-repo"];

/// Runs everything at its full size.
pub(crate) fn run(place: &Place) -> Result<bool> {
    let mut steps = Steps::default();
    let mut vars = test_variables(place);
    vars.push((VARIABLE, "1".to_owned()));
    let vars: Vec<(&str, &str)> = vars.iter().map(|(name, value)| (*name, &**value)).collect();
    let nextest = answers(&place.root, &["cargo", "nextest", "--version"]);
    let words = with_lock(all(nextest), place.ci);
    steps.command("tests at full size", &place.root, &words, &vars);
    for package in LONG {
        let words = with_profile(ignored(nextest, package), nextest);
        steps.command(
            &format!("long tests of {package}"),
            &place.root,
            &words,
            &vars,
        );
    }
    let kernel = place.parts.join("kernel");
    steps.run("a kernel of our own", || {
        Ok(parts::see_to(&[parts::KERNEL], place))
    });
    if kernel.join("vmlinuz").exists() {
        let script = "crates/sandbox/tests/kernel/run.sh";
        let words = ["sh", script, &*kernel.to_string_lossy(), PROFILE];
        steps.command("limits of a control group", &place.root, &words, &[]);
    }
    Ok(steps.finish())
}

fn all(nextest: bool) -> Vec<&'static str> {
    let words = if nextest {
        vec!["cargo", "nextest", "run", "--retries", "0"]
    } else {
        vec!["cargo", "test"]
    };
    let mut words = with_profile(words, nextest);
    words.extend(["--workspace", "--no-fail-fast"]);
    words
}

fn ignored(nextest: bool, package: &'static str) -> Vec<&'static str> {
    if nextest {
        let only = ["--run-ignored", "ignored-only", "--retries", "0"];
        let mut words = vec!["cargo", "nextest", "run", "--package", package];
        words.extend(only);
        words
    } else {
        vec![
            "cargo",
            "test",
            "--package",
            package,
            "--tests",
            "--",
            "--ignored",
        ]
    }
}

/// The profile of the gate, so that nothing is built a second time.
fn with_profile(mut words: Vec<&'static str>, nextest: bool) -> Vec<&'static str> {
    let flag = if nextest {
        "--cargo-profile"
    } else {
        "--profile"
    };
    let at = if nextest { 3 } else { 2 };
    words.splice(at..at, [flag, PROFILE]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_runners_are_told_the_profile_before_the_rest() {
        let cargo = with_profile(ignored(false, "butler-x"), false);
        assert_eq!(&cargo[..4], ["cargo", "test", "--profile", PROFILE]);
        assert_eq!(&cargo[cargo.len() - 2..], ["--", "--ignored"]);
        let nextest = all(true);
        assert_eq!(
            &nextest[..5],
            ["cargo", "nextest", "run", "--cargo-profile", PROFILE]
        );
        assert!(nextest.contains(&"--workspace"));
    }
}
