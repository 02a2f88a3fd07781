//! SendMessage: a word in the thread, to people or to another role, with files below it
//! where some are named.

use butler_policy::{Permit, Right, right};
use butler_protocol::{Role, Then, ToolOutcome, ToolSpec, Waiting, mentions};
use butler_tools::ToolContext;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ChatTool, failed, spec};
use crate::thread::context::ThreadContext;

pub(crate) struct SendMessage(pub ThreadContext);

/// More belong into a folder of the repository.
const MOST_FILES: usize = 10;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// What to say, in Markdown.
    message: String,
    /// Sleep until somebody answers.
    #[serde(default)]
    wait_for_reply: bool,
    /// Paths of files to post with it, in order.
    #[serde(default)]
    files: Vec<String>,
}

impl SendMessage {
    /// What a role is told: files are for those who make some.
    pub(crate) fn told_to(role: Role) -> ToolSpec {
        let mut told = Self::told();
        let fields = told.parameters["properties"].as_object_mut();
        if let Some(fields) = fields.filter(|_| right(role, "Screenshot") == Right::No) {
            fields.remove("files");
        }
        told
    }
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

    fn told_here(&self) -> ToolSpec {
        Self::told_to(self.0.role())
    }

    async fn act(&self, permit: &Permit, input: Input, tool_context: &ToolContext) -> ToolOutcome {
        let context = &self.0;
        let to: Vec<Role> = mentions(&input.message, None)
            .into_iter()
            .filter(|role| *role != context.role())
            .collect();
        let files = match outgoing(context.role(), &input.files, tool_context) {
            Ok(files) => files,
            Err(refusal) => return refusal,
        };
        let (poster, idem) = (&context.poster, context.idem(permit.call()));
        let (thread, message) = (&context.thread, &input.message);
        let posted = if files.is_empty() {
            poster.say(thread, idem, message, to.clone()).await
        } else {
            let shown = poster.show(thread, idem, message, to.clone(), files).await;
            shown.map(|(posted, _)| posted)
        };
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

/// All of them or none: a message without the file that it speaks of is worse than none.
fn outgoing(
    role: Role,
    paths: &[String],
    tool_context: &ToolContext,
) -> Result<Vec<(String, Vec<u8>)>, ToolOutcome> {
    if paths.len() > MOST_FILES {
        return Err(ToolOutcome::error(format!(
            "refused: at most {MOST_FILES} files go with one message"
        )));
    }
    // Whoever may read a part only sends of that part only.
    let scope = match right(role, "Read") {
        Right::Scoped(scope) => Some(scope),
        _ => None,
    };
    let files = paths.iter().map(|path| {
        let file = tool_context.outgoing(scope, path);
        file.map_err(|why| ToolOutcome::error(format!("refused: {why}; nothing was posted")))
    });
    files.collect()
}
