//! A run over the roadmap: what a person starts, and how it stands. The items of a
//! run are those that were shown when it was started; later ones wait for the next.

use serde::{Deserialize, Serialize};

use crate::{
    Choice, DecisionKind, PrNumber, PullStatus, RequestId, Sha256Hex, ThreadId, Usd, UserId,
};

/// What a person starts: these items as they are, within this budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevelopSubject {
    /// What is built, in the order in which it would begin.
    pub items: Vec<DevelopItem>,
    /// So many at the same time.
    pub at_once: u32,
    /// What all of it may cost.
    pub budget: Usd,
    /// After so long a question counts as answered by its own suggestion; without,
    /// it waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_after_minutes: Option<u32>,
}

/// One item as it was when it was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevelopItem {
    /// Its number on the roadmap.
    pub number: u32,
    /// A few words that name it.
    pub title: String,
    /// Items that must be done first.
    pub depends_on: Vec<u32>,
    /// What counts as done.
    pub criteria: Vec<String>,
    /// The hash of its text on the default branch.
    pub sha256: Sha256Hex,
    /// What it alone may cost.
    pub cap: Usd,
}

/// Who merges what is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeMode {
    Person,
    /// The runtime, what is reviewed and green.
    Merging,
    /// A person, each; an item begins on the branch of the one that it depends on as
    /// soon as that is reviewed and green.
    Stacked,
}

impl MergeMode {
    /// What a person chose on the card; nothing when they did not start it.
    pub const fn chosen(choice: Choice) -> Option<Self> {
        match choice {
            Choice::Start => Some(MergeMode::Person),
            Choice::StartMerging => Some(MergeMode::Merging),
            Choice::StartStacked => Some(MergeMode::Stacked),
            _ => None,
        }
    }
}

/// Whether a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Items begin as they become ready.
    Running,
    /// What has begun goes on, nothing begins, nothing is decided without a person.
    Paused,
    /// A person ended it.
    Stopped,
    Done,
}

/// `GET /agent/v1/runs`: a run with all that the hub knows of its items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunView {
    /// The card that started it.
    pub request: RequestId,
    /// The thread in which it was started.
    pub thread: ThreadId,
    pub person: UserId,
    pub mode: MergeMode,
    pub state: RunState,
    pub subject: DevelopSubject,
    /// Spent or set aside by all threads of it.
    pub spent: Usd,
    /// What has begun, in that order.
    pub items: Vec<RunItem>,
}

impl RunView {
    /// How an item stands: what is certain first, then what the PM says of it.
    pub fn report(&self, number: u32) -> ItemReport {
        let plain = |state| ItemReport {
            state,
            why: String::new(),
        };
        let Some(item) = self.items.iter().find(|item| item.number == number) else {
            return plain(ItemState::Waiting);
        };
        match (item.pull, &item.report) {
            (Some((_, PullStatus::Merged)), _) => plain(ItemState::Merged),
            (Some((_, PullStatus::Closed)), _) => plain(ItemState::GivenUp),
            (_, Some(report)) => report.clone(),
            _ if item.stopped => ItemReport {
                state: ItemState::Blocked,
                why: "somebody stopped it".to_owned(),
            },
            _ if !item.open.is_empty() => plain(ItemState::Asks),
            _ => plain(ItemState::Working),
        }
    }

    /// How many items stand so.
    pub fn count(&self, state: ItemState) -> usize {
        let items = self.subject.items.iter();
        items
            .filter(|item| self.report(item.number).state == state)
            .count()
    }
}

impl ItemState {
    /// All of them, in the order in which an item goes through them.
    pub const ALL: [ItemState; 6] = [
        ItemState::Waiting,
        ItemState::Working,
        ItemState::Asks,
        ItemState::Blocked,
        ItemState::Merged,
        ItemState::GivenUp,
    ];

    /// What people read.
    pub const fn title(self) -> &'static str {
        match self {
            ItemState::Waiting => "waiting",
            ItemState::Working => "in progress",
            ItemState::Asks => "asks you",
            ItemState::Blocked => "blocked",
            ItemState::Merged => "done",
            ItemState::GivenUp => "given up",
        }
    }
}

impl RunState {
    /// What people read.
    pub const fn title(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Paused => "paused",
            RunState::Stopped => "stopped",
            RunState::Done => "done",
        }
    }
}

/// An item that has a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunItem {
    pub number: u32,
    pub thread: ThreadId,
    /// Spent or set aside there.
    pub spent: Usd,
    /// Its newest pull request.
    pub pull: Option<(PrNumber, PullStatus)>,
    /// The cards that wait for a person there.
    pub open: Vec<DecisionKind>,
    /// The one of them that the hub decides when it is asked to, because a person
    /// allowed it at the start.
    pub allowed: Option<DecisionKind>,
    /// Whether a person stopped it.
    pub stopped: bool,
    /// Whether a person wrote in it. Then plan and merge there are theirs.
    pub spoken: bool,
    /// What the PM said of it last.
    pub report: Option<ItemReport>,
}

/// How an item stands, as the process that runs the roadmap tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemReport {
    /// In one word.
    pub state: ItemState,
    /// Why, or what is missing; empty where there is nothing to say.
    #[serde(default)]
    pub why: String,
}

/// How an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    /// Other items come first, or a place is not free.
    Waiting,
    /// Somebody is at work.
    Working,
    /// A person is asked.
    Asks,
    /// It cannot go on.
    Blocked,
    /// On the default branch.
    Merged,
    /// Closed without a merge.
    GivenUp,
}

/// `POST /agent/v1/runs/state`: the run goes on, or does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunChange {
    pub request: RequestId,
    /// How it stands from now on.
    pub state: RunState,
}

/// `POST /agent/v1/runs/decide`: what was allowed at the start is decided for an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunDecide {
    pub request: RequestId,
    pub number: u32,
}

/// `POST /agent/v1/runs/report`: how an item stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunReport {
    pub request: RequestId,
    /// Which item; it needs no thread yet.
    pub number: u32,
    #[serde(flatten)]
    pub report: ItemReport,
}

/// What makes a post the first one of an item's thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemTag {
    pub run: RequestId,
    pub number: u32,
}
