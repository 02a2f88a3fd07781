//! What people watch while it happens, and what an agent says about itself. Neither is
//! kept: the record is in messages and logs.

use serde::{Deserialize, Serialize};

use crate::{BranchName, ThreadId};

/// `POST /agent/v1/live`: what a role does in a thread this very moment, as a whole. Sent
/// only while somebody looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveWork {
    pub thread: ThreadId,
    /// The end of what the model is saying.
    #[serde(default)]
    pub saying: String,
    /// What runs, as in "running cargo test".
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
    pub text: String,
}

/// The answer to [`LiveWork`], and to `GET /agent/v1/live/<channel>/<root>`, which waits a
/// while for somebody to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    pub watched: bool,
}

/// `POST /agent/v1/facts`: what an agent says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFacts {
    pub version: String,
    /// The name of the machine that it runs on.
    #[serde(default)]
    pub host: String,
    /// The models that it asks, the first one first.
    pub models: Vec<String>,
    /// Those that failed several times in a row and are left alone for a while.
    #[serde(default)]
    pub resting: Vec<String>,
    /// Names that a person may choose a model by.
    #[serde(default)]
    pub pool: Vec<String>,
    /// What is ahead, from the one who looks after the roadmap.
    #[serde(default)]
    pub outlook: Outlook,
}

/// What a repository's team has before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlook {
    /// The roadmap, as the default branch has it.
    pub roadmap: Vec<RoadmapEntry>,
    /// Open branches that would not merge.
    pub clashes: Vec<BranchClash>,
    /// The order in which the open branches are best merged.
    pub order: Vec<BranchName>,
}

/// One item of the roadmap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoadmapEntry {
    pub number: u32,
    pub title: String,
    /// `ready`, `waiting`, `in_progress`, `done`, `blocked`, or a word that somebody wrote.
    pub state: String,
    /// Why it is blocked, where somebody said so.
    #[serde(default)]
    pub why: String,
    #[serde(default)]
    pub depends_on: Vec<u32>,
}

/// Two branches that do not merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchClash {
    pub one: BranchName,
    /// The other; nobody's where it is the default branch itself.
    pub other: Option<BranchName>,
    /// The files in conflict.
    pub files: Vec<String>,
}
