//! GHRelease: a tag with words, for everybody to see. Every call waits for a
//! person's click on exactly this release.

use std::time::Duration;

use butler_protocol::{CommitSha, Tier, ToolOutcome};
use butler_repo::{NewRelease, Release};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::AgentError;
use crate::tools::{Answer, CallContext, ChatTool, OrFailed, SLOW, refuse};

pub(crate) struct GhRelease;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// As in v1.2.0.
    tag: String,
    /// One line.
    title: String,
    /// What is new, for users, in Markdown.
    notes: String,
}

impl ChatTool for GhRelease {
    type Input = Input;

    const NAME: &'static str = "GHRelease";
    /// What was released cannot be taken back: people have it.
    const TIER: Tier = Tier::Destructive;
    const DEADLINE: Duration = SLOW;

    const TOLD: &'static str = "Publishes what is on the default branch as a release: tag, title, notes. A person is \
             asked before every call and sees exactly this. Use it last, when version and changelog \
             are merged and the person wants to publish. Example: {\"tag\": \"v1.2.0\", \"title\": \
             \"notes 1.2\", \"notes\": \"- list --json\"}";

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        let tag = input.tag.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
        if tag.is_empty() || !tag.chars().all(plain) || tag.starts_with('-') {
            return refuse("`tag` is not a version, as in v1.2.0");
        }
        let made = publish(context, tag, &input).await;
        let made = made.or_failed("nothing was released")?;
        Ok(ToolOutcome::ok(format!(
            "released {} at {}{}",
            made.tag,
            made.commit,
            made.url.map_or_else(String::new, |url| format!(", {url}"))
        )))
    }
}

async fn publish(
    context: &CallContext<'_>,
    tag: &str,
    input: &Input,
) -> Result<Release, AgentError> {
    let (agent, cancel) = (&context.agent, &context.cancel);
    agent.repo.fetch(cancel).await?;
    let head = agent.repo.default_ref();
    let call = agent.repo.git().call(["rev-parse", "--verify", &head]);
    let commit = CommitSha::new(call.run(cancel).await?.text());
    let new = NewRelease {
        tag: tag.to_owned(),
        title: agent.clean(&input.title),
        notes: agent.clean(&input.notes),
        commit,
    };
    Ok(agent.forge.publish(&new, cancel).await?)
}
