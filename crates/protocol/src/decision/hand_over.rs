//! What one role gives another. The body is kept by the hub under a `ref`; the
//! message that people read is rendered from it, and its metadata points to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    BranchName, CommitSha, Design, Finding, MapChange, MessageTs, PrNumber, PullEvent, Receipt,
    RequestId, ReviewPlan, Role, Sha256Hex, Usd, Verdict,
};

/// A typed hand-over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HandOver {
    /// An approved plan for the Coder.
    Task(Box<Task>),
    /// The Artist's design, which becomes part of the plan.
    Design(Box<Design>),
    /// One role asks another.
    Question { to: Role, text: String },
    /// The answer to a question.
    Answer { to: Role, text: String },
    /// The Coder is done: the runtime has committed, pushed and opened the pull request.
    ReadyForReview {
        /// What was done, for the Reviewer.
        summary: String,
        branch: BranchName,
        head: CommitSha,
        pr: PrNumber,
        /// The checks of exactly this tree; without one the message says "unverified".
        receipt: Option<Receipt>,
        /// Which review round this starts, from 1.
        round: u32,
        /// What was asked for and approved, to judge the change by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<Box<Task>>,
        /// How it looks, before and after, as the runtime took it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pictures: Vec<Picture>,
        /// Whether the Artist looks at them before the Reviewer reads the change.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        look: bool,
    },
    /// What the Artist saw in the pictures and wants changed before the review.
    Look {
        /// In a few words.
        summary: String,
        /// One each, numbered.
        findings: Vec<Finding>,
        pr: PrNumber,
    },
    /// A merge did not go through: the Coder settles it in its worktree.
    Conflict {
        pr: PrNumber,
        /// The files in which it and the default branch differ; none where it stands on
        /// another base than the one that it was checked on.
        files: Vec<String>,
        /// What was merged meanwhile and changed these files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<MergedOther>,
    },
    /// What others did to the pull request on its forge, for the Coder.
    FromForge {
        pr: PrNumber,
        news: Vec<PullEvent>,
        /// Whether strangers wrote some of it.
        #[serde(default = "yes")]
        outside: bool,
    },
    /// What the Reviewer will judge by; nobody is called.
    ReviewPlan(Box<ReviewPlan>),
    /// What the Reviewer decided.
    Verdict { verdict: Verdict, pr: PrNumber },
    /// The Lead's look back.
    Retrospective(Box<Retrospective>),
    /// Lead → a role: what its project map should be made from.
    MapWanted {
        to: Role,
        /// Everything it needs to know.
        text: String,
    },
    /// A role → Lead: its project map, checked against the tree.
    Map {
        from: Role,
        /// What becomes of its file.
        change: MapChange,
    },
    /// Anybody → Researcher: one question, with an activation of its own.
    Research {
        /// Which question: several may be open in one thread.
        request: RequestId,
        /// Who waits for the answer.
        from: Role,
        /// What is to be found out.
        question: String,
        /// Whether whoever asks had text from outside in its context: then that text
        /// may have chosen the words.
        #[serde(default = "yes")]
        outside: bool,
    },
    /// Researcher → whoever asked: what was found, from outside.
    Findings {
        /// The question it answers.
        request: RequestId,
        /// Who asked.
        to: Role,
        /// The answer with its sources.
        text: String,
        /// Whether it rests on texts from outside: the runtime's word, from what
        /// the Researcher's tools brought, not the model's.
        #[serde(default = "yes")]
        outside: bool,
    },
}

/// A picture that stands in the thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// The file's id in the workspace.
    pub id: String,
    pub name: String,
    /// The message that shows it.
    pub message: MessageTs,
}

/// What a release did not say is taken for text from outside.
const fn yes() -> bool {
    true
}

/// The kind of a [`HandOver`], by its name there, as in message metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandOverKind {
    Task,
    Design,
    Question,
    Answer,
    ReadyForReview,
    Look,
    Conflict,
    FromForge,
    ReviewPlan,
    Verdict,
    Retrospective,
    MapWanted,
    Map,
    Research,
    Findings,
}

impl HandOver {
    /// Its kind.
    pub const fn kind(&self) -> HandOverKind {
        match self {
            HandOver::Task(_) => HandOverKind::Task,
            HandOver::Design(_) => HandOverKind::Design,
            HandOver::Question { .. } => HandOverKind::Question,
            HandOver::Answer { .. } => HandOverKind::Answer,
            HandOver::ReadyForReview { .. } => HandOverKind::ReadyForReview,
            HandOver::Look { .. } => HandOverKind::Look,
            HandOver::Conflict { .. } => HandOverKind::Conflict,
            HandOver::FromForge { .. } => HandOverKind::FromForge,
            HandOver::ReviewPlan(_) => HandOverKind::ReviewPlan,
            HandOver::Verdict { .. } => HandOverKind::Verdict,
            HandOver::Retrospective(_) => HandOverKind::Retrospective,
            HandOver::MapWanted { .. } => HandOverKind::MapWanted,
            HandOver::Map { .. } => HandOverKind::Map,
            HandOver::Research { .. } => HandOverKind::Research,
            HandOver::Findings { .. } => HandOverKind::Findings,
        }
    }

    /// Who gets it. A verdict that asks for changes goes back to the Coder, an
    /// approving one on to the Lead.
    pub const fn to(&self) -> Option<Role> {
        match self {
            HandOver::Task(_)
            | HandOver::Conflict { .. }
            | HandOver::FromForge { .. }
            | HandOver::Look { .. } => Some(Role::Coder),
            HandOver::Design(_) => Some(Role::Pm),
            HandOver::Question { to, .. } | HandOver::Answer { to, .. } => Some(*to),
            HandOver::ReadyForReview { look: true, .. } => Some(Role::Artist),
            HandOver::ReadyForReview { .. } => Some(Role::Reviewer),
            HandOver::Verdict { verdict, .. } if verdict.approved || verdict.last => {
                Some(Role::Lead)
            }
            HandOver::Verdict { .. } => Some(Role::Coder),
            HandOver::ReviewPlan(_) | HandOver::Retrospective(_) => None,
            HandOver::MapWanted { to, .. } => Some(*to),
            HandOver::Map { .. } => Some(Role::Lead),
            HandOver::Research { .. } => Some(Role::Researcher),
            HandOver::Findings { to, .. } => Some(*to),
        }
    }
}

/// What the Coder needs so that it need not explore again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The person's own words.
    pub request: String,
    pub plan: Plan,
    /// The branch to work on.
    pub branch: BranchName,
    /// The card on which a person approved exactly this plan. The Coder's
    /// runtime looks the decision up at the hub; this field alone opens no gate.
    pub approval: RequestId,
}

/// A plan that a person can approve. Its hash is what the approval binds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// One line.
    pub title: String,
    /// A paragraph: what and why.
    pub summary: String,
    /// What will be done, in order.
    pub steps: Vec<PlanStep>,
    /// How a person can tell that it is done.
    pub criteria: Vec<String>,
    /// Files expected to change.
    #[serde(default)]
    pub files: Vec<String>,
    /// Options that were looked at and left, with the reason.
    #[serde(default)]
    pub rejected: Vec<String>,
    /// How hard it is; the Coder's model follows from it.
    pub complexity: Complexity,
    /// What it is expected to cost, from similar threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<(Usd, Usd)>,
    /// What the thread may cost, where a person said so on the card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<Usd>,
    /// Who builds it, where a person said so on the card: a name of the pool, or a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How it looks and behaves, where people see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<Box<Design>>,
}

impl Plan {
    /// The hash that an approval of this plan is bound to.
    pub fn sha256(&self) -> Sha256Hex {
        Sha256Hex::of_json(self)
    }
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    pub text: String,
    /// Where, `path:line`, when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// How hard a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Complexity {
    /// A few lines in a few files.
    Simple,
    /// The usual.
    Medium,
    /// Needs the strongest model.
    Complex,
}

/// The Lead's look back, in the fixed form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Retrospective {
    /// What went well, three at most.
    pub well: Vec<String>,
    /// What caused friction, three at most.
    pub friction: Vec<String>,
    /// One change of the process.
    pub process: Option<String>,
    /// One change of a prompt.
    pub prompt: Option<String>,
}

/// What another thread did to the same files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedOther {
    /// Its title, with its number where it has one.
    pub title: String,
    /// Why, as its plan says; empty where nobody knows.
    #[serde(default)]
    pub why: String,
    /// Which of the files in conflict it changed.
    pub files: Vec<String>,
}
