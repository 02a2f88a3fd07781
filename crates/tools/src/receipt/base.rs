//! The same checks where the branch began: once per commit and set of checks,
//! then from what was kept. And the branch's test files on the base's code,
//! which for a fixed bug must fail there.

use std::{fs, path::Path, sync::Arc, time::Duration};

use butler_policy::Permit;
use butler_protocol::{Base, CheckRun, CommitSha, NewTests, Sha256Hex, fault};
use butler_sandbox::Ended;

use super::{ChangedTest, ran};
use crate::{Check, Past, ToolContext, Workplace, run::confine};

/// One check on the base may take this long.
const EACH: Duration = Duration::from_secs(1200);

/// More test files than this say nothing about one bug.
const MOST_FILES: usize = 50;

/// What the checks give where the branch began. `green` says whether they pass
/// on the branch: only then is it worth trying its tests on the base.
pub(crate) async fn base(
    context: &ToolContext,
    permit: &Permit,
    past: &Arc<dyn Past>,
    tests: &[ChangedTest],
    green: bool,
) -> Result<Base, String> {
    let commit = past.commit(context.cancel().clone()).await?;
    let trial = Trial {
        context,
        permit,
        past,
        commit: &commit,
    };
    let checks = context.workplace().checks();
    let plain = trial.run(checks, &[]).await?;
    let worth = worth_trying(checks, &plain);
    let untried = untried(tests, green, &worth);
    let new_tests = match untried {
        Some(_) => None,
        None => Some(NewTests {
            files: tests.iter().map(|test| test.path.clone()).collect(),
            checks: trial.run(&worth, tests).await?,
        }),
    };
    Ok(Base {
        commit,
        checks: plain,
        new_tests,
        untried: untried.map(str::to_owned),
    })
}

/// Why the branch's tests cannot show anything on the base.
fn untried(tests: &[ChangedTest], green: bool, worth: &[Check]) -> Option<&'static str> {
    if tests.is_empty() {
        Some("it adds and changes none")
    } else if tests.len() > MOST_FILES {
        Some("it touches too many test files to try them on the base")
    } else if !green {
        Some("the checks are not green here")
    } else if worth.is_empty() {
        Some("the checks are red on the base without it")
    } else {
        None
    }
}

/// Only a check that passes on the base can turn red there because of a test;
/// where some of them count tests, those are the ones that run tests.
fn worth_trying(checks: &[Check], plain: &[CheckRun]) -> Vec<Check> {
    let passed = |check: &&Check, counting: bool| {
        plain.iter().any(|run| {
            let counts = !counting || run.counts.is_some();
            run.name == check.name && run.exit_code == Some(0) && counts
        })
    };
    let chosen = |counting: bool| -> Vec<Check> {
        checks
            .iter()
            .filter(|check| passed(check, counting))
            .cloned()
            .collect()
    };
    let counting = chosen(true);
    if counting.is_empty() {
        chosen(false)
    } else {
        counting
    }
}

/// Everything a run on the base needs.
struct Trial<'a> {
    context: &'a ToolContext,
    permit: &'a Permit,
    past: &'a Arc<dyn Past>,
    commit: &'a CommitSha,
}

impl Trial<'_> {
    /// From what was kept, or by running them.
    async fn run(&self, checks: &[Check], tests: &[ChangedTest]) -> Result<Vec<CheckRun>, String> {
        let kept = self
            .past
            .kept()
            .join(format!("{}.json", self.key(checks, tests)));
        if let Some(runs) = read(&kept) {
            return Ok(runs);
        }
        let files = tests.iter().map(|test| test.path.clone()).collect();
        let cancel = self.context.cancel().clone();
        let laid_out = self
            .past
            .lay_out(self.commit.clone(), files, cancel)
            .await?;
        // Another thread may have found it out while this one waited.
        if let Some(runs) = read(&kept) {
            return Ok(runs);
        }
        let around = self.context.workplace().surroundings().clone();
        let place = Workplace::open(&laid_out.folder, checks.to_vec(), around)
            .map_err(|error| error.to_string())?;
        let context = self.context.at(place);
        let mut runs = Vec::new();
        for check in checks {
            context.progress(format!("running {} on the base", check.name));
            let exit = confine::run(&context, self.permit, &check.command, EACH).await?;
            // What says more about this machine and moment than about the base
            // is not a result.
            if exit.ended != Ended::Itself {
                return Err(format!("{} {}", check.name, confine::verdict(&exit)));
            }
            runs.push(ran(check, &exit));
        }
        drop(laid_out);
        keep(&kept, &runs);
        Ok(runs)
    }

    /// What the result depends on.
    fn key(&self, checks: &[Check], tests: &[ChangedTest]) -> Sha256Hex {
        let checks: Vec<[&str; 2]> = checks
            .iter()
            .map(|check| [check.name.as_str(), check.command.as_str()])
            .collect();
        let tests: Vec<[&str; 2]> = tests
            .iter()
            .map(|test| [test.path.as_str(), test.change.as_str()])
            .collect();
        let made = self.past.made_with();
        Sha256Hex::of(serde_json::json!([self.commit, made, checks, tests]).to_string())
    }
}

fn read(path: &Path) -> Option<Vec<CheckRun>> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Keeps it for the next time; without it the checks only run once more.
fn keep(path: &Path, runs: &[CheckRun]) {
    let write = || -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        fs::write(&beside, serde_json::to_vec(runs)?)?;
        fault("tools.before-base");
        fs::rename(&beside, path)?;
        fault("tools.after-base");
        Ok(())
    };
    if let Err(error) = write() {
        tracing::warn!(%error, path = %path.display(), "the result on the base was not kept");
    }
}
