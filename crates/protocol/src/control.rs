//! What agents and hub say to each other where Slack has no words: the
//! `codebutler` object beside an envelope, and the bodies of `/agent/v1/…`.

pub(crate) mod handshake;
pub(crate) mod learning_figures;
pub(crate) mod live_work;
pub(crate) mod refusal;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    Choice, Decision, DecisionRequest, Entry, Plan, PrNumber, ReserveId, Role, ThreadId,
    TokenUsage, Usd, UserId,
};

/// Which life of an agent process speaks. The hub refuses an older one, so a
/// role and repo have one voice even when two processes run.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The `codebutler` object that the hub puts beside Slack's fields in an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The event's place in the hub's log.
    pub seq: u64,
    /// The role that caused it, from its token; nothing when a person did.
    pub from: Option<Role>,
    /// The roles it is addressed to.
    #[serde(default)]
    pub to: Vec<Role>,
    pub kind: StampKind,
    /// The body of a hand-over, or the request of a decision.
    #[serde(default, rename = "ref")]
    pub reference: Option<String>,
    /// The role that was last at work in this thread when it happened.
    pub active: Option<Role>,
    /// The thread, also where Slack's event does not say it (reactions).
    pub thread: Option<ThreadId>,
}

/// What an envelope is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StampKind {
    /// Somebody wrote.
    Message,
    /// A role handed over.
    HandOver,
    /// A person decided about a card; `ref` is the request.
    Decision,
    /// A reaction was added or removed.
    Reaction,
    /// A person stopped the thread, by word or reaction. `to` are the roles that
    /// were at work there, `active` the one that goes on when told to.
    Stop,
    /// A role began, parked or ended work.
    Activity,
    /// A person's word that acts on the thread itself; `ref` says which.
    Act,
    /// Anything else: edits, deletions, joins.
    Other,
}

/// `POST /agent/v1/activity`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    pub thread: ThreadId,
    /// What the calling role does there.
    pub state: ActivityState,
    /// What people read on the status line, as in "running cargo test".
    pub step: Option<String>,
    /// Without a further word for so long the role counts as gone.
    #[serde(default = "default_lease")]
    pub lease_seconds: u32,
}

fn default_lease() -> u32 {
    30
}

/// One MCP server of a role, as it stands: an entry of `POST /agent/v1/servers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// As its configuration calls it.
    pub name: String,
    pub state: ServerState,
    /// Tools of it that the role may call.
    pub tools: usize,
    /// What their descriptions cost in a request that carries them, in tokens.
    pub tokens: usize,
    /// Whether every request carries them; else they are looked for.
    pub listed: bool,
    /// What went wrong last.
    pub error: Option<String>,
}

/// What an MCP server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// Nobody has used it yet, or it was ended.
    Resting,
    Starting,
    Running,
    /// It failed and is given a pause.
    Failed,
    /// It is not what was accepted, and is not used.
    Changed,
}

impl ServerState {
    /// In words.
    pub const fn label(self) -> &'static str {
        match self {
            ServerState::Resting => "not started",
            ServerState::Starting => "starting",
            ServerState::Running => "running",
            ServerState::Failed => "failed",
            ServerState::Changed => "changed since it was accepted",
        }
    }
}

/// What a role does in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivityState {
    /// A model or a tool is running.
    Working,
    /// Waiting for somebody.
    Parked,
    Idle,
}

crate::words! { ActivityState {
    Working = "working",
    Parked = "parked",
    Idle = "idle",
}}

/// `POST /agent/v1/reserve`: set the worst case of a model call aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// Made by the caller; a repeat with the same id is one reservation.
    pub id: ReserveId,
    /// Whose budget.
    pub thread: ThreadId,
    /// On whose behalf, for caps per person.
    pub person: Option<UserId>,
    /// The worst case.
    pub amount: Usd,
    /// The last event of the thread that the caller knew of when it began the work
    /// that this is for: what was begun before a stop gets no money.
    pub heard: Option<u64>,
}

/// The answer to a reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum ReserveAnswer {
    /// Go ahead.
    Granted {
        /// Spent and reserved in this thread so far, this one included.
        thread_total: Usd,
        thread_cap: Usd,
        /// What is set aside under this id: after a repeat the first amount.
        amount: Usd,
    },
    /// Not enough left.
    Refused(BudgetRefusal),
    /// Too many calls in the last hour; ask again then.
    Later(CallLimit),
}

/// How many calls an hour may have, and when the next one may come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallLimit {
    /// Whose calls were counted: `repo` or `person`.
    pub whose: String,
    /// How many an hour may have.
    pub limit: u32,
    /// Milliseconds since 1970.
    pub free_at_ms: i64,
}

/// Which budget is too small.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetRefusal {
    /// `thread`, `day`, `person`, `run`, `session`.
    #[serde(alias = "purse")]
    pub budget: String,
    pub cap: Usd,
    /// Already spent and reserved.
    pub used: Usd,
}

impl BudgetRefusal {
    /// Whether the budget is one of the hub's operator, as in `month of this person`.
    pub fn is_operators(&self) -> bool {
        self.budget.contains(" of this ")
    }
}

/// `POST /agent/v1/settle`: the call is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settlement {
    pub id: ReserveId,
    pub cost: Usd,
    pub usage: TokenUsage,
    pub model: String,
}

/// `POST /agent/v1/records`: journal lines for the page. Idempotent by thread,
/// role (from the token), log name and sequence number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordBatch {
    pub thread: ThreadId,
    pub entries: Vec<Entry>,
    /// Without lines: where this log ends on the caller's disk, which asks for what the
    /// hub has beyond it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<LogEnd>,
}

/// The last line of one log of a role, as its owner has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEnd {
    /// What the numbers of this log begin above at the hub.
    #[serde(default)]
    pub base: u64,
    /// Its number in the log; 0 when there is none.
    pub seq: u64,
    /// Who wrote it.
    pub epoch: u64,
    pub at_ms: i64,
}

/// `GET /agent/v1/records/<channel>/<root>`: a line of some role's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleEntry {
    pub role: Role,
    pub entry: Entry,
}

/// `GET /agent/v1/plans`: what became of a plan that was put before a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanSummary {
    /// Where it was proposed.
    pub thread: ThreadId,
    pub plan: Plan,
    /// What was decided about it.
    pub choice: Option<Choice>,
    pub merged: bool,
    /// What the thread has cost so far.
    pub cost: Usd,
    /// How many model calls that was; a hub that does not count says none.
    #[serde(default)]
    pub calls: u64,
}

/// `GET /agent/v1/threads`: a thread of the team, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadSummary {
    pub thread: ThreadId,
    /// Its first words.
    pub title: String,
    /// Where it stands, as the board says it.
    pub phase: String,
    pub working: Vec<Role>,
    /// Cards that wait for a person.
    pub open_cards: u64,
    /// Its pull request, and how that stands.
    pub pull: Option<(PrNumber, String)>,
    pub spent: Usd,
}

impl ThreadSummary {
    /// The phase of what is over.
    pub const DONE: &'static str = "Done";

    /// Whether it is over.
    pub fn is_done(&self) -> bool {
        self.phase == Self::DONE
    }
}

/// `GET /agent/v1/decisions/<request>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionView {
    pub asked: DecisionRequest,
    /// What was decided, if anything was.
    pub decided: Option<Decision>,
    /// The plan as a person changed it on the card: what they approved instead of what
    /// was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Box<Plan>>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn control_words_survive_json() {
        let thread: ThreadId = "C1/1700000000.000100".parse().unwrap();
        let stamp = Stamp {
            seq: 7,
            from: Some(Role::Pm),
            to: vec![Role::Coder],
            kind: StampKind::HandOver,
            reference: Some("r".into()),
            active: None,
            thread: Some(thread.clone()),
        };
        let json = serde_json::to_value(&stamp).unwrap();
        assert_eq!(json["ref"], "r");
        assert_eq!(serde_json::from_value::<Stamp>(json).unwrap(), stamp);

        let activity: Activity =
            serde_json::from_value(json!({"thread": thread, "state": "working"})).unwrap();
        assert_eq!(activity.lease_seconds, 30);

        let refused = ReserveAnswer::Refused(BudgetRefusal {
            budget: "thread".into(),
            cap: Usd::from_cents(500),
            used: Usd::from_cents(499),
        });
        let json = serde_json::to_string(&refused).unwrap();
        assert_eq!(
            serde_json::from_str::<ReserveAnswer>(&json).unwrap(),
            refused
        );
    }
}
