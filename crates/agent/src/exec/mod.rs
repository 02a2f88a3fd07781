//! One agent, one task, no hub: the same machine, journal, tools, sandbox and
//! policy as in a thread, and the same driver; only its edge is a terminal.
//!
//! ```text
//! task ── machine (turn, pure) ──▶ effects, in order ──▶ model · tools · journal
//!             ▲                                             │
//!             └──────────────────── events ◀────────────────┘
//! ```
//!
//! There is nobody to ask here. The person's command is the approval of the
//! plan; what would need a click is refused, and a budget that is empty ends the
//! run. Nothing comes in from outside while it works.
//!
//! Whatever ends the process, the log of the session knows where to go on.

mod budget;
mod driver;
mod overview;
mod prompt;
mod session;
mod terminal;
mod tool_session;

use std::{path::PathBuf, sync::Arc};

use butler_model::ClientConfig;
use butler_playbook::Profile;
use butler_policy::{Overrides, Redactor};
use butler_protocol::{CallId, Clock, Ending, Role, TokenUsage, Usd};
use butler_sandbox::{Sandbox, SandboxError};
use butler_tools::{Check, OutsideTools};
use butler_turn::{Limits, Models};
use futures_util::future::{BoxFuture, Shared};
use serde::Serialize;
use serde_json::Value;

pub use driver::run;
pub use prompt::ExecFiles;
pub use session::{Session, SessionError, Sessions};

/// A sandbox that may still be on its way: the kernel is probed while the model
/// already thinks.
pub type ComingSandbox = Shared<BoxFuture<'static, Result<Arc<Sandbox>, Arc<SandboxError>>>>;

/// Everything a run needs.
pub struct ExecConfig {
    /// Who works.
    pub role: Role,
    /// The folder, worked on in place.
    pub folder: PathBuf,
    /// `~/.codebutler`: hidden from every command.
    pub home: PathBuf,
    /// The home of the person who runs it: where credentials lie.
    pub person_home: PathBuf,
    /// What the role's prompt is made of.
    pub files: ExecFiles,
    /// How much the model can be told at once.
    pub profile: Profile,
    /// How to reach the model.
    pub client: ClientConfig,
    /// Which models to ask.
    pub models: Models,
    /// How far it may go.
    pub limits: Limits,
    /// What the session may cost, all its runs together.
    pub cap: Usd,
    /// What RunChecks runs.
    pub checks: Vec<Check>,
    /// What policy and `--allow` change about the judgement of calls.
    pub overrides: Overrides,
    /// Tools of MCP servers that the role may use.
    pub outside: OutsideTools,
    /// Knows the secrets of this machine; what goes out must not hold one.
    pub redactor: Arc<Redactor>,
    /// What time it is.
    pub clock: Clock,
    /// Where commands run.
    pub sandbox: ComingSandbox,
}

/// What there is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecTask {
    /// What the person wrote; nothing when an interrupted run just goes on.
    pub task: Option<String>,
    /// The person, as the log names them.
    pub person: String,
}

/// Something to tell whoever watches; one line of `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Said {
    /// The run begins, or goes on.
    Started {
        /// The session, for `--resume`.
        session: String,
        /// The folder.
        folder: PathBuf,
        /// Who works.
        role: Role,
        /// The model that is asked.
        model: String,
        /// Whether an earlier run is taken up.
        resumed: bool,
    },
    /// The model answered.
    Turn {
        /// Which turn, from 1.
        turn: u32,
        /// What it said beside its calls, if anything.
        text: Option<String>,
        /// The model that answered.
        model: String,
        /// What the provider counted.
        usage: TokenUsage,
        /// What the call cost, in dollars.
        cost_usd: f64,
    },
    /// A tool is called.
    Call {
        /// Which call.
        call: CallId,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
    /// A tool has ended, was refused, or was recovered after a crash.
    Result {
        /// Which call.
        call: CallId,
        /// The tool.
        tool: String,
        /// Whether it worked.
        ok: bool,
        /// What the model is told.
        text: String,
    },
    /// A choice of the runtime, with its reason.
    Chose {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
    /// A word of the runtime: the budget is nearly used up, and the like.
    Notice {
        /// What.
        text: String,
    },
    /// The final text.
    Answer {
        /// Word for word, secrets taken out.
        text: String,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How.
    pub ending: ExecEnding,
    /// The last text: the answer, or why there is none.
    pub text: Option<String>,
    /// What the session has cost so far.
    pub cost: Usd,
    /// Turns of this run.
    pub turns: u32,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecEnding {
    /// As an activation ends.
    Over(Ending),
    /// The cap does not pay for another call; a higher one goes on.
    OutOfMoney,
    /// A signal; the log knows where to go on.
    Interrupted,
}
