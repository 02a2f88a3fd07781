//! Changes of the roadmap, as the team proposes them and a person approves them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One change. Items are named by their numbers; a new one gets the next that is free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum RoadmapChange {
    /// One more item, after the others.
    Add(RoadmapItem),
    /// Other words for an item; what is left out stays.
    Change {
        item: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Other items that must be done first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        depends_on: Option<Vec<u32>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        criteria: Option<Vec<String>>,
    },
    /// Another place in the order.
    Move {
        item: u32,
        /// The item before which it stands then; the end without.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<u32>,
    },
    /// Several items instead of one: the first keeps the number, and what waited for
    /// the one waits for all.
    Split {
        item: u32,
        /// The pieces.
        into: Vec<RoadmapItem>,
    },
    Status {
        item: u32,
        /// pending, in_progress or done.
        status: RoadmapStatus,
    },
    /// It cannot go on.
    Block { item: u32, reason: String },
}

/// What is planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoadmapItem {
    /// The number that it gets. What a person approved is written with this one or not
    /// at all: others may name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// A few words that name it.
    pub title: String,
    /// Numbers of the items that must be done first.
    #[serde(default)]
    pub depends_on: Vec<u32>,
    /// What counts as done, one each.
    #[serde(default)]
    pub criteria: Vec<String>,
}

/// What a person approves: the changes, and what they do to the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoadmapSubject {
    /// What is done, in order.
    pub changes: Vec<RoadmapChange>,
    /// The lines of the file that go and come.
    pub diff: String,
}

/// Where an item can be put by hand; blocked needs a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoadmapStatus {
    Pending,
    InProgress,
    /// Merged.
    Done,
}

impl fmt::Display for RoadmapStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RoadmapStatus::Pending => "pending",
            RoadmapStatus::InProgress => "in_progress",
            RoadmapStatus::Done => "done",
        })
    }
}

/// Its number and its title.
impl fmt::Display for RoadmapItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(number) = self.number {
            write!(f, "{number}. ")?;
        }
        write!(f, "“{}”", self.title)
    }
}

/// One line that says what is done.
impl fmt::Display for RoadmapChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RoadmapChange::Add(item) => write!(f, "add {item}"),
            RoadmapChange::Change { item, .. } => write!(f, "change item {item}"),
            RoadmapChange::Move { item, before } => match before {
                Some(before) => write!(f, "move item {item} before item {before}"),
                None => write!(f, "move item {item} to the end"),
            },
            RoadmapChange::Split { item, into } => {
                let pieces: Vec<String> = into.iter().map(ToString::to_string).collect();
                write!(f, "split item {item} into {}", pieces.join(", "))
            }
            RoadmapChange::Status { item, status } => write!(f, "item {item} is {status}"),
            RoadmapChange::Block { item, reason } => {
                write!(f, "item {item} is blocked: {reason}")
            }
        }
    }
}
