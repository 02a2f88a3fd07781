//! Questions to the model, and what comes back of them.

use std::{sync::Arc, time::Instant};

use butler_model::{CacheLife, ErrorClass, Heard, ModelClient, ModelError, ModelRequest};
use butler_protocol::{ModelMessage, ModelReply, TokenUsage, ToolSpec, fault};
use butler_turn::{Event, FailureKind, Messages, ModelCall, ModelFailure};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info, info_span};

use super::{Done, Driver, Edge};
use crate::thread::live_work::LiveBoard;

/// What is asked of the model.
pub(crate) struct Question {
    /// Turn, model, reservation, limit.
    pub(crate) call: ModelCall,
    /// The conversation.
    pub(crate) messages: Messages,
    /// The tools offered; none for a summary.
    pub(crate) tools: Arc<[ToolSpec]>,
}

/// What a request had: the next one adds to it.
#[derive(Default)]
pub(super) struct Asked {
    messages: Messages,
    tools: Arc<[ToolSpec]>,
}

impl<E: Edge> Driver<E> {
    pub(super) fn ask(&mut self, call: ModelCall) {
        let Asked {
            mut messages,
            mut tools,
        } = std::mem::take(&mut self.asked);
        if self.machine.bring_up(&mut messages) {
            tools = self.machine.tools().into();
        }
        let span = info_span!("turn", turn = call.turn);
        let mut question = Question {
            call,
            messages,
            tools,
        };
        let (model, session, cancel) = self.line();
        let busy = self.busy();
        let listener = self.edge.listener();
        let asking = async move {
            let listener = listener.as_deref();
            let reply = complete(&model, session, &mut question, &cancel, listener).await;
            drop(busy);
            Done::Replied(Box::new(question), reply)
        };
        self.start(asking.instrument(span));
    }

    pub(super) fn summarise(&mut self, call: ModelCall, messages: Vec<Arc<ModelMessage>>) {
        let mut question = Question {
            call,
            messages: messages.into(),
            tools: Arc::default(),
        };
        let (model, session, cancel) = self.line();
        let busy = self.busy();
        self.start(async move {
            let result = complete(&model, session, &mut question, &cancel, None).await;
            drop(busy);
            let reserve = question.call.reserve;
            Done::Event(Event::Summarised { reserve, result })
        });
    }

    pub(super) fn replied(&mut self, question: Question, result: Result<ModelReply, ModelFailure>) {
        let Question {
            call,
            messages,
            tools,
        } = question;
        self.asked = Asked { messages, tools };
        let reserve = call.reserve;
        let event = match result {
            Ok(reply) => {
                self.edge.replied(call.turn, &reply);
                Event::Replied { reserve, reply }
            }
            Err(failure) => Event::ModelFailed { reserve, failure },
        };
        self.feed(event);
    }

    /// The model, which questions belong together, and what ends one.
    fn line(&self) -> (Arc<ModelClient>, String, CancellationToken) {
        let setup = self.machine.setup();
        let session = format!("{}-{}", setup.thread.short(), setup.role);
        (Arc::clone(&self.model), session, self.work.clone())
    }
}

/// One question to the model; `session` tells its provider which questions
/// belong together. Messages and tools are in the question again afterwards.
pub(crate) async fn complete(
    client: &ModelClient,
    session: String,
    question: &mut Question,
    cancel: &CancellationToken,
    listener: Option<&LiveBoard>,
) -> Result<ModelReply, ModelFailure> {
    let model = question.call.model.clone();
    let messages = std::mem::take(&mut question.messages.list);
    let mut request = ModelRequest::new(model.clone(), messages);
    request.tools = std::mem::take(&mut question.tools);
    request.max_tokens = question.call.max_tokens;
    request.session = Some(session);
    request.cache = CacheLife::Short;
    let begin = Instant::now();
    fault("agent.before-model");
    if let Some(board) = listener {
        board.asked();
    }
    let hear = |heard: Heard<'_>| {
        if let Some(board) = listener {
            board.hear(heard);
        }
    };
    let reply = client.complete(&request, cancel, Some(&hear)).await;
    if let Some(board) = listener {
        board.answered();
    }
    fault("agent.after-model");
    let duration_ms = millis(begin);
    match &reply {
        Ok(reply) => info!(
            duration_ms,
            model = reply.model,
            input_tokens = reply.usage.input,
            cached_tokens = reply.usage.cached_input,
            output_tokens = reply.usage.output,
            cost = %reply.cost,
            "the model answered"
        ),
        // Whoever asked is told: in the thread, or on the terminal of `exec`.
        Err(error) => info!(duration_ms, model, %error, "the model did not answer"),
    }
    question.messages.list = request.messages;
    question.tools = request.tools;
    reply.map_err(|error| failure(&error, model))
}

fn failure(error: &ModelError, model: String) -> ModelFailure {
    let kind = match error.class() {
        ErrorClass::Cancelled => FailureKind::Cancelled,
        ErrorClass::ContextTooLong => FailureKind::ContextTooLong,
        ErrorClass::RateLimited
        | ErrorClass::Overloaded
        | ErrorClass::Timeout
        | ErrorClass::Malformed => FailureKind::Unavailable,
        _ => FailureKind::Refused,
    };
    ModelFailure {
        kind,
        text: error.to_string(),
        // Attempts that failed, or were cut short, may well be charged.
        cost: error.spent(),
        usage: TokenUsage::default(),
        model,
    }
}

pub(super) fn millis(begin: Instant) -> u64 {
    u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX)
}
