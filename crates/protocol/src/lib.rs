//! The words every crate shares, and nothing that acts.
//!
//! Two crates that would otherwise each invent a shape for the same thing meet
//! here: who speaks ([`Role`]), where ([`ThreadId`]), what it costs ([`Usd`]),
//! what was said to a model ([`ModelMessage`]), what one agent gives another
//! ([`HandOver`]), what a person decided ([`Decision`]) and what is written to
//! disk about all of it ([`Record`]).
//!
//! No clock, no disk, no network, no async. Everything that crosses a process
//! boundary serialises, and what was serialised by an older build still reads.

mod clock;
mod control;
mod decision;
mod fault;
mod id;
mod log_line;
mod mention;
mod money;
mod post;
mod pull;
mod record;
mod role;
mod secret;
mod talk;
mod text;
mod tool;

pub use clock::Clock;
pub use control::handshake::{Speaks, cannot_work_together};
pub use control::learning_figures::{Difference, LearningFigures};
pub use control::live_work::{
    AgentFacts, BranchClash, LiveStep, LiveWork, Outlook, RoadmapEntry, Watched,
};
pub use control::refusal::Refusal;
pub use control::{
    Activity, ActivityState, BudgetRefusal, CallLimit, DecisionView, Epoch, LogEnd, PlanSummary,
    RecordBatch, Reservation, ReserveAnswer, RoleEntry, ServerState, ServerStatus, Settlement,
    Stamp, StampKind, ThreadSummary,
};
pub use decision::act::PersonAct;
pub use decision::card::{CardBody, Remark, Voice};
pub use decision::design::{ASSETS, Design, PictureSubject};
pub use decision::develop::{
    DevelopItem, DevelopSubject, ItemReport, ItemState, ItemTag, MergeMode, RunChange, RunDecide,
    RunItem, RunReport, RunState, RunView,
};
pub use decision::hand_over::{
    Complexity, HandOver, HandOverKind, MergedOther, Picture, Plan, PlanStep, Retrospective, Task,
};
pub use decision::maps::{MapChange, MapsSubject};
pub use decision::review::{
    Base, CheckCounts, CheckRun, Finding, FindingKind, NewTests, Observed, PlannedTest, Receipt,
    ReviewPlan, Risk, Severity, TestLevel, Verdict,
};
pub use decision::roadmap::{RoadmapChange, RoadmapItem, RoadmapStatus, RoadmapSubject};
pub use decision::standing::{Right, Standing};
pub use decision::subject::{Call, Change, Fate, MergeSubject, Proposal, Script, Subject};
pub use decision::{ActionId, Choice, Decision, DecisionKind, DecisionRequest};
pub use fault::points::FAULT_POINTS;
pub use fault::{FAULT_LOG_VARIABLE, FAULT_VARIABLE, FaultPoint, fault, on_fault};
pub(crate) use id::IdError;
pub use id::event::EventKind;
pub use id::{
    BodyRef, BranchName, CallId, ChannelId, CommitSha, EnvelopeId, EventId, Idem, MessageTs,
    Origin, PrNumber, RequestId, ReserveId, Sha256Hex, ThreadId, TreeHash, UserId,
};
pub use log_line::{LogBatch, LogLevel, LogLine};
pub use mention::{mentions, without_code};
pub use money::{Price, TokenUsage, Usd};
pub use post::{CardTag, HandOverTag, PostTag};
pub use pull::seen::{PullEvent, PullSeen, RedCheck, Reviewed, Said};
pub use pull::{MergeBlock, PullNews, PullStatus};
pub use record::{Ending, Entry, Record, Speaker, Waiting};
pub use role::Role;
pub use secret::Secret;
pub use talk::{Image, ModelMessage, ModelReply, RepliedCall, ToolCall, ToolSpec};
pub use text::count::count_of;
pub use text::nearest::nearest;
pub use text::person::{people_mentioned, person_first, person_name, with_names};
pub use text::visible::{visible, visible_json, visible_line};
pub use text::words::among;
pub use tool::{Confidence, CrashClass, RefusedFor, Then, Tier, ToolOutcome};
