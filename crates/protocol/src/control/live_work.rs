//! What people watch while it happens, and what an agent says about itself. Neither is
//! kept: the record is in messages and logs.

use serde::{Deserialize, Serialize};

use crate::ThreadId;

/// `POST /agent/v1/live`: what a role does in a thread this very moment, as a whole. Sent
/// only while somebody looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveWork {
    /// Where.
    pub thread: ThreadId,
    /// The end of what the model is saying.
    #[serde(default)]
    pub saying: String,
    /// What runs, as in "running cargo test".
    #[serde(default)]
    pub running: Option<String>,
    /// The end of what it has written.
    #[serde(default)]
    pub output: String,
    /// The checklist.
    #[serde(default)]
    pub steps: Vec<LiveStep>,
    /// What the thread has changed so far, as a unified diff.
    #[serde(default)]
    pub diff: String,
}

impl LiveWork {
    /// Nothing is going on there.
    #[must_use]
    pub const fn nothing(thread: ThreadId) -> Self {
        Self {
            thread,
            saying: String::new(),
            running: None,
            output: String::new(),
            steps: Vec::new(),
            diff: String::new(),
        }
    }
}

/// One step of a checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveStep {
    /// `open`, `doing`, `done` or `dropped`.
    pub state: String,
    /// What is to be done.
    pub text: String,
}

/// The answer to [`LiveWork`], and to `GET /agent/v1/live/<channel>/<root>`, which waits a
/// while for somebody to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// Whether somebody looks.
    pub watched: bool,
}

/// `POST /agent/v1/facts`: what an agent says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFacts {
    /// The version of its binary.
    pub version: String,
    /// The models that it asks, the first one first.
    pub models: Vec<String>,
    /// Those that failed several times in a row and are left alone for a while.
    #[serde(default)]
    pub resting: Vec<String>,
}
