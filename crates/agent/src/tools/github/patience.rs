//! A forge that does not answer in the middle of a role's work: nobody is logged in, `gh` is
//! gone, it takes no more requests. People are told once, in plain words; the call waits and
//! goes on by itself when it answers, and no model is asked meanwhile. It has an end: after
//! that a person says when to go on. What is refused for good is not waited for.

use std::{future::Future, time::Duration};

use butler_protocol::{MergeBlock, Then, ToolOutcome, Waiting};
use butler_repo::{Error, block_of};
use tracing::warn;

use crate::tools::CallContext;
use crate::{
    OrWarn, ThreadContext, tell::forge_text::trouble, tools::failed,
    upkeep::forge::pull_watch::after_failure,
};

/// How long a call may take that waits for the forge.
pub(in crate::tools) const PATIENT: Duration = Duration::from_secs(60 * 60);
/// So long it waits; the rest of its time is for what it does besides.
const MOST: Duration = Duration::from_secs(45 * 60);

/// Asks until there is an answer. `what` says, without "failed", what did not go.
pub(in crate::tools) async fn until_it_answers<T, F>(
    context: &CallContext<'_>,
    what: &str,
    ask: impl Fn() -> F,
) -> Result<T, ToolOutcome>
where
    F: Future<Output = butler_repo::Result<T>> + Send,
{
    let (mut waited, mut failures) = (Duration::ZERO, 0);
    loop {
        let error = match ask().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let Some(why) = passing(&error) else {
            return Err(failed(what, &error));
        };
        warn!(%error, what, "the forge does not answer; the call waits");
        failures += 1;
        let usual = context.agent.rules().limits.forge_pause;
        let pause = after_failure(&error, failures, usual);
        tell(context, &error, &why).await;
        if waited + pause > MOST {
            let text = format!("failed: {what}: {why}. People know; they say when to go on.");
            return Err(ToolOutcome::error(text).then(Then::Park {
                waiting: Waiting::Person,
            }));
        }
        waited += pause;
        tokio::select! {
            () = context.cancel.cancelled() => return Err(failed(what, &error)),
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// What is in the way, if it can pass by itself or by what a person does on the machine.
fn passing(error: &Error) -> Option<String> {
    let (block, _) = block_of(error);
    match (block, error) {
        (MergeBlock::RateLimited | MergeBlock::LoggedOut, _)
        | (_, Error::Unreachable { .. } | Error::Deadline { .. }) => {
            Some(trouble(block).to_owned())
        }
        (_, Error::Failed { command, .. }) if command.starts_with("gh ") => {
            Some(trouble(block).to_owned())
        }
        // Git says in its last line what it did not like.
        (
            _,
            Error::Failed {
                command, stderr, ..
            },
        ) if leaves(command) => {
            let mut lines = stderr.lines().rev().map(str::trim);
            let last = lines.find(|line| !line.is_empty());
            let last = last.unwrap_or("no reason given");
            Some(format!("the remote cannot be reached (“{last}”)"))
        }
        _ => None,
    }
}

/// Whether a command of git speaks with the remote.
fn leaves(command: &str) -> bool {
    let verb = command.split(' ').nth(1);
    verb.is_some_and(|verb| ["push", "fetch", "ls-remote"].contains(&verb))
}

/// Once an hour for each reason, however often the call is taken up again.
async fn tell(context: &ThreadContext, error: &Error, why: &str) {
    let (block, _) = block_of(error);
    let hour = context.now_ms() / (60 * 60 * 1000);
    let idem = context.key(format_args!("waits-{block:?}-{hour}"));
    let text = format!(
        "I cannot go on for now: {why}. Nothing of the work is lost, and I go on by myself as soon as it answers."
    );
    let text = context.agent.clean(&text);
    context
        .say(idem, &text)
        .await
        .or_warn("that the forge does not answer could not be told");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_told_without_a_command_line_and_a_no_is_not_waited_for() {
        let git = Error::Failed {
            command: "git push --porcelain origin x".into(),
            code: 128,
            stderr: "ssh: connect to host x\nfatal: Could not read from remote repository.\n"
                .into(),
        };
        let said = passing(&git).unwrap();
        assert_eq!(
            said,
            "the remote cannot be reached (“fatal: Could not read from remote repository.”)"
        );
        let gone = Error::Start {
            command: "gh api x".into(),
            source: std::io::ErrorKind::NotFound.into(),
        };
        let said = passing(&gone).unwrap();
        assert!(
            said.contains("gh auth login") && !said.contains("gh api"),
            "{said}"
        );
        for no in [
            Error::Failed {
                command: "git commit-tree x".into(),
                code: 128,
                stderr: "fatal: no space left".into(),
            },
            Error::Refused {
                name: "POST pulls".into(),
                reason: "Validation Failed (HTTP 422)".into(),
            },
            Error::Cancelled {
                what: "gh api".into(),
            },
        ] {
            assert_eq!(passing(&no), None, "{no}");
        }
    }
}
