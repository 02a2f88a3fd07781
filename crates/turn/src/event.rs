//! What can happen to an activation. The driver feeds these in the order in
//! which they happen; a repeat of any of them does nothing.

use butler_protocol::{
    BudgetRefusal, CallId, Decision, EventId, Idem, Image, MessageTs, ModelReply, Receipt,
    RequestId, ReserveId, Speaker, TokenUsage, ToolOutcome, Usd,
};

use crate::Edited;

/// Something happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The machine was just built, or the driver wants to know what is next.
    /// Starts what the log asks for, or goes on in the middle of it.
    Begin { now_ms: i64 },
    /// Messages for this role, in order. Those already in the log are ignored.
    /// Acknowledge them to the hub once the appends are durable.
    Heard(Vec<Heard>),
    /// A person changed or deleted a message of theirs.
    Edited(Edited),
    /// A person decided about one of this role's cards.
    Decided(Decision),
    /// The answer to [`Effect::Reserve`](crate::Effect::Reserve).
    Reserved { reserve: ReserveId, answer: Budget },
    /// The model answered [`Effect::CallModel`](crate::Effect::CallModel).
    Replied {
        /// The reservation the call was made with.
        reserve: ReserveId,
        reply: ModelReply,
    },
    /// The model did not answer, after the client's own retries. Also the
    /// answer when a call was cancelled: what it cost is still booked.
    ModelFailed {
        /// The reservation the call was made with.
        reserve: ReserveId,
        failure: ModelFailure,
    },
    /// The answer to [`Effect::Summarise`](crate::Effect::Summarise).
    Summarised {
        /// The reservation the call was made with.
        reserve: ReserveId,
        /// The summary as the model wrote it, or why there is none.
        result: Result<ModelReply, ModelFailure>,
    },
    /// A tool has run, was refused, or was recovered.
    ToolDone {
        call: CallId,
        outcome: ToolOutcome,
        /// What a run of the checks left.
        receipt: Option<Receipt>,
    },
    /// The message is in the thread. Answers `Post`, `HandOverByDefault` and `Escalate`.
    Posted {
        idem: Idem,
        /// Its first part.
        ts: MessageTs,
    },
    /// The card of [`Effect::AskForMoney`](crate::Effect::AskForMoney) is in the thread.
    Asked { request: RequestId },
    /// The answer to [`Effect::CarryOut`](crate::Effect::CarryOut). `then` says
    /// whether the activation is over (`End`), sleeps on (`Park`: another card
    /// is open), or the model is told the text (`GoOn`: it did not work).
    CarriedOut {
        request: RequestId,
        outcome: ToolOutcome,
    },
    /// The clock moved. Wakes a parked activation whose deadline has passed.
    Deadline { now_ms: i64 },
    /// The worktree that was waited for is free.
    WorktreeFree,
    /// A person stopped the thread. Ends the activation at once; open calls are
    /// closed as stopped, what would set work in motion is withdrawn, and whatever
    /// still comes in is ignored (money is still booked). A shutdown is no stop:
    /// just drop the machine, the log knows the rest.
    Stop {
        /// Recognises a redelivery.
        event: EventId,
        /// Who, by name.
        by: String,
    },
}

/// A message for this role.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    /// Recognises a redelivery.
    pub event: EventId,
    /// The message, when it is one people can react to.
    pub ts: Option<MessageTs>,
    pub speaker: Speaker,
    pub text: String,
    pub images: Vec<Image>,
}

/// What the hub said to a reservation.
#[derive(Debug, Clone, PartialEq)]
pub enum Budget {
    /// Go ahead.
    Granted {
        amount: Usd,
        /// The tokens the answer may have; fewer than asked for when the budget
        /// holds only that much.
        max_tokens: u32,
        /// Spent and reserved in this thread, this one included.
        thread_total: Usd,
        thread_cap: Usd,
    },
    /// Not enough left, even for a short answer.
    Refused(BudgetRefusal),
}

/// Why a model call gave no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFailure {
    /// What can be done about it.
    pub kind: FailureKind,
    /// One sentence for people: what happened and what to do.
    pub text: String,
    /// What the attempt cost all the same.
    pub cost: Usd,
    /// What the provider counted for it.
    pub usage: TokenUsage,
    pub model: String,
}

/// What can be done about a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The request is longer than the model's window: compact, then once more.
    ContextTooLong,
    /// Down, overloaded or speechless: another model may answer.
    Unavailable,
    /// Key, credit, content filter, a bad request: people have to act.
    Refused,
    /// The driver cancelled it, after a stop or in a shutdown. Nothing follows.
    Cancelled,
}
