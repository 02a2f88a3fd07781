//! SendMessage: a word in the thread, to people or to another role.

use butler_policy::Permit;
use butler_protocol::{Role, Then, ToolOutcome, ToolSpec, Waiting, mentions};
use butler_tools::ToolContext;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ChatTool, failed, spec};
use crate::thread::context::ThreadContext;

pub(crate) struct SendMessage(pub ThreadContext);

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// What to say, in Markdown.
    message: String,
    /// Sleep until somebody answers.
    #[serde(default)]
    wait_for_reply: bool,
}

impl ChatTool for SendMessage {
    type Input = Input;

    const NAME: &'static str = "SendMessage";

    fn told() -> ToolSpec {
        spec::<Input>(
            Self::NAME,
            "Posts a message to the thread. Another role wakes only if you mention it \
             (@codebutler.coder). A question to people goes with AskUser, work with HandOver; your \
             final answer needs no tool. With wait_for_reply you sleep until every role that you \
             mentioned has answered, or ten minutes pass. Example: {\"message\": \"@codebutler.pm \
             is the order of the list part of the contract?\", \"wait_for_reply\": true}",
        )
    }

    async fn act(&self, permit: &Permit, input: Input, _context: &ToolContext) -> ToolOutcome {
        let context = &self.0;
        let to: Vec<Role> = mentions(&input.message, None)
            .into_iter()
            .filter(|role| *role != context.role())
            .collect();
        let posted = context
            .poster
            .say(
                &context.thread,
                context.idem(permit.call()),
                &input.message,
                to.clone(),
            )
            .await;
        match posted {
            Err(error) => failed("the message was not posted", &error),
            Ok(_) if input.wait_for_reply => {
                let deadline_ms = context.agent.answer_by_ms();
                let waiting = if to.is_empty() {
                    Waiting::Reply { deadline_ms }
                } else {
                    let from = to;
                    Waiting::Replies { deadline_ms, from }
                };
                ToolOutcome::ok("posted; waiting for an answer").then(Then::Park { waiting })
            }
            Ok(_) => ToolOutcome::ok("posted"),
        }
    }
}
