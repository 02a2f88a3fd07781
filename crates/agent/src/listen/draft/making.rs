//! From collected messages to one request, with one call of the cheap model.
//! Whatever goes wrong, the person gets their own words back to send.

use butler_protocol::{
    Idem, MessageTs, ModelMessage, Record, Reservation, ReserveAnswer, ReserveId, Settlement,
    TokenUsage, Usd,
};
use butler_turn::{ModelCall, Reserve};
use tokio_util::sync::CancellationToken;

use super::{Line, write};
use crate::{
    TeamError,
    listen::{buttons, intake::Ack},
    thread::{
        context::Seat,
        effects::{Done, Question, complete},
        money,
    },
};

const PROMPT: &str = "\
You turn a person's loose notes into one clear request to a software team. Keep every wish, \
number, name and limit that is in the notes, in the person's language and from their point of \
view; leave out repetition and second thoughts that the person took back. Add nothing of your \
own, answer nothing, ask nothing. At most a short paragraph and a list. Reply with the request \
only.";

/// Long enough for any request; short enough to be cheap.
const LONGEST: u32 = 2_048;

/// What was collected, and the message that ended it.
pub struct Notes {
    /// The `!done`.
    pub ts: MessageTs,
    /// What was said before it.
    pub parts: Vec<String>,
}

/// Makes the request and offers it. The event is acknowledged afterwards: until
/// then a crash makes the hub deliver it again, and every step has its key.
pub async fn make(
    seat: Seat,
    model: String,
    notes: Notes,
    ack: Option<Ack>,
    cancel: CancellationToken,
) -> Done {
    let done = offer(&seat, model, &notes, &cancel).await;
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
    seat: &Seat,
    model: String,
    notes: &Notes,
    cancel: &CancellationToken,
) -> Result<(), TeamError> {
    let words = notes.parts.join("\n\n");
    let known = super::read(&seat.office.threads(), &seat.thread, seat.role());
    let (request, remark) = match known
        .request
        .filter(|_| known.done.as_ref() == Some(&notes.ts))
    {
        Some(request) => (request, String::new()),
        None => match tidy(seat, model, &notes.ts, &words, cancel).await? {
            Ok(request) => (request, String::new()),
            Err(reason) => (words, format!("_Your own words, untouched: {reason}._\n\n")),
        },
    };
    let threads = seat.office.threads();
    let line = Line::Request {
        ts: notes.ts.clone(),
        text: request.clone(),
    };
    write(&threads, &seat.thread, seat.role(), &line)?;
    let key = format!("{}-{}-draft-{}", seat.thread.short(), seat.role(), notes.ts);
    let text = format!("{remark}{request}");
    let buttons = buttons::draft(&notes.ts);
    seat.line
        .offer(&seat.thread, Idem::new(key), &text, &buttons)
        .await?;
    Ok(())
}

/// One call; the reason when there is no use in its answer.
async fn tidy(
    seat: &Seat,
    model: String,
    ts: &MessageTs,
    words: &str,
    cancel: &CancellationToken,
) -> Result<Result<String, String>, TeamError> {
    let id = ReserveId::new(format!(
        "{}-{}-draft-{ts}",
        seat.thread.short(),
        seat.role()
    ));
    let reserve = Reserve {
        id: id.clone(),
        model,
        input_bytes: (PROMPT.len() + words.len()) as u64,
        input_tokens: None,
        max_tokens: LONGEST,
    };
    if let Err(reason) = pay(seat, &reserve).await? {
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
        messages: vec![prompt.into(), said(words).into()],
        tools: Vec::new(),
    };
    let session = format!("{}-draft", seat.thread.short());
    let reply = complete(&seat.office.model, session, &mut question, cancel).await;
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
    settle(seat, id, (cost, usage, model)).await?;
    Ok(text)
}

/// The worst case is set aside, or the reason is told.
async fn pay(seat: &Seat, reserve: &Reserve) -> Result<Result<(), String>, TeamError> {
    let config = &seat.office.config.client;
    let price = config
        .prices
        .reserve_price(&reserve.model, &config.upper_price);
    let reservation = Reservation {
        id: reserve.id.clone(),
        thread: seat.thread.clone(),
        person: None,
        amount: money::worst_case(reserve, &price, reserve.max_tokens),
    };
    let answer = match seat.line.control.reserve(&reservation).await {
        // Asked and paid in an earlier life of this process.
        Err(error) if error.code() == Some("already_settled") => {
            return Ok(Err("the model's answer was lost in a restart".to_owned()));
        }
        answer => answer?,
    };
    Ok(match answer {
        ReserveAnswer::Granted { .. } => Ok(()),
        ReserveAnswer::Refused(refusal) => Err(format!("the {} budget is used up", refusal.purse)),
        ReserveAnswer::Later(limit) => {
            Err(format!("{} model calls an hour are used up", limit.limit))
        }
    })
}

/// In the hub's books and in the log, from which bills are made.
async fn settle(
    seat: &Seat,
    id: ReserveId,
    (cost, usage, model): (Usd, TokenUsage, String),
) -> Result<(), TeamError> {
    let settlement = Settlement {
        id: id.clone(),
        cost,
        usage,
        model: model.clone(),
    };
    seat.line.control.settle(&settlement).await?;
    seat.write(Record::Settled {
        reserve: id,
        cost,
        usage,
        model,
    });
    Ok(())
}
