//! From collected messages to one request, with one call of the cheap model.
//! Whatever goes wrong, the person gets their own words back to send.

use butler_protocol::{
    Idem, MessageTs, ModelMessage, Record, Refusal, Reservation, ReserveAnswer, ReserveId,
    Settlement, TokenUsage, Usd,
};
use butler_turn::{ModelCall, Reserve};
use tokio_util::sync::CancellationToken;

use super::{Line, write};
use crate::{
    AgentError,
    listen::{buttons, intake::Ack},
    thread::{
        context::ThreadContext,
        driver::{Done, Question, complete},
        money,
    },
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
    cancel: CancellationToken,
) -> Done {
    let done = offer(&context, model, &notes, &cancel).await;
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

async fn offer(
    context: &ThreadContext,
    model: String,
    notes: &Notes,
    cancel: &CancellationToken,
) -> Result<(), AgentError> {
    let words = notes.parts.join("\n\n");
    let known = super::read(&context.agent.threads(), &context.thread, context.role());
    let (request, remark) = match known
        .request
        .filter(|_| known.done.as_ref() == Some(&notes.ts))
    {
        Some(request) => (request, String::new()),
        None => match tidy(context, model, &notes.ts, &words, cancel).await? {
            Ok(request) => (request, String::new()),
            Err(reason) => (words, format!("_Your own words, untouched: {reason}._\n\n")),
        },
    };
    let threads = context.agent.threads();
    let line = Line::Request {
        ts: notes.ts.clone(),
        text: request.clone(),
    };
    write(&threads, &context.thread, context.role(), &line)?;
    let key = format!(
        "{}-{}-draft-{}",
        context.thread.short(),
        context.role(),
        notes.ts
    );
    let text = format!("{remark}{request}");
    let buttons = buttons::draft(&notes.ts);
    context
        .poster
        .offer(&context.thread, Idem::new(key), &text, &buttons)
        .await?;
    Ok(())
}

/// One call; the reason when there is no use in its answer.
async fn tidy(
    context: &ThreadContext,
    model: String,
    ts: &MessageTs,
    words: &str,
    cancel: &CancellationToken,
) -> Result<Result<String, String>, AgentError> {
    let id = ReserveId::new(format!(
        "{}-{}-draft-{ts}",
        context.thread.short(),
        context.role()
    ));
    let reserve = Reserve {
        id: id.clone(),
        model,
        input_bytes: (PROMPT.len() + words.len()) as u64,
        input_tokens: None,
        max_tokens: LONGEST,
    };
    if let Err(reason) = pay(context, &reserve).await? {
        return Ok(Err(reason));
    }
    let said = |text: &str| ModelMessage::User {
        text: text.to_owned(),
        images: Vec::new(),
    };
    let prompt = ModelMessage::System {
        text: PROMPT.to_owned(),
    };
    let mut question = Question {
        call: ModelCall {
            turn: 1,
            model: reserve.model.clone(),
            reserve: id.clone(),
            max_tokens: LONGEST,
        },
        messages: vec![prompt.into(), said(words).into()].into(),
        tools: Vec::new(),
    };
    let session = format!("{}-draft", context.thread.short());
    let reply = complete(&context.agent.model, session, &mut question, cancel).await;
    let (text, cost, usage, model) = match reply {
        Ok(reply) => {
            let text = reply.text.unwrap_or_default().trim().to_owned();
            let text = if text.is_empty() {
                Err("the model said nothing".to_owned())
            } else {
                Ok(text)
            };
            (text, reply.cost, reply.usage, reply.model)
        }
        Err(failure) => (
            Err(failure.text),
            failure.cost,
            failure.usage,
            failure.model,
        ),
    };
    settle(context, id, (cost, usage, model)).await?;
    Ok(text)
}

/// The worst case is set aside, or the reason is told.
async fn pay(context: &ThreadContext, reserve: &Reserve) -> Result<Result<(), String>, AgentError> {
    let config = &context.agent.config.client;
    let price = config
        .prices
        .reserve_price(&reserve.model, &config.upper_price);
    let reservation = Reservation {
        id: reserve.id.clone(),
        thread: context.thread.clone(),
        person: None,
        amount: money::worst_case(reserve, &price, reserve.max_tokens),
        heard: context.poster.heard,
    };
    let answer = match context.poster.control.reserve(&reservation).await {
        // Asked and paid in an earlier life of this process.
        Err(error) if error.refusal() == Some(Refusal::AlreadySettled) => {
            return Ok(Err("the model's answer was lost in a restart".to_owned()));
        }
        answer => answer?,
    };
    Ok(match answer {
        ReserveAnswer::Granted { .. } => Ok(()),
        ReserveAnswer::Refused(refusal) => Err(format!("the {} budget is used up", refusal.budget)),
        ReserveAnswer::Later(limit) => {
            Err(format!("{} model calls an hour are used up", limit.limit))
        }
    })
}

/// In the hub's books and in the log, from which bills are made.
async fn settle(
    context: &ThreadContext,
    id: ReserveId,
    (cost, usage, model): (Usd, TokenUsage, String),
) -> Result<(), AgentError> {
    let settlement = Settlement {
        id: id.clone(),
        cost,
        usage,
        model: model.clone(),
    };
    context.poster.control.settle(&settlement).await?;
    context.write(Record::Settled {
        reserve: id,
        cost,
        usage,
        model,
    });
    Ok(())
}
