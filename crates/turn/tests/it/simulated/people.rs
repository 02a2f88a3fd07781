//! What the simulated model answers and the simulated tools give back.

use butler_protocol::{
    DecisionKind, ModelReply, RepliedCall, RequestId, Then, TokenUsage, ToolCall, ToolOutcome, Usd,
    Waiting,
};
use butler_turn::{FailureKind, ModelFailure};
use serde_json::json;

use super::dice::Dice;

/// Tools and what they stand for: `Bash` must never start twice.
const TOOLS: [&str; 11] = [
    "Read",
    "Bash",
    "Bash",
    "SendMessage",
    "AskUser",
    "ProposePlan",
    "ProposeLearnings",
    "ProposeMerge",
    "Deploy",
    "HandOver",
    "Build",
];

pub(crate) fn reply(dice: &mut Dice, number: u64, cost: i64) -> Result<ModelReply, ModelFailure> {
    let mut reply = ModelReply {
        cost: Usd::from_nanos(cost),
        model: "m".into(),
        usage: TokenUsage {
            input: 100 + dice.below(50),
            output: 10,
            ..TokenUsage::default()
        },
        ..ModelReply::default()
    };
    match dice.below(100) {
        0..45 => {
            let count = 1 + dice.below(3);
            for at in 0..count {
                let name = TOOLS[dice.index(TOOLS.len())].to_owned();
                let problem = dice.percent(5).then(|| "unreadable".to_owned());
                let arguments = json!({"n": dice.below(4), "at": at});
                reply.calls.push(RepliedCall {
                    name,
                    arguments,
                    problem,
                });
            }
            reply.text = dice.percent(30).then(|| format!("progress {number}"));
        }
        45..80 => reply.text = Some(format!("answer {number}.")),
        80..85 => {}
        85..88 => reply.text = Some("I will now begin.".into()),
        88..90 => {
            reply.text = Some(format!("answer {number} is cu"));
            reply.cut = true;
        }
        90..95 => return Err(failure(FailureKind::Unavailable, cost)),
        95..98 => return Err(failure(FailureKind::ContextTooLong, cost)),
        _ => return Err(failure(FailureKind::Refused, cost)),
    }
    Ok(reply)
}

pub(crate) fn failure(kind: FailureKind, cost: i64) -> ModelFailure {
    ModelFailure {
        kind,
        text: "it failed".into(),
        cost: Usd::from_nanos(cost),
        usage: TokenUsage::default(),
        model: "m".into(),
    }
}

/// What a tool gives back when it runs.
pub(crate) fn outcome(dice: &mut Dice, call: &ToolCall, now_ms: i64) -> ToolOutcome {
    let text = format!("{} {}", call.name, dice.below(3));
    if dice.percent(20) {
        return ToolOutcome::error(text);
    }
    let then = match call.name.as_str() {
        "SendMessage" if dice.percent(50) => Then::Park {
            waiting: Waiting::Reply {
                deadline_ms: now_ms + 10_000,
            },
        },
        "AskUser" => Then::Park {
            waiting: Waiting::Person,
        },
        "ProposePlan" | "ProposeMerge" | "Deploy" => Then::Park {
            waiting: Waiting::Decision {
                request: card(call),
            },
        },
        // A question to another role waits for its answer.
        "HandOver" if dice.percent(40) => Then::Park {
            waiting: Waiting::Reply {
                deadline_ms: now_ms + 10_000,
            },
        },
        "Build" if dice.percent(30) => Then::Park {
            waiting: Waiting::Worktree,
        },
        "HandOver" => Then::End,
        _ => Then::GoOn,
    };
    // A command that needs a click has not run.
    let outcome = match call.name.as_str() {
        "Deploy" => ToolOutcome::error(text),
        _ => ToolOutcome::ok(text),
    };
    outcome.then(then)
}

/// What a person decides about when this tool has asked.
pub(crate) fn asks(call: &ToolCall) -> Option<DecisionKind> {
    match call.name.as_str() {
        "ProposePlan" => Some(DecisionKind::Plan),
        "ProposeLearnings" => Some(DecisionKind::Learning),
        "ProposeMerge" => Some(DecisionKind::Merge),
        "Deploy" => Some(DecisionKind::Command),
        _ => None,
    }
}

/// The card of a call.
pub(crate) fn card(call: &ToolCall) -> RequestId {
    RequestId::new(format!("card-{}", call.id))
}
