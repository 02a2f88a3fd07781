//! The long things a worker does for its machine: money, model, tools, posts.
//! Each is a future that owns what it needs and ends in a [`Done`].

use std::{sync::Arc, time::Instant};

use butler_model::{CacheLife, ErrorClass, ModelClient, ModelError, ModelRequest};
use butler_policy::Permit;
use butler_protocol::{
    HandOver, Idem, ModelMessage, ModelReply, Role, TokenUsage, ToolCall, ToolOutcome, ToolSpec,
    fault,
};
use butler_tools::{Executor, ToolContext};
use butler_turn::{
    Event, FailureKind, ModelCall, ModelFailure, Order, Outgoing, PostKind, Reserve,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    AgentError,
    decide::outcomes,
    listen::{buttons, intake::Ack},
    thread::{context::ThreadContext, queue::Told, slots::Slot, tool_session::ToolSession},
    tools::findings,
};

/// How something long ended.
pub enum Done {
    /// Feed this to the machine.
    Event(Event),
    /// Nothing follows from it.
    Nothing,
    /// What a person asked for is done; told to the hub once it is written.
    Acted(Option<Ack>),
    /// A refused merge was tried again, or is not to be.
    MergeTried,
    /// The tools can work.
    ToolSession(Box<ToolSession>),
    /// The thread knows its place in the queue.
    Queued(Box<Told>),
    /// It has a context, and may ask for the money.
    Slot(Slot, Box<Reserve>),
    /// The worker cannot go on; the log knows where to take it up again.
    Failed(AgentError),
}

/// What is asked of the model.
pub struct Question {
    /// Turn, model, reservation, limit.
    pub call: ModelCall,
    /// The conversation.
    pub messages: Vec<Arc<ModelMessage>>,
    /// The tools offered; none for a summary.
    pub tools: Vec<ToolSpec>,
}

/// Asks the model.
pub async fn ask_model(
    context: ThreadContext,
    mut question: Question,
    cancel: CancellationToken,
) -> Done {
    let reserve = question.call.reserve.clone();
    let session = format!("{}-{}", context.thread.short(), context.role());
    let reply = complete(&context.agent.model, session, &mut question, &cancel).await;
    Done::Event(match reply {
        Ok(reply) => Event::Replied { reserve, reply },
        Err(failure) => Event::ModelFailed { reserve, failure },
    })
}

/// Asks the model for a summary.
pub async fn summarise(
    context: ThreadContext,
    mut question: Question,
    cancel: CancellationToken,
) -> Done {
    let reserve = question.call.reserve.clone();
    let session = format!("{}-{}", context.thread.short(), context.role());
    let result = complete(&context.agent.model, session, &mut question, &cancel).await;
    Done::Event(Event::Summarised { reserve, result })
}

/// One question to the model; `session` tells its provider which questions
/// belong together. Messages and tools are in the question again afterwards.
pub async fn complete(
    client: &ModelClient,
    session: String,
    question: &mut Question,
    cancel: &CancellationToken,
) -> Result<ModelReply, ModelFailure> {
    let model = question.call.model.clone();
    let messages = std::mem::take(&mut question.messages);
    let mut request = ModelRequest::new(model.clone(), messages);
    request.tools = std::mem::take(&mut question.tools);
    request.max_tokens = question.call.max_tokens;
    request.session = Some(session);
    request.cache = CacheLife::Short;
    let begin = Instant::now();
    fault("agent.before-model");
    let reply = client.complete(&request, cancel, None).await;
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
        Err(error) => warn!(duration_ms, model, %error, "the model did not answer"),
    }
    question.messages = request.messages;
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

/// Opens the tool session.
pub async fn open_tool_session(context: ThreadContext, cancel: CancellationToken) -> Done {
    match ToolSession::open(&context, &cancel).await {
        Ok(tool_session) => Done::ToolSession(Box::new(tool_session)),
        Err(error) => Done::Failed(error),
    }
}

/// A tool call that was judged and whose intent is on disk.
pub struct Permitted {
    /// The call.
    pub call: ToolCall,
    /// The right to run it.
    pub permit: Permit,
    /// Set when a crash interrupted an earlier run of it.
    pub recovery: Option<Option<Value>>,
}

/// Runs, or recovers, one call.
pub async fn run_tool(executor: Arc<Executor>, context: ToolContext, permitted: Permitted) -> Done {
    let Permitted {
        call,
        permit,
        recovery,
    } = permitted;
    fault("agent.before-tool");
    let begin = Instant::now();
    let outcome = match recovery {
        None => executor.run(&call, permit, &context).await,
        Some(trace) => {
            executor
                .recover(&call, permit, trace.as_ref(), &context)
                .await
        }
    };
    fault("agent.after-tool");
    info!(
        duration_ms = millis(begin),
        ok = outcome.ok,
        "the tool ended"
    );
    let receipt = context.take_receipt(&call.id);
    tool_done(&call, outcome, receipt)
}

fn millis(begin: Instant) -> u64 {
    u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The end of a call.
pub fn tool_done(
    call: &ToolCall,
    outcome: ToolOutcome,
    receipt: Option<butler_protocol::Receipt>,
) -> Done {
    Done::Event(Event::ToolDone {
        call: call.id.clone(),
        outcome,
        receipt,
    })
}

/// Posts what the machine has to say.
pub async fn post(context: ThreadContext, outgoing: Outgoing) -> Done {
    // Whoever asked waits; what became of the question is for them.
    if let Some(body) = findings(&context, &outgoing.text) {
        return pass_on(&context, outgoing.idem, &body).await;
    }
    if outgoing.kind == PostKind::Failure {
        return offer_retry(&context, outgoing).await;
    }
    if outgoing.kind == PostKind::GoOn {
        // A word that names nobody reaches the PM, not whoever paused.
        let mention = context.role().mention();
        let text = format!("{} Say `{mention} go on`.", outgoing.text);
        return say(&context, outgoing.idem, &text).await;
    }
    say(&context, outgoing.idem, &outgoing.text).await
}

/// The reason, and a way to go on; nothing that was done is lost.
async fn offer_retry(context: &ThreadContext, outgoing: Outgoing) -> Done {
    let poster = &context.poster;
    let buttons = [(buttons::RETRY.to_owned(), "Retry")];
    let Outgoing { idem, text, .. } = outgoing;
    // Who cannot be found is not mentioned; the reason is posted all the same.
    let people = poster.people(&context.thread).await.unwrap_or_default();
    match poster
        .offer_to(&context.thread, idem.clone(), &people, &text, &buttons)
        .await
    {
        Ok(posted) => Done::Event(Event::Posted {
            idem,
            ts: posted.ts,
        }),
        Err(error) => Done::Failed(error.into()),
    }
}

/// A role that did not end as it should: the person is told what it said last.
pub async fn default_hand_over(context: ThreadContext, idem: Idem, text: String) -> Done {
    if let Some(body) = findings(&context, &text) {
        return pass_on(&context, idem, &body).await;
    }
    let text = format!(
        "{text}\n\n_(I did not pass this on to anybody. Answer here, or mention the role that should go on.)_"
    );
    say(&context, idem, &text).await
}

/// A role that goes in circles hands it up.
pub async fn escalate(context: ThreadContext, idem: Idem, text: String) -> Done {
    if let Some(body) = findings(&context, &text) {
        return pass_on(&context, idem, &body).await;
    }
    let above = match context.role() {
        Role::Coder => Role::Pm,
        _ => return ring(&context, idem, &text).await,
    };
    let body = HandOver::Question { to: above, text };
    pass_on(&context, idem, &body).await
}

async fn pass_on(context: &ThreadContext, idem: Idem, body: &HandOver) -> Done {
    let poster = &context.poster;
    match poster.hand_over(&context.thread, idem.clone(), body).await {
        Ok(posted) => Done::Event(Event::Posted {
            idem,
            ts: posted.ts,
        }),
        Err(error) => Done::Failed(error.into()),
    }
}

/// Somebody is needed.
async fn ring(context: &ThreadContext, idem: Idem, text: &str) -> Done {
    let poster = &context.poster;
    let people = poster.people(&context.thread).await.unwrap_or_default();
    let posted = poster.ask_people(&context.thread, idem.clone(), &people, text);
    match posted.await {
        Ok(posted) => Done::Event(Event::Posted {
            idem,
            ts: posted.ts,
        }),
        Err(error) => Done::Failed(error.into()),
    }
}

async fn say(context: &ThreadContext, idem: Idem, text: &str) -> Done {
    let posted = context
        .poster
        .say(&context.thread, idem.clone(), text, Vec::new())
        .await;
    match posted {
        Ok(posted) => Done::Event(Event::Posted {
            idem,
            ts: posted.ts,
        }),
        Err(error) => Done::Failed(error.into()),
    }
}

/// Carries a decision out.
pub async fn carry_out(context: ThreadContext, order: Order, cancel: CancellationToken) -> Done {
    fault("agent.before-order");
    let outcome = outcomes::carry_out(&context, &order, &cancel).await;
    fault("agent.after-order");
    match outcome {
        Ok(outcome) => Done::Event(Event::CarriedOut {
            request: order.request,
            outcome,
        }),
        Err(error) => Done::Failed(error),
    }
}
