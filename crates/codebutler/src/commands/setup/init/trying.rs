//! Guesses are tried before they are written: once, in the sandbox, on the commit
//! that is checked out. What cannot work here is left out and named, so that the
//! first change is not stopped by a check that was never green.

use std::path::Path;

use butler_agent::Tried;
use butler_config::Machine;
use butler_tools::{Check, Preparing};

use crate::commands::setup::try_out::{Commands, try_out};
use crate::{error::CliError, ui::Ui};

/// What is to be written, and what people should know about it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Checks by name.
    pub checks: Vec<(String, String)>,
    /// One line for each thing that did not work.
    pub remarks: Vec<String>,
}

/// Tries checks and preparation. Without a commit, or without a sandbox, all of
/// them stay as they are.
pub(crate) fn tried(
    root: &Path,
    home: &Path,
    machine: &Machine,
    checks: Vec<(String, String)>,
    prepare: &[String],
    ui: &Ui,
) -> Result<Verdict, CliError> {
    let untouched = |checks, remarks| Verdict { checks, remarks };
    if checks.is_empty() && prepare.is_empty() {
        return Ok(untouched(checks, Vec::new()));
    }
    let as_run: Vec<Check> = checks
        .iter()
        .map(|(name, command)| Check {
            name: name.clone(),
            command: command.clone(),
        })
        .collect();
    let commands = Commands {
        root,
        home,
        ca_file: machine.network.ca_file.clone().map(Into::into),
        prepare,
        checks: &as_run,
    };
    let telling = |command: &str| ui.note(format_args!("trying {command}"));
    match try_out(&commands, telling) {
        Ok(Some(tried)) => Ok(judge(checks, &tried)),
        Ok(None) => Ok(untouched(checks, Vec::new())),
        // A guess that could not be tried is still a guess.
        Err(error) => Ok(untouched(
            checks,
            vec![format!("nothing was tried: {}", error.plain())],
        )),
    }
}

fn judge(checks: Vec<(String, String)>, tried: &Tried) -> Verdict {
    let mut verdict = Verdict::default();
    if let Some((command, end)) = &tried.unprepared {
        verdict.remarks.push(format!(
            "prepare does not work yet: `{command}`, {}; the checks were not tried. Correct it in .codebutler/config.json",
            said(end)
        ));
        verdict.checks = checks;
        return verdict;
    }
    for (name, command) in checks {
        let end = tried.checks.iter().find(|(check, _)| check.name == name);
        match end.map(|(_, end)| end).filter(|end| !end.ok) {
            None => verdict.checks.push((name, command)),
            Some(end) if is_test(&name) && !lacks_tool(end) => {
                verdict.remarks.push(format!(
                    "{name} is red at the moment: `{command}`, {}",
                    said(end)
                ));
                verdict.checks.push((name, command));
            }
            Some(end) => verdict.remarks.push(format!(
                "{name} is left out: `{command}`, {}; add it with --check once it works",
                said(end)
            )),
        }
    }
    verdict
}

/// Tests that are red are still the tests.
fn is_test(name: &str) -> bool {
    name == "test" || name.ends_with("-test") || name == "check"
}

/// Whether a check could not even begin.
fn lacks_tool(end: &Preparing) -> bool {
    let words = [
        "No module named",
        "command not found",
        "no such command",
        "not found",
    ];
    end.missing || words.iter().any(|words| end.last_line().contains(words))
}

fn said(end: &Preparing) -> String {
    match end.last_line().as_str() {
        "" => end.verdict.clone(),
        line => format!("{}: {line}", end.verdict),
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::setup::init::trying::*;

    fn end(ok: bool, output: &str) -> Preparing {
        Preparing {
            ok,
            verdict: if ok { "exit 0" } else { "exit 1" }.to_owned(),
            output: output.to_owned(),
            missing: false,
        }
    }

    fn judged(unprepared: bool, ends: &[(&str, Preparing)]) -> Verdict {
        let name = |(name, _): &(&str, Preparing)| ((*name).to_owned(), format!("run {name}"));
        let checks: Vec<_> = ends.iter().map(name).collect();
        let ran = ends.iter().map(|(name, end)| {
            let check = Check {
                name: (*name).to_owned(),
                command: String::new(),
            };
            (check, end.clone())
        });
        let tried = Tried {
            unprepared: unprepared.then(|| ("npm ci".to_owned(), end(false, "no registry"))),
            checks: if unprepared {
                Vec::new()
            } else {
                ran.collect()
            },
        };
        judge(checks, &tried)
    }

    #[test]
    fn what_cannot_work_is_left_out_and_named_and_red_tests_stay() {
        let ends = [
            ("test", end(false, "1 failed")),
            ("lint", end(true, "")),
            ("types", end(false, "Found 63 errors")),
        ];
        let verdict = judged(false, &ends);
        let names: Vec<&str> = verdict
            .checks
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["test", "lint"]);
        assert!(
            verdict.remarks[0].contains("test is red")
                && verdict.remarks[1].contains("Found 63 errors")
        );
        let none = judged(
            false,
            &[("test", end(false, "python3: No module named pytest"))],
        );
        assert!(none.checks.is_empty(), "{none:?}");
    }

    #[test]
    fn without_its_preparation_nothing_is_said_about_a_check() {
        let verdict = judged(true, &[("types", end(false, ""))]);
        assert_eq!(verdict.checks.len(), 1);
        assert!(verdict.remarks[0].contains("no registry"), "{verdict:?}");
    }
}
