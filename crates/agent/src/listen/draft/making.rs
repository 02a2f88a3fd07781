//! From collected messages to one request, with one call of the cheap model.
//! Whatever goes wrong, the person gets their own words back to send.

use butler_protocol::MessageTs;

use super::{Line, write};
use crate::{
    AgentError, ThreadContext,
    listen::{buttons, intake::Ack},
    thread::{driver::Done, side_call::SideCall},
};

const PROMPT: &str = "\
You turn a person's loose notes into one clear request to a software team. Keep every request, \
number, name and limit that is in the notes, in the person's language and from their point of \
view; leave out repetition and second thoughts that the person took back. Add nothing of your \
own, answer nothing, ask nothing. At most a short paragraph and a list. Reply with the request \
only.";

/// Long enough for any request; short enough to be cheap.
const LONGEST: u32 = 2_048;

/// What was collected, and the message that ended it.
pub(crate) struct Notes {
    /// The `!done`.
    pub ts: MessageTs,
    /// What was said before it.
    pub parts: Vec<String>,
}

/// Makes the request and offers it. The event is acknowledged afterwards: until
/// then a crash makes the hub deliver it again, and every step has its key.
pub(crate) async fn make(
    context: ThreadContext,
    model: String,
    notes: Notes,
    ack: Option<Ack>,
) -> Done {
    let done = offer(&context, model, &notes).await;
    match done {
        Ok(()) => {
            if let Some(ack) = ack {
                ack.send().await;
            }
            Done::Nothing
        }
        Err(error) => Done::Failed(error),
    }
}

async fn offer(context: &ThreadContext, model: String, notes: &Notes) -> Result<(), AgentError> {
    let words = notes.parts.join("\n\n");
    let known = super::read(&context.agent.threads(), &context.thread, context.role());
    let (request, remark) = match known
        .request
        .filter(|_| known.done.as_ref() == Some(&notes.ts))
    {
        Some(request) => (request, String::new()),
        None => {
            let tidying = SideCall {
                about: format!("draft-{}", notes.ts),
                model,
                prompt: PROMPT,
                text: &words,
                images: Vec::new(),
                max_tokens: LONGEST,
            };
            match tidying.ask(context).await? {
                Ok(request) => (request, String::new()),
                Err(reason) => (words, format!("_Your own words, untouched: {reason}._\n\n")),
            }
        }
    };
    let threads = context.agent.threads();
    let line = Line::Request {
        ts: notes.ts.clone(),
        text: request.clone(),
    };
    write(&threads, &context.thread, context.role(), &line)?;
    let text = format!("{remark}{request}");
    let buttons = buttons::draft(&notes.ts);
    let key = context.key(format_args!("draft-{}", notes.ts));
    let offered = context.poster.offer(&context.thread, key, &text, &buttons);
    offered.await?;
    Ok(())
}
