//! What must hold before anything is merged.

use anyhow::Result;

use crate::{
    Place, licences, parts,
    steps::{Steps, answers},
};

/// How much is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Unit tests only, for the minutes between two edits.
    Quick,
    /// Everything.
    Full,
}

/// Tests build without debug information and without incremental files.
pub(crate) const PROFILE: &str = "ci";

/// Formatting, lints, licences, and the tests.
pub(crate) fn test(place: &Place, depth: Depth) -> Result<bool> {
    let mut steps = Steps::default();
    if depth == Depth::Full {
        parts_step(&mut steps, place);
    }
    lints(&mut steps, place);
    let vars = test_variables(place);
    let vars: Vec<(&str, &str)> = vars.iter().map(|(name, value)| (*name, &**value)).collect();
    let nextest = answers(&place.root, &["cargo", "nextest", "--version"]);
    let words = with_lock(test_words(nextest, depth), place.ci);
    // Stories wait as long as they work: twice as many as there are cores keep these busy.
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let threads = format!("--test-threads={}", 2 * cores);
    let words: Vec<&str> = match nextest {
        true => words.into_iter().chain([threads.as_str()]).collect(),
        false => words,
    };
    steps.command("tests", &place.root, &words, &vars);
    if depth == Depth::Full {
        let words = vec![
            "cargo",
            "test",
            "--workspace",
            "--doc",
            "--profile",
            PROFILE,
            "--quiet",
        ];
        steps.command(
            "examples in the docs",
            &place.root,
            &with_lock(words, place.ci),
            &vars,
        );
    }
    Ok(steps.finish())
}

/// A real model on a real server, on request only: it downloads a hundred
/// megabytes and needs minutes on a small machine.
pub(crate) fn real_model(place: &Place) -> Result<bool> {
    let mut steps = Steps::default();
    // Who asks for it gets it or is told: nothing is skipped here.
    let place = Place {
        root: place.root.clone(),
        target: place.target.clone(),
        parts: place.parts.clone(),
        ci: true,
    };
    let mut there = false;
    steps.run("model and server", || {
        there = parts::see_to(&[parts::REAL_MODEL], &place);
        Ok(there)
    });
    if there {
        let python = place.parts.join("model/venv/bin/python");
        let python = python.to_string_lossy();
        let words = ["cargo", "test", "-p", "butler-model", "--test", "it"];
        let words: Vec<&str> = words
            .into_iter()
            .chain(["--", "--ignored", "--test-threads=1", "real::"])
            .collect();
        let vars = [("CODEBUTLER_REAL_MODEL_PYTHON", &*python)];
        steps.command("a real model", &place.root, &words, &vars);
    }
    Ok(steps.finish())
}

/// One story in a workspace of Slack, in a channel of its own that is archived after it.
pub(crate) fn real_slack(place: &Place) -> Result<bool> {
    for name in ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"] {
        if std::env::var_os(name).is_none_or(|token| token.is_empty()) {
            anyhow::bail!(
                "{name} is not set: docs/slack.md says how to make an app with both tokens"
            );
        }
    }
    let mut steps = Steps::default();
    let words = ["cargo", "test", "-p", "butler-hub", "--test", "it", "--"];
    let words: Vec<&str> = words
        .into_iter()
        .chain(["--ignored", "--exact", "real_slack::slack_itself_plays_it"])
        .collect();
    steps.command("a story in Slack", &place.root, &words, &[]);
    Ok(steps.finish())
}

/// Where tests find what is no system package, and whether they may do without.
pub(crate) fn test_variables(place: &Place) -> Vec<(&'static str, String)> {
    let mut variables = Vec::new();
    let slack = place.parts.join("slack");
    if slack.join("venv").exists() {
        variables.push(("CODEBUTLER_SDK_DIR", slack.to_string_lossy().into_owned()));
    }
    let browser = place.parts.join("browser");
    if browser.join("node_modules").exists() {
        variables.push((
            "CODEBUTLER_BROWSER_DIR",
            browser.to_string_lossy().into_owned(),
        ));
    }
    let yarn = place.parts.join("yarn");
    if yarn.join("node_modules").exists() {
        variables.push(("CODEBUTLER_YARN_DIR", yarn.to_string_lossy().into_owned()));
    }
    let servers = place.parts.join("mcp");
    if servers.join("venv").exists() {
        variables.push(("CODEBUTLER_MCP_DIR", servers.to_string_lossy().into_owned()));
    }
    let prometheus = place.parts.join("prometheus");
    if prometheus.join("usr").exists() {
        let prometheus = prometheus.to_string_lossy().into_owned();
        variables.push(("CODEBUTLER_PROMETHEUS_DIR", prometheus));
    }
    if place.ci {
        variables.push(("CODEBUTLER_REQUIRE_GH", "1".to_owned()));
    }
    variables
}

/// Formatting, lints, licences.
pub(crate) fn lint(place: &Place) -> Result<bool> {
    let mut steps = Steps::default();
    lints(&mut steps, place);
    Ok(steps.finish())
}

/// Fetches what later runs need, so that they need no network.
pub(crate) fn setup(place: &Place) -> Result<bool> {
    let mut steps = Steps::default();
    let words = with_lock(vec!["cargo", "fetch"], place.ci);
    steps.command("crates", &place.root, &words, &[]);
    parts_step(&mut steps, place);
    Ok(steps.finish())
}

fn parts_step(steps: &mut Steps, place: &Place) {
    steps.run("outside parts", || Ok(parts::see_to(parts::PARTS, place)));
}

fn lints(steps: &mut Steps, place: &Place) {
    let fmt = ["cargo", "fmt", "--all", "--check"];
    steps.command("formatting", &place.root, &fmt, &[]);
    steps.run("licences and bans", || licences::check(place));
    let clippy = vec![
        "cargo",
        "clippy",
        "--workspace",
        "--all-targets",
        "--profile",
        PROFILE,
        "--quiet",
    ];
    let mut clippy = with_lock(clippy, place.ci);
    clippy.extend(["--", "-D", "warnings"]);
    steps.command("lints", &place.root, &clippy, &[]);
}

/// nextest where it is installed, else cargo's own runner; both run all tests.
fn test_words(nextest: bool, depth: Depth) -> Vec<&'static str> {
    let mut words = if nextest {
        vec![
            "cargo",
            "nextest",
            "run",
            "--workspace",
            "--no-fail-fast",
            "--cargo-profile",
            PROFILE,
        ]
    } else {
        vec![
            "cargo",
            "test",
            "--workspace",
            "--no-fail-fast",
            "--profile",
            PROFILE,
        ]
    };
    match (depth, nextest) {
        (Depth::Quick, _) => words.extend(["--lib", "--bins"]),
        // Cargo's runner would add the examples of the docs, which are a step of their own.
        (Depth::Full, false) => words.extend(["--lib", "--bins", "--tests"]),
        (Depth::Full, true) => {}
    }
    words
}

/// In CI the lock file must be the one that was committed.
pub(crate) fn with_lock(mut words: Vec<&str>, ci: bool) -> Vec<&str> {
    if ci {
        words.push("--locked");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_gate_leaves_no_kind_of_test_out() {
        let cargo = test_words(false, Depth::Full);
        assert!(
            ["--lib", "--bins", "--tests"]
                .iter()
                .all(|word| cargo.contains(word))
        );
        // Without a choice of targets nextest runs all of them.
        assert!(!test_words(true, Depth::Full).contains(&"--lib"));
        for nextest in [true, false] {
            let words = test_words(nextest, Depth::Full);
            assert!(words.contains(&"--workspace") && words.contains(&"--no-fail-fast"));
        }
    }

    #[test]
    fn ci_insists_on_the_lock_file() {
        assert_eq!(with_lock(vec!["x"], true), ["x", "--locked"]);
        assert_eq!(with_lock(vec!["x"], false), ["x"]);
    }
}
