//! SendMessage: a word in the thread, to people or to another role, with files below it
//! where some are named.

use butler_policy::{Right, right};
use butler_protocol::{Role, ToolOutcome, ToolSpec, Waiting, mentions};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Answer, CallContext, ChatTool, OrFailed, cards::park, refuse};

pub(crate) struct SendMessage;

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

impl ChatTool for SendMessage {
    type Input = Input;

    const NAME: &'static str = "SendMessage";
    const TOLD: &'static str = "Posts a message to the thread. Another role wakes only if you mention it \
             (@codebutler.coder). A question to people goes with AskUser, work with HandOver; your \
             final answer needs no tool. With wait_for_reply you sleep until every role that you \
             mentioned has answered, or ten minutes pass. Example: {\"message\": \"@codebutler.pm \
             is the order of the list part of the contract?\", \"wait_for_reply\": true}";

    /// Files are for those who make some.
    fn told_to(role: Role) -> ToolSpec {
        let mut told = Self::told();
        let fields = told.parameters["properties"].as_object_mut();
        if let Some(fields) = fields.filter(|_| right(role, "Screenshot") == Right::No) {
            fields.remove("files");
        }
        told
    }

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        let to: Vec<Role> = mentions(&input.message, None)
            .into_iter()
            .filter(|role| *role != context.role())
            .collect();
        let files = outgoing(context, &input.files)?;
        let (poster, idem) = (&context.poster, context.idem(context.id()));
        let (thread, message) = (&context.thread, &input.message);
        let posted = if files.is_empty() {
            poster.say_to(thread, idem, message, to.clone()).await
        } else {
            let shown = poster.show(thread, idem, message, to.clone(), files).await;
            shown.map(|(posted, _)| posted)
        };
        posted.or_failed("the message was not posted")?;
        if !input.wait_for_reply {
            return Ok(ToolOutcome::ok("posted"));
        }
        let deadline_ms = context.agent.answer_by_ms();
        let waiting = match to {
            nobody if nobody.is_empty() => Waiting::Reply { deadline_ms },
            from => Waiting::Replies { deadline_ms, from },
        };
        Ok(park("posted; waiting for an answer", waiting))
    }
}

/// All of them or none: a message without the file that it speaks of is worse than none.
fn outgoing(
    context: &CallContext<'_>,
    paths: &[String],
) -> Result<Vec<(String, Vec<u8>)>, ToolOutcome> {
    if paths.len() > MOST_FILES {
        return refuse(format!(
            "refused: at most {MOST_FILES} files go with one message"
        ));
    }
    // Whoever may read a part only sends of that part only.
    let scope = match right(context.role(), "Read") {
        Right::Scoped(scope) => Some(scope),
        _ => None,
    };
    let files = paths.iter().map(|path| {
        let file = context.tools.outgoing(scope, path);
        file.map_err(|why| ToolOutcome::error(format!("refused: {why}; nothing was posted")))
    });
    files.collect()
}
