//! GHStatus and GHComment: a pull request as the forge shows it, and a word on it.

use std::{fmt::Write, time::Duration};

use butler_protocol::{PrNumber, Tier, ToolOutcome};
use butler_repo::{Author, NewComment, Place};
use butler_tools::fenced;
use schemars::JsonSchema;
use serde::Deserialize;

use super::issue::name;
use crate::tools::{Answer, CallContext, ChatTool, OrFailed, SLOW, refuse};

pub(crate) struct GhStatus;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StatusInput {
    /// The pull request (default: the one of this thread).
    #[serde(default)]
    number: Option<u64>,
}

impl ChatTool for GhStatus {
    type Input = StatusInput;

    const NAME: &'static str = "GHStatus";
    const TIER: Tier = Tier::Read;
    const DEADLINE: Duration = SLOW;

    const TOLD: &'static str = "Shows a pull request as its forge has it: state, head, the checks that ran there, and \
             what people wrote below it, which is text from outside. \
             Example: {\"number\": 3}";

    async fn act(context: &CallContext<'_>, input: StatusInput) -> Answer {
        let Some(pr) = pull(context, input.number).await else {
            return refuse("this thread has no pull request yet; give a `number`");
        };
        let (forge, cancel) = (&context.agent.forge, &context.cancel);
        let view = forge
            .view(pr, cancel)
            .await
            .or_failed("the pull request could not be read")?;
        let checks = forge
            .checks(pr, cancel)
            .await
            .or_failed("its checks could not be read")?;
        let mut text = format!(
            "{pr} {} ({:?}), head {}\n",
            view.title, view.state, view.head
        );
        for check in &checks {
            let _ = writeln!(text, "check {}: {:?}", check.name, check.state);
        }
        if checks.is_empty() {
            text.push_str("no checks ran on the forge\n");
        }
        for comment in &view.comments {
            let _ = writeln!(text, "\n{}: {}", name(&comment.author), comment.body);
        }
        let text = fenced(context.id(), &format!("pull request {pr}"), &text);
        Ok(ToolOutcome::ok(text))
    }
}

pub(crate) struct GhComment;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CommentInput {
    /// What to say, in Markdown.
    text: String,
    /// The pull request (default: the one of this thread).
    #[serde(default)]
    number: Option<u64>,
    /// The line it is about, as "notes.sh:40"; without it the whole.
    #[serde(default)]
    place: Option<String>,
}

impl ChatTool for GhComment {
    type Input = CommentInput;

    const NAME: &'static str = "GHComment";
    const DEADLINE: Duration = SLOW;

    const TOLD: &'static str = "Comments on a pull request, as a whole or at a line. Use it for a review of a pull \
             request that people wrote; your verdict on the team's own one is put there by the \
             runtime. Others see it. Not for the thread (SendMessage) nor for issues. Example: \
             {\"number\": 3, \"place\": \"notes.sh:40\", \"text\": \"an empty list is not handled\"}";

    async fn act(context: &CallContext<'_>, input: CommentInput) -> Answer {
        let Some(pr) = pull(context, input.number).await else {
            return refuse("this thread has no pull request yet; give a `number`");
        };
        let place = match input.place.as_deref().map(place) {
            Some(None) => return refuse("`place` is written as path:line"),
            place => place.flatten(),
        };
        if input.text.trim().is_empty() {
            return refuse("`text` is empty: say what should stand there");
        }
        let comment = NewComment {
            author: Author::Role(context.role()),
            body: context.agent.clean(&input.text),
            place,
            key: context.id().to_string(),
        };
        let commented = context.agent.forge.comment(pr, &comment, &context.cancel);
        commented.await.or_failed("the comment was not put there")?;
        Ok(ToolOutcome::ok(format!("commented on {pr}")))
    }
}

pub(crate) fn place(text: &str) -> Option<Place> {
    let (path, line) = text.trim().rsplit_once(':')?;
    let line = line.parse().ok()?;
    let path = path.to_owned();
    (!path.is_empty()).then_some(Place { path, line })
}

/// The named one, else the one of this thread's branch.
async fn pull(context: &CallContext<'_>, number: Option<u64>) -> Option<PrNumber> {
    if let Some(number) = number {
        return Some(PrNumber(number));
    }
    let worktree = context.agent.repo.find(&context.thread).await.ok()??;
    let forge = &context.agent.forge;
    let found = forge.find(&worktree.branch, &context.cancel).await;
    found.ok()?.map(|pull| pull.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_path_and_a_line() {
        let found = place("src/a.rs:12").unwrap();
        assert_eq!((found.path.as_str(), found.line), ("src/a.rs", 12));
        for bad in ["a.rs", ":3", "a.rs:x", ""] {
            assert!(place(bad).is_none(), "{bad}");
        }
    }
}
