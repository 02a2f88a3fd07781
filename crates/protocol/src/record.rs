//! The complete list of what a conversation log can hold. `journal` stores
//! these, `turn::fold` is the only place that gives them a meaning.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    CallId, Choice, CrashClass, EventId, HandOver, Idem, Image, MergeBlock, MessageTs, PullEvent,
    PullSeen, Receipt, RequestId, ReserveId, Role, Sha256Hex, Subject, TokenUsage, ToolCall,
    ToolOutcome, ToolSpec, Usd, UserId, decision::subject,
};

/// One line of a log: a record, its place and its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// From 1, without gaps.
    pub seq: u64,
    /// The owner that wrote it.
    pub epoch: u64,
    pub at_ms: i64,
    pub record: Record,
}

/// Something that happened in one role's work on one thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum Record {
    /// A new stretch of work began.
    ActivationStarted {
        /// From 1, per role and thread.
        activation: u32,
    },
    /// It is over.
    ActivationEnded { activation: u32, ending: Ending },
    /// The prompt and the tools from here on; written when they differ from the last.
    Prompt {
        /// The system prompt.
        text: String,
        /// The tools offered, in their fixed order.
        tools: Vec<ToolSpec>,
    },
    /// Something was said to this role.
    User {
        /// The event it came with, so that a redelivery is recognised.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        event: Option<EventId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ts: Option<MessageTs>,
        speaker: Speaker,
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    /// A hand-over came in; the `User` record beside it is what the model reads.
    Received {
        /// The event it came with.
        event: EventId,
        /// Its body, as the sender wrote it.
        hand_over: Box<HandOver>,
    },
    /// This role handed something over itself.
    Gave {
        /// By which call; a repeat after a crash is the same one.
        call: CallId,
        hand_over: Box<HandOver>,
    },
    /// The model answered.
    Assistant {
        /// Which turn of the activation, from 1.
        turn: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Its tool calls, with our ids.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        /// The provider's reasoning blocks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<Value>,
        model: String,
        /// What the provider counted, for the size of the next request.
        #[serde(default)]
        usage: TokenUsage,
    },
    /// A tool is about to run.
    ToolIntent {
        call: CallId,
        tool: String,
        /// What to do if no result follows.
        crash: CrashClass,
        /// The hash of its arguments.
        sha256: Sha256Hex,
        /// What the tool needs to find out what happened: hashes before and
        /// after, a key, a head.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace: Option<Value>,
    },
    /// A tool has run, or was refused.
    ToolResult { call: CallId, outcome: ToolOutcome },
    /// The activation sleeps.
    Parked { waiting: Waiting },
    /// A card was posted.
    DecisionAsked {
        request: RequestId,
        /// The hash of what would happen.
        sha256: Sha256Hex,
        /// The thing itself, as the executor will need it.
        #[serde(deserialize_with = "subject::from_log")]
        subject: Subject,
        /// The accepted learnings that a merge of knowledge carries.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        learnings: Vec<Sha256Hex>,
    },
    /// A decision was taken up. A command's approval is used up by this line.
    DecisionUsed {
        request: RequestId,
        choice: Choice,
        person: UserId,
    },
    /// A stop came before what was decided on this card could begin.
    Withdrawn { request: RequestId },
    /// The forge refused a merge that a person ordered.
    MergeRefused {
        /// The card on which it was ordered.
        request: RequestId,
        block: MergeBlock,
        /// Not tried again before this time, in milliseconds since 1970.
        not_before_ms: i64,
        /// The message that says so.
        message: MessageTs,
    },
    /// Nobody waits for a refused merge any more: it went through, or was given up.
    MergeSettled {
        /// The card on which it was ordered.
        request: RequestId,
    },
    /// Somebody looked at a pull request of this thread on its forge.
    PullSeen {
        seen: Box<PullSeen>,
        /// What was new; told in the thread from here on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        news: Vec<PullEvent>,
    },
    /// The first so many of the news that were not told yet are told.
    PullTold { news: u32 },
    /// A choice that no other line stands for, for the decision log.
    Chose {
        /// About what: `stuck`, `answer`, `plan deviation`.
        about: String,
        what: String,
        why: String,
    },
    /// The thread waits for its turn and was told so.
    Queued {
        /// The message that says so.
        message: MessageTs,
    },
    /// Its turn has come.
    Dequeued,
    /// People see the checklist as it was then.
    ChecklistShown {
        /// The message that shows it, edited as it moves.
        message: MessageTs,
        /// How often it had moved.
        moves: u64,
    },
    /// Money was set aside for a model call.
    Reserved {
        reserve: ReserveId,
        /// Its worst case.
        amount: Usd,
    },
    /// The call is over and paid.
    Settled {
        reserve: ReserveId,
        cost: Usd,
        usage: TokenUsage,
        model: String,
    },
    /// A message was posted.
    Posted {
        idem: Idem,
        /// Its first part.
        ts: MessageTs,
    },
    /// The checks ran.
    Checked { receipt: Receipt },
    /// The middle of the conversation was replaced by a summary.
    Summary {
        /// Records up to this sequence number are covered by it.
        upto: u64,
        /// The summary, written by the model.
        text: String,
    },
    /// Another model answers from here on.
    Model {
        model: String,
        reason: String,
        /// Whether a person asked for it: then it stays for this thread.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        asked_for: bool,
    },
    /// A person stopped the thread. Nothing that was begun before goes on.
    Stopped {
        /// The stop, so that a redelivery is recognised.
        event: EventId,
        /// Who, by name.
        by: String,
    },
    /// A remark of the runtime to the model.
    Note { text: String },
}

/// Who said something to a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "who", rename_all = "snake_case")]
pub enum Speaker {
    /// A person of the workspace.
    Person {
        user: UserId,
        /// The name people see.
        name: String,
    },
    /// Another role.
    Agent {
        role: Role,
    },
    Runtime,
    /// Text from outside (web, issue, MCP): data, never instruction.
    Outside {
        origin: String,
    },
}

/// How an activation ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ending {
    /// With an answer or a decision that was carried out.
    Done,
    /// With a hand-over: what was asked for goes on with another role.
    PassedOn,
    /// A person stopped it.
    Stopped,
    TurnLimit,
    /// No money left in a budget.
    OutOfMoney,
    /// It was going in circles.
    Stuck,
    /// It failed; any message resumes it.
    Failed {
        /// Why, in one sentence for people.
        reason: String,
    },
}

/// What a parked activation waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Waiting {
    /// A message for this role; without one by the deadline it wakes with "no answer".
    Reply { deadline_ms: i64 },
    /// A word of each of these roles. Whoever else speaks wakes it too, and so does
    /// the deadline.
    Replies {
        deadline_ms: i64,
        /// Who has not answered.
        from: Vec<Role>,
    },
    /// A person's word. No deadline.
    Person,
    /// A decision card. No deadline.
    Decision { request: RequestId },
    /// A worktree that another activation holds.
    Worktree,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{CheckRun, CommitSha, Finding, FindingKind, HandOver, PrNumber, Severity, Verdict};

    fn records() -> Vec<Record> {
        let call = CallId::new("abcdefghi");
        vec![
            Record::ActivationStarted { activation: 1 },
            Record::Prompt {
                text: "You are the Coder.".into(),
                tools: vec![ToolSpec {
                    name: "Read".into(),
                    description: "Reads.".into(),
                    parameters: json!({"type": "object"}),
                }],
            },
            Record::User {
                event: Some(EventId::new("Ev1")),
                ts: Some("1700000000.000100".parse().unwrap()),
                speaker: Speaker::Person {
                    user: UserId::new("U1"),
                    name: "ana".into(),
                },
                text: "hi".into(),
                images: vec![],
            },
            Record::Assistant {
                turn: 1,
                text: None,
                calls: vec![ToolCall {
                    id: call.clone(),
                    name: "Read".into(),
                    arguments: json!({"path": "a"}),
                    problem: None,
                }],
                reasoning: Some(json!([{"type": "reasoning.text", "text": "hm"}])),
                model: "m".into(),
                usage: TokenUsage::default(),
            },
            Record::ToolIntent {
                call: call.clone(),
                tool: "Read".into(),
                crash: CrashClass::Pure,
                sha256: Sha256Hex::of("x"),
                trace: None,
            },
            Record::ToolResult {
                call,
                outcome: ToolOutcome::ok("text").then(crate::Then::Park {
                    waiting: Waiting::Decision {
                        request: RequestId::new("abc123"),
                    },
                }),
            },
            Record::Parked {
                waiting: Waiting::Reply { deadline_ms: 5 },
            },
            Record::DecisionAsked {
                request: RequestId::new("abc123"),
                sha256: Sha256Hex::of("plan"),
                subject: Subject::Cap(crate::BudgetRefusal {
                    budget: "thread".into(),
                    cap: Usd::from_cents(5),
                    used: Usd::from_cents(5),
                }),
                learnings: vec![Sha256Hex::of("learning")],
            },
            Record::Withdrawn {
                request: RequestId::new("abc123"),
            },
            Record::MergeRefused {
                request: RequestId::new("abc123"),
                block: MergeBlock::CheckPending,
                not_before_ms: 7,
                message: "1700000000.000200".parse().unwrap(),
            },
            Record::MergeSettled {
                request: RequestId::new("abc123"),
            },
            Record::PullSeen {
                seen: Box::new(PullSeen {
                    number: PrNumber(1),
                    state: crate::PullStatus::Open,
                    head: CommitSha::new("h"),
                    draft: true,
                    conflict: false,
                    said: ["note-1".to_owned()].into(),
                    red: [("test".to_owned(), CommitSha::new("h"))].into(),
                }),
                news: vec![
                    PullEvent::Said(crate::Said {
                        id: "note-1".into(),
                        by: "ana".into(),
                        may_write: true,
                        review: Some(crate::Reviewed::Approved),
                        text: "fine".into(),
                        place: None,
                        outdated: false,
                    }),
                    PullEvent::Reopened,
                ],
            },
            Record::PullTold { news: 2 },
            Record::Queued {
                message: "1700000000.000200".parse().unwrap(),
            },
            Record::Dequeued,
            Record::ChecklistShown {
                message: "1700000000.000200".parse().unwrap(),
                moves: 7,
            },
            Record::DecisionUsed {
                request: RequestId::new("abc123"),
                choice: Choice::Approve,
                person: UserId::new("U1"),
            },
            Record::Reserved {
                reserve: ReserveId::new("r"),
                amount: Usd::from_cents(3),
            },
            Record::Settled {
                reserve: ReserveId::new("r"),
                cost: Usd::from_cents(1),
                usage: TokenUsage::default(),
                model: "m".into(),
            },
            Record::Posted {
                idem: Idem::new("i"),
                ts: "1700000000.000200".parse().unwrap(),
            },
            Record::Checked {
                receipt: Receipt {
                    tree: crate::TreeHash::new("t"),
                    checks: vec![CheckRun {
                        name: "test".into(),
                        command: "make test".into(),
                        exit_code: Some(0),
                        duration_ms: 5,
                        counts: None,
                    }],
                    flags: vec![],
                    base: None,
                    not_compared: None,
                },
            },
            Record::Summary {
                upto: 9,
                text: "so far".into(),
            },
            Record::Model {
                model: "m2".into(),
                reason: "stuck".into(),
                asked_for: true,
            },
            Record::Stopped {
                event: EventId::new("Ev2"),
                by: "ana".into(),
            },
            Record::Note {
                text: "two turns left".into(),
            },
            Record::ActivationEnded {
                activation: 1,
                ending: Ending::Failed {
                    reason: "no key".into(),
                },
            },
        ]
    }

    #[test]
    fn every_record_survives_its_line() {
        for (seq, record) in (1..).zip(records()) {
            let entry = Entry {
                seq,
                epoch: 1,
                at_ms: 2,
                record,
            };
            let line = serde_json::to_string(&entry).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(
                serde_json::from_str::<Entry>(&line).unwrap(),
                entry,
                "{line}"
            );
        }
    }

    #[test]
    fn a_verdict_finds_its_way_by_what_it_says() {
        let verdict = |approved| HandOver::Verdict {
            pr: PrNumber(1),
            verdict: Verdict {
                head: CommitSha::new("a"),
                tree: crate::TreeHash::new("b"),
                approved,
                round: 1,
                last: false,
                summary: "s".into(),
                invariants: vec![],
                tests: vec![],
                risks: vec![],
                findings: vec![Finding {
                    id: "F1".into(),
                    kind: FindingKind::Test,
                    severity: Severity::High,
                    place: "a.rs:1".into(),
                    evidence: "e".into(),
                    fix: "f".into(),
                }],
                observed: crate::Observed::default(),
            },
        };
        assert_eq!(verdict(true).to(), Some(Role::Lead));
        assert_eq!(verdict(false).to(), Some(Role::Coder));
        let json = serde_json::to_string(&verdict(false)).unwrap();
        assert_eq!(
            serde_json::from_str::<HandOver>(&json).unwrap(),
            verdict(false)
        );
    }
}
