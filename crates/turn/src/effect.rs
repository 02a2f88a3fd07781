//! What the machine wants done. The driver carries effects out in order; an
//! `Append` must be durable before the next effect begins.

use std::sync::Arc;

use butler_protocol::{
    ActivityState, BudgetRefusal, CallId, Choice, CrashClass, DecisionKind, Ending, Idem,
    MessageTs, ModelMessage, ModelReply, Record, RequestId, ReserveId, TokenUsage, ToolCall, Usd,
    UserId, Waiting,
};
use serde_json::Value;

use crate::ModelFailure;

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Write to the log, durably. Neighbouring appends may go out as one write.
    Append(Record),
    /// Set the worst case of a model call aside; answer with `Event::Reserved`.
    Reserve(Reserve),
    /// Book a finished call at the hub. Idempotent; no answer is expected.
    Settle(Settle),
    /// Ask the model with `Machine::messages()` and `Machine::tools()` as they
    /// are now, before the next event is fed; answer with `Replied` or `ModelFailed`.
    CallModel(ModelCall),
    /// Compaction: ask the model with these messages and no tools; answer with `Summarised`.
    Summarise {
        /// What to ask, with which reservation.
        call: ModelCall,
        messages: Vec<Arc<ModelMessage>>,
    },
    /// Judge, write intents (tell `Machine::wrote`), run; one `ToolDone` per call, in any order.
    RunTools(Vec<ToolCall>),
    /// A crash left these with an intent and no result. Settle each by its
    /// class and answer with `ToolDone`, exactly as for `RunTools`.
    RecoverTools(Vec<Interrupted>),
    /// Cancel the model call and the tools that run now.
    Cancel,
    /// Post to the thread; answer with `Posted`. The same key is one message.
    Post(Outgoing),
    /// The role did not end as it should: make its default hand-over, or tell
    /// the person. Answer with `Posted`.
    HandOverByDefault {
        idem: Idem,
        /// What the model said last.
        text: String,
    },
    /// The role goes in circles: hand it to whoever is next (the Coder
    /// to the PM, the others to the person). Answer with `Posted`.
    Escalate {
        idem: Idem,
        /// What was tried and what repeats.
        text: String,
    },
    /// Post the Cap card (Raise, Stop), write `DecisionAsked`; answer with `Asked`.
    AskForMoney {
        request: RequestId,
        refusal: BudgetRefusal,
    },
    /// Do what a person decided, without a model call; answer with `CarriedOut`.
    CarryOut(Order),
    /// Show text beside tool calls on the status line. It is not a post.
    Progress(String),
    /// Put a mark on a message; a mark that is there already is no error.
    React { ts: MessageTs, mark: Mark },
    /// Tell the hub what this role does.
    Activity {
        state: ActivityState,
        /// What people read, as in "running Bash".
        step: Option<String>,
    },
    /// A choice of the machine, for whoever watches; the log has it too.
    Chose { what: String, why: String },
    /// Sleep: nothing runs until a message, a decision, a free worktree, or
    /// (for `Waiting::Reply`) `Event::Deadline`.
    Park(Waiting),
    /// The activation is over, and the log says so. Release what it held. A
    /// crash can swallow this one: what is held must not outlive the process.
    End(Ending),
}

impl Effect {
    /// Tells what this role does, without a step.
    pub(crate) const fn activity(state: ActivityState) -> Self {
        Effect::Activity { state, step: None }
    }
}

/// The money question before a model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserve {
    /// Made from where the machine stands: a repeat after a crash is the same.
    pub id: ReserveId,
    /// The model that will be asked.
    pub model: String,
    /// Bytes of the request, for a worst case when nothing better is known.
    pub input_bytes: u64,
    /// Tokens of the request by the provider's own count of the last one, with
    /// two bytes a token for what came since; nothing before the first count.
    pub input_tokens: Option<u64>,
    pub max_tokens: u32,
}

/// A finished call, for the hub's books.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settle {
    pub id: ReserveId,
    /// What it cost; the whole reservation when a crash hid the answer.
    pub cost: Usd,
    pub usage: TokenUsage,
    pub model: String,
}

impl Settle {
    /// The bill of an answered call.
    pub(crate) fn reply(id: &ReserveId, reply: &ModelReply) -> Self {
        Self {
            id: id.clone(),
            cost: reply.cost,
            usage: reply.usage,
            model: reply.model.clone(),
        }
    }

    /// The bill of a failed call.
    pub(crate) fn failure(id: &ReserveId, failure: &ModelFailure) -> Self {
        Self {
            id: id.clone(),
            cost: failure.cost,
            usage: failure.usage,
            model: failure.model.clone(),
        }
    }
}

/// One call to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// Which turn of the activation, from 1.
    pub turn: u32,
    pub model: String,
    /// The reservation that pays for it.
    pub reserve: ReserveId,
    pub max_tokens: u32,
}

/// A call that a crash caught between its intent and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Interrupted {
    pub call: ToolCall,
    /// What its tool said a crash means.
    pub crash: CrashClass,
    /// What its tool left to find out what happened.
    pub trace: Option<Value>,
}

impl Interrupted {
    /// Which call.
    pub fn id(&self) -> &CallId {
        &self.call.id
    }
}

/// A message for the thread. It wakes no other role: only tools do that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The same key is one message.
    pub idem: Idem,
    pub text: String,
    /// What it is, for buttons and looks.
    pub kind: PostKind,
}

/// What a post of the machine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PostKind {
    /// The model's answer to a person.
    Answer,
    /// All turns are used: what next?
    TurnLimit,
    /// It failed; wants a Retry button.
    Failure,
    /// The thread's budget is nearly used up.
    BudgetWarning,
    /// The roles talked among themselves for long: go on?
    GoOn,
    /// A decision that a stop came before.
    Withdrawn,
}

/// A decision to carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub request: RequestId,
    pub kind: DecisionKind,
    pub choice: Choice,
    pub person: UserId,
}

impl Order {
    /// Whether carrying it out means to run the call that waited for it.
    pub fn runs_a_call(&self) -> bool {
        self.kind == DecisionKind::Command && self.choice == Choice::Approve
    }
}

/// A mark on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// 👀: work has begun.
    Seen,
    /// ✅: it is answered.
    Answered,
}
