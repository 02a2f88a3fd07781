//! What a machine is told once: who works where, with which model, and how far
//! it may go. Nothing here changes while a machine lives, but for the prompt, which
//! may be another one from the next activation on.

use butler_protocol::{Role, ThreadId, ToolSpec};

/// Who works where, with what, and within which limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    pub thread: ThreadId,
    /// The role at work. It only enters ids; what a role may do is `policy`'s business.
    pub role: Role,
    /// The models to ask, best guess first.
    pub models: Models,
    /// The system prompt for the next activation. A running one keeps its own.
    pub prompt: String,
    /// The tools offered, in their fixed order.
    pub tools: Vec<ToolSpec>,
    pub limits: Limits,
    /// The number of the first activation. It is 1, except where several logs
    /// of one role live in one thread (research requests): each needs numbers
    /// of its own, because every id is made from them.
    pub first_activation: u32,
}

/// Which models may answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Models {
    /// The one that is asked.
    pub usual: String,
    /// Answers when the usual one is down or gives nothing usable.
    pub fallback: Option<String>,
    /// Takes over when the usual one is stuck, slow or keeps failing the checks.
    pub stronger: Option<String>,
    /// Tokens that fit into a request and its answer.
    pub window_tokens: u64,
    pub max_tokens: u32,
}

/// How far an activation may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Model calls per activation.
    pub max_turns: u32,
    /// Messages from other roles without a word from a person in between; then
    /// the role pauses and asks. Each side of an exchange counts what it hears,
    /// so twenty here are about forty in the thread.
    pub agent_messages: u32,
    /// Per cent of the window at which the middle is replaced by a summary.
    pub compact_percent: u8,
    /// Per cent of the thread's cap at which people are warned.
    pub warn_percent: u8,
}

impl Limits {
    /// The usual limits with so many turns.
    pub const fn with_turns(max_turns: u32) -> Self {
        Self {
            max_turns,
            agent_messages: 20,
            compact_percent: 80,
            warn_percent: 80,
        }
    }
}
