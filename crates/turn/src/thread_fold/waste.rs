//! Where the calls to the model went: to work, or to something that a better
//! prompt, tool or gate would have spared. Each call is counted once, by what came
//! of it, when its results are in.

use std::collections::{BTreeMap, VecDeque};

use butler_protocol::{CallId, Record, TokenUsage, ToolCall, among};
use serde_json::Value;

use crate::{
    asking::stuck::{call_hash, hash},
    known::{CHECKLIST, SPEAKING},
};

/// So many calls back a repetition is recognised.
const REMEMBERED: usize = 64;

/// What a call to the model was good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpentOn {
    /// It brought the task on.
    Work,
    /// It only passed words between roles and people.
    Coordination,
    /// All it asked for was not taken: a form with something missing, a gate, a text
    /// that nobody could use.
    Refused,
    /// All its tools failed.
    Failed,
    /// It asked for what it had asked for before and got the same.
    Repeated,
}

impl SpentOn {
    /// All of them, what is worth its money first.
    pub const ALL: [Self; 5] = [
        Self::Work,
        Self::Coordination,
        Self::Refused,
        Self::Failed,
        Self::Repeated,
    ];

    /// As people read it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Coordination => "coordination",
            Self::Refused => "refused forms",
            Self::Failed => "failed tools",
            Self::Repeated => "repeated requests",
        }
    }
}

/// Calls and tokens that went to one purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub calls: u64,
    /// Tokens in and out.
    pub tokens: u64,
}

impl Spent {
    /// Adds another one up.
    pub fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.tokens += other.tokens;
    }
}

/// Where the calls of one log went.
#[derive(Debug, Clone, Default)]
pub struct Waste {
    spent: BTreeMap<SpentOn, Spent>,
    turn: Option<Turn>,
    /// The last calls with what came of them.
    seen: VecDeque<u64>,
}

/// An answer of the model that has not been counted.
#[derive(Debug, Clone)]
struct Turn {
    tokens: u64,
    calls: Vec<Called>,
}

#[derive(Debug, Clone)]
struct Called {
    id: CallId,
    talk: bool,
    speaks: bool,
    /// A red run is what tests are for.
    checks: bool,
    hash: u64,
    begun: bool,
    came: Option<(bool, bool)>,
}

impl Waste {
    /// What went where.
    pub fn spent(&self) -> &BTreeMap<SpentOn, Spent> {
        &self.spent
    }

    pub(super) fn push(&mut self, record: &Record) {
        match record {
            Record::Assistant { calls, usage, .. } => {
                self.count();
                self.turn = Some(Turn::new(calls, usage));
            }
            Record::ToolIntent { call, .. } => {
                if let Some(called) = self.called(call) {
                    called.begun = true;
                }
            }
            Record::ToolResult { call, outcome } => {
                let Some(called) = self.called(call) else {
                    return;
                };
                let came = hash(&(called.hash, &outcome.text));
                let ok = outcome.ok;
                let again = self.seen.contains(&came);
                if let Some(called) = self.called(call) {
                    called.came = Some((ok, again));
                }
                self.seen.push_back(came);
                if self.seen.len() > REMEMBERED {
                    self.seen.pop_front();
                }
                if self.turn.as_ref().is_some_and(Turn::is_over) {
                    self.count();
                }
            }
            // A remark right after a text: it was not taken.
            Record::Note { .. } => {
                if let Some(turn) = self.turn.take_if(|turn| turn.calls.is_empty()) {
                    self.add(SpentOn::Refused, turn.tokens);
                }
            }
            Record::ActivationEnded { .. } => self.count(),
            _ => {}
        }
    }

    fn called(&mut self, call: &CallId) -> Option<&mut Called> {
        let turn = self.turn.as_mut()?;
        turn.calls.iter_mut().find(|called| called.id == *call)
    }

    fn count(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.add(turn.purpose(), turn.tokens);
        }
    }

    fn add(&mut self, purpose: SpentOn, tokens: u64) {
        let spent = self.spent.entry(purpose).or_default();
        spent.add(Spent { calls: 1, tokens });
    }
}

impl Turn {
    fn new(calls: &[ToolCall], usage: &TokenUsage) -> Self {
        Self {
            tokens: usage.input + usage.output,
            calls: calls.iter().map(Called::new).collect(),
        }
    }

    fn is_over(&self) -> bool {
        self.calls.iter().all(|called| called.came.is_some())
    }

    fn purpose(&self) -> SpentOn {
        let all = |what: fn(&Called) -> bool| !self.calls.is_empty() && self.calls.iter().all(what);
        if all(|called| called.came.is_some_and(|(_, again)| again)) {
            SpentOn::Repeated
        } else if all(Called::is_refused) {
            SpentOn::Refused
        } else if all(|called| !called.checks && called.came.is_some_and(|(ok, _)| !ok)) {
            SpentOn::Failed
        } else if all(|called| called.talk) {
            SpentOn::Coordination
        } else {
            SpentOn::Work
        }
    }
}

impl Called {
    fn new(call: &ToolCall) -> Self {
        let name = call.name.as_str();
        let kind = call.arguments.get("kind").and_then(Value::as_str);
        let words = matches!(kind, Some("question" | "answer"));
        Self {
            id: call.id.clone(),
            talk: ["SendMessage", "AskUser", "ReadThread", CHECKLIST].contains(&name)
                || name == "HandOver" && words,
            speaks: among(SPEAKING, name),
            checks: name == "RunChecks",
            hash: call_hash(call),
            begun: false,
            came: None,
        }
    }

    /// Not taken: it never began, or what it would have said was not said.
    fn is_refused(&self) -> bool {
        self.came.is_some_and(|(ok, _)| !ok) && (!self.begun || self.speaks)
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::{CrashClass, Ending, Sha256Hex, ToolOutcome};
    use serde_json::json;

    use super::*;

    fn turn(waste: &mut Waste, number: u32, calls: &[(&str, Value, ToolOutcome)], begun: bool) {
        let all = calls
            .iter()
            .zip(0..)
            .map(|((name, arguments, _), at)| ToolCall {
                id: CallId::new(format!("call-{number}-{at}")),
                name: (*name).to_owned(),
                arguments: arguments.clone(),
                problem: None,
            });
        let all: Vec<ToolCall> = all.collect();
        waste.push(&Record::Assistant {
            turn: number,
            text: None,
            calls: all.clone(),
            reasoning: None,
            model: "m".into(),
            usage: TokenUsage {
                input: 90,
                output: 10,
                ..TokenUsage::default()
            },
        });
        for (call, (name, _, outcome)) in all.iter().zip(calls) {
            if begun {
                waste.push(&Record::ToolIntent {
                    call: call.id.clone(),
                    tool: (*name).to_owned(),
                    crash: CrashClass::Pure,
                    sha256: Sha256Hex::of("x"),
                    trace: None,
                });
            }
            waste.push(&Record::ToolResult {
                call: call.id.clone(),
                outcome: outcome.clone(),
            });
        }
    }

    fn calls(waste: &Waste) -> Vec<(SpentOn, u64)> {
        let spent = waste.spent().iter();
        spent
            .map(|(purpose, spent)| (*purpose, spent.calls))
            .collect()
    }

    #[test]
    fn each_call_is_counted_once_by_what_came_of_it() {
        let mut waste = Waste::default();
        let ok = || ToolOutcome::ok("x");
        let no = || ToolOutcome::error("no");
        turn(&mut waste, 1, &[("Read", json!({"path": "a"}), ok())], true);
        turn(&mut waste, 2, &[("Read", json!({"path": "a"}), ok())], true);
        turn(&mut waste, 3, &[("Read", json!({"path": "b"}), no())], true);
        turn(&mut waste, 4, &[("Read", json!({"pth": "b"}), no())], false);
        let verdict = json!({"kind": "verdict"});
        turn(&mut waste, 5, &[("HandOver", verdict, no())], true);
        let question = json!({"kind": "question"});
        turn(&mut waste, 6, &[("HandOver", question, ok())], true);
        turn(&mut waste, 7, &[("RunChecks", json!({}), no())], true);
        // One that worked makes it work.
        let mixed = [("Read", json!({}), no()), ("Grep", json!({}), ok())];
        turn(&mut waste, 8, &mixed, true);
        turn(&mut waste, 9, &[], true);
        waste.push(&Record::Note {
            text: "again".into(),
        });
        turn(&mut waste, 10, &[], true);
        waste.push(&Record::ActivationEnded {
            activation: 1,
            ending: Ending::Done,
        });
        assert_eq!(
            calls(&waste),
            [
                (SpentOn::Work, 4),
                (SpentOn::Coordination, 1),
                (SpentOn::Refused, 3),
                (SpentOn::Failed, 1),
                (SpentOn::Repeated, 1),
            ]
        );
        assert_eq!(waste.spent()[&SpentOn::Work].tokens, 400);
    }
}
