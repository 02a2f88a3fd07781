//! One question to a model beside the conversation of a role: set aside, asked, settled
//! and in the log, like any other call.

use std::sync::Arc;

use butler_protocol::{
    Image, ModelMessage, Record, Refusal, Reservation, ReserveAnswer, ReserveId, Settlement,
    TokenUsage, Usd,
};
use butler_tools::Attached;
use butler_turn::{IMAGE_BYTES, ModelCall, Reserve};
use serde::{Serialize, de::DeserializeOwned};
use tracing::warn;

use crate::{
    AgentError, ThreadContext,
    tell::poster::Poster,
    thread::{
        driver::{Question, complete},
        money,
    },
};

/// What is asked.
pub(crate) struct SideCall<'a> {
    /// What it is about, as in `draft-1700000000.000100`: the same call again has the
    /// same name.
    pub(crate) about: String,
    /// Who is asked.
    pub(crate) model: String,
    /// What the model is told first.
    pub(crate) prompt: &'a str,
    /// What it is asked.
    pub(crate) text: &'a str,
    /// What it is shown.
    pub(crate) images: Vec<Image>,
    /// The longest answer.
    pub(crate) max_tokens: u32,
}

impl SideCall<'_> {
    /// Asks; the reason when there is no use in the answer.
    ///
    /// # Errors
    /// When the hub does not answer.
    pub(crate) async fn ask(
        self,
        context: &ThreadContext,
    ) -> Result<Result<String, String>, AgentError> {
        let short = context.thread.short();
        let id = ReserveId::new(format!("{short}-{}-{}", context.role(), self.about));
        let text = (self.prompt.len() + self.text.len()) as u64;
        let reserve = Reserve {
            id: id.clone(),
            model: self.model,
            input_bytes: text + self.images.len() as u64 * IMAGE_BYTES,
            input_tokens: None,
            max_tokens: self.max_tokens,
        };
        let config = &context.agent.config.client;
        let price = config
            .prices
            .reserve_price(&reserve.model, &config.upper_price);
        let amount = money::worst_case(&reserve, &price, reserve.max_tokens);
        let worst = Reservation {
            id: id.clone(),
            thread: context.thread.clone(),
            person: None,
            amount,
            heard: context.poster.heard,
        };
        if let Err(reason) = set_aside(&context.poster, &worst).await? {
            return Ok(Err(reason));
        }
        let prompt = ModelMessage::System {
            text: self.prompt.to_owned(),
        };
        let asked = ModelMessage::User {
            text: self.text.to_owned(),
            images: self.images,
        };
        let mut question = Question {
            call: ModelCall {
                turn: 1,
                model: reserve.model.clone(),
                reserve: id.clone(),
                max_tokens: self.max_tokens,
            },
            messages: vec![prompt.into(), asked.into()].into(),
            tools: Arc::default(),
        };
        let session = format!("{short}-{}", self.about);
        let reply = complete(
            &context.agent.model,
            session,
            &mut question,
            &context.cancel,
            None,
        )
        .await;
        let (text, cost, usage, model) = match reply {
            Ok(reply) => {
                let text = reply.text.unwrap_or_default().trim().to_owned();
                let text = match text.is_empty() {
                    true => Err("the model said nothing".to_owned()),
                    false => Ok(text),
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
        context.write(settle(context, id, (cost, usage, model)).await?);
        Ok(text)
    }
}

/// The worst case is set aside, or the reason is told.
///
/// # Errors
/// When the hub does not answer.
pub(crate) async fn set_aside(
    poster: &Poster,
    worst: &Reservation,
) -> Result<Result<(), String>, AgentError> {
    let answer = match poster.control.reserve(worst).await {
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

/// In the hub's books; and the record for the log, from which bills are made.
pub(crate) async fn settle(
    context: &ThreadContext,
    id: ReserveId,
    (cost, usage, model): (Usd, TokenUsage, String),
) -> Result<Record, AgentError> {
    let paid = Settlement {
        id,
        cost,
        usage,
        model,
    };
    context.poster.control.settle(&paid).await?;
    Ok(record(paid))
}

/// For the role's log, from which bills are made.
pub(crate) fn record(paid: Settlement) -> Record {
    Record::Settled {
        reserve: paid.id,
        cost: paid.cost,
        usage: paid.usage,
        model: paid.model,
    }
}

/// What was paid for and kept with the files of a thread.
pub(crate) async fn kept<T: DeserializeOwned>(
    folder: &Attached,
    id: &str,
    name: &str,
) -> Option<T> {
    let kept = tokio::fs::read(folder.path(id, name)).await.ok()?;
    serde_json::from_slice(&kept).ok()
}

/// Keeps it, before it is settled: paid once.
pub(crate) async fn keep<T: Serialize>(folder: Attached, id: &str, name: &str, paid: &T) {
    let kept = serde_json::to_vec(paid).unwrap_or_default();
    let (id, name) = (id.to_owned(), name.to_owned());
    let keeping = tokio::task::spawn_blocking(move || folder.keep(&id, &name, &kept));
    if let Ok(Err(error)) = keeping.await {
        warn!(%error, "what was paid for could not be kept; it is paid again next time");
    }
}
