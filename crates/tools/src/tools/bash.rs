//! Bash: a command in the worktree, confined by the kernel.
//!
//! Background jobs are looked after by the words `job list`, `job output N` and
//! `job stop N` instead of further fields: one schema, and `policy` sees every
//! command as text.

use std::time::Duration;

use butler_policy::Permit;
use butler_protocol::{ToolOutcome, fault};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Told;
use crate::{Tool, ToolContext, context::READY_PATIENCE, run::confine};

const DEFAULT_SECONDS: u32 = 120;
const MOST_SECONDS: u32 = 600;
const BACKGROUND: Duration = Duration::from_secs(3600);

/// What the sandbox may need to end a command after its time.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// Run by bash. For background jobs also: `job list`, `job output 1` (what is new), `job stop 1`.
    command: String,
    /// Default 120, at most 600.
    #[schemars(range(min = 1))]
    timeout_seconds: Option<u32>,
    /// Start it as a job and do not wait, as for a server.
    background: Option<bool>,
}

/// The tool.
pub struct Bash;

const DESCRIPTION: &str = "
Runs a shell command in the worktree, in a sandbox without network or credentials. For builds, single
tests and programs; not to read and search (Read, Grep), nor for the whole checks (RunChecks leaves the
receipt). What is destructive or needs the network waits for a person's click. Each call starts anew
in the root: use `cd x && …`. Returns the exit code, then the output, its middle cut when long.
Example: {\"command\": \"cargo test -p core parser\", \"timeout_seconds\": 300}";

impl Tool for Bash {
    crate::tools::introduce!("Bash", WriteLocal, Opaque);

    fn deadline(&self, input: &Value) -> Duration {
        let asked = input["timeout_seconds"].as_u64();
        seconds(asked.and_then(|asked| u32::try_from(asked).ok())) + GRACE + READY_PATIENCE
    }
}

impl Bash {
    async fn work(&self, permit: &Permit, input: Input, context: &ToolContext) -> Told {
        if input.command.trim().is_empty() {
            return Err("refused: `command` is empty".into());
        }
        if let Some(answer) = about_jobs(context, &input.command) {
            return Ok(ToolOutcome::ok(answer?));
        }
        let warning = context.ready().await?;
        context.progress(format!("running {}", head(&input.command)));
        fault("tools.before-command");
        let outcome = if input.background.unwrap_or(false) {
            start(permit, context, &input.command)
        } else {
            run_to_its_end(permit, context, &input, warning).await
        };
        fault("tools.after-command");
        outcome
    }
}

/// What git says when it wants to write its own files, which commands only read.
const GIT_CANNOT_WRITE: &str = "Read-only file system";
const WHO_COMMITS: &str = "git's own folder is read-only for commands: nothing is committed, stashed or \
    switched here. Leave your changes as files; they are committed after you";

/// Waits for the command; a red one carries the warning of the preparation.
async fn run_to_its_end(
    permit: &Permit,
    context: &ToolContext,
    input: &Input,
    warning: Option<String>,
) -> Told {
    let wall = seconds(input.timeout_seconds);
    let exit = confine::run(context, permit, &input.command, wall).await?;
    let output = confine::output(&exit, context.room());
    let output = if output.trim().is_empty() {
        "(no output)"
    } else {
        &output
    };
    let mut text = format!("{}\n{output}", confine::verdict(&exit));
    if let Some(warning) = warning.filter(|_| !exit.success()) {
        text.push_str(&format!("\n[{warning}]"));
    }
    if !exit.success() && wrote_to_git(output) {
        text.push_str(&format!("\n[{WHO_COMMITS}]"));
    }
    Ok(ToolOutcome {
        ok: exit.success(),
        ..ToolOutcome::ok(text)
    })
}

/// Whether git failed because it could not write its own folder.
fn wrote_to_git(output: &str) -> bool {
    let mut lines = output.lines();
    lines.any(|line| line.contains("/.git/") && line.ends_with(GIT_CANNOT_WRITE))
}

fn seconds(asked: Option<u32>) -> Duration {
    let asked = asked.unwrap_or(DEFAULT_SECONDS).clamp(1, MOST_SECONDS);
    Duration::from_secs(u64::from(asked))
}

fn head(command: &str) -> String {
    let line = command.lines().next().unwrap_or_default();
    line.chars().take(80).collect()
}

fn start(permit: &Permit, context: &ToolContext, command: &str) -> Told {
    let sandbox = context.sandbox.as_ref().ok_or(confine::NO_JAIL)?;
    let place = context.workplace();
    let network = confine::network(permit);
    let profile = confine::profile(place, network, BACKGROUND);
    let shell = confine::shell(place, command, network);
    let unconfined = permit.unconfined();
    let jobs = context.jobs();
    let number = jobs.start(sandbox.clone(), shell, profile, unconfined, command)?;
    Ok(ToolOutcome::ok(format!(
        "started as job {number}; see its output with `job output {number}`, end it with `job stop {number}`"
    )))
}

/// The answer to a word about background jobs; nothing for other commands.
fn about_jobs(context: &ToolContext, command: &str) -> Option<Result<String, String>> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let number = |text: &str| {
        text.parse::<u32>()
            .map_err(|_| format!("refused: `{text}` is not the number of a job"))
    };
    Some(match words.as_slice() {
        ["job", "list"] => Ok(context.jobs().list()),
        ["job", "output", job] => number(job).and_then(|job| context.jobs().output(job)),
        ["job", "stop", job] => number(job).and_then(|job| context.jobs().stop(job)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_tries_to_commit_is_told_that_commands_do_not() {
        let git = "fatal: Unable to create '/home/you/app/.git/worktrees/x/index.lock': Read-only file system";
        assert!(wrote_to_git(git));
        assert!(wrote_to_git(&format!("On branch x\n{git}\n")));
        assert!(!wrote_to_git(
            "cp: cannot create '/usr/x': Read-only file system"
        ));
        assert!(!wrote_to_git("fatal: not a git repository: '/tmp/.git/'"));
    }
}
