//! The whole time line of a thread: what people and roles said, and what the
//! roles did between: turns, tool calls, decisions, receipts. Pure: records and
//! messages in, moments out. A record that a newer agent invented is skipped.

use std::collections::HashMap;

use butler_protocol::{
    CallId, Choice, DecisionKind, Ending, Entry, EventKind, HandOver, HandOverKind, MessageTs,
    Receipt, Record, RequestId, Role, Speaker, ToolOutcome, Usd, UserId, Waiting,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that happened, and when.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Moment {
    pub(crate) at_ms: i64,
    /// Who did it; nobody for what a person said.
    pub(crate) role: Option<Role>,
    #[serde(flatten)]
    pub(crate) what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(crate) enum What {
    /// A message of the thread, in Slack's shape.
    Message {
        message: Value,
    },
    /// A stretch of work began or ended.
    Started {
        activation: u32,
    },
    Ended {
        activation: u32,
        ending: Ending,
    },
    /// What the model was told about its job.
    Prompt {
        text: String,
        tools: Vec<String>,
    },
    /// Something was said to the role that is no message of the thread.
    Told {
        by: String,
        text: String,
    },
    /// The model answered.
    Turn {
        turn: u32,
        model: String,
        text: Option<String>,
        calls: usize,
        input_tokens: u64,
        output_tokens: u64,
        cost: Option<Usd>,
    },
    /// A tool ran; without output it still runs, or a crash cut it off.
    Tool {
        call: CallId,
        tool: String,
        input: Value,
        output: Option<String>,
        ok: Option<bool>,
        took_ms: Option<i64>,
        /// The number under which the files were saved before it.
        #[serde(skip_serializing_if = "Option::is_none")]
        saved: Option<u32>,
    },
    /// A hand-over reached the role.
    HandedOver {
        kind: HandOverKind,
        body: Box<HandOver>,
    },
    Asked {
        request: RequestId,
        kind: DecisionKind,
    },
    Decided {
        request: RequestId,
        choice: Choice,
        person: UserId,
    },
    /// The checks ran.
    Checked {
        receipt: Receipt,
    },
    Parked {
        waiting: Waiting,
    },
    Model {
        model: String,
        reason: String,
    },
    Summary {
        text: String,
    },
    Note {
        text: String,
    },
}

/// Everything in the order of time.
pub(crate) fn tell(messages: &[Value], records: &[Value]) -> Vec<Moment> {
    let mut told: Vec<Moment> = messages.iter().filter_map(message).collect();
    let mut teller = Teller::default();
    for record in records {
        let role = Role::deserialize(&record["role"]);
        let entry = Entry::deserialize(&record["entry"]);
        if let (Ok(role), Ok(entry)) = (role, entry) {
            teller.hear(role, entry);
        }
    }
    told.append(&mut teller.moments);
    told.sort_by_key(|moment| moment.at_ms);
    told
}

fn message(message: &Value) -> Option<Moment> {
    let ts = MessageTs::deserialize(&message["ts"]).ok()?;
    let digits: String = ts.as_str().chars().filter(char::is_ascii_digit).collect();
    let micros: i64 = digits.parse().ok()?;
    Some(Moment {
        at_ms: micros / 1000,
        role: None,
        what: What::Message {
            message: message.clone(),
        },
    })
}

/// Joins what belongs together: a call with its arguments and its result, a turn
/// with its price.
#[derive(Default)]
struct Teller {
    moments: Vec<Moment>,
    arguments: HashMap<CallId, Value>,
    open_calls: HashMap<CallId, usize>,
    unpaid: HashMap<Role, usize>,
    paid: HashMap<Role, Usd>,
}

impl Teller {
    fn add(&mut self, at_ms: i64, role: Role, what: What) -> usize {
        self.moments.push(Moment {
            at_ms,
            role: Some(role),
            what,
        });
        self.moments.len() - 1
    }

    fn hear(&mut self, role: Role, entry: Entry) {
        let at = entry.at_ms;
        let what = match entry.record {
            Record::ActivationStarted { activation } => What::Started { activation },
            Record::ActivationEnded { activation, ending } => What::Ended { activation, ending },
            Record::Prompt { text, tools } => What::Prompt {
                text,
                tools: tools.into_iter().map(|tool| tool.name).collect(),
            },
            // What an approved call gave stands with the call.
            Record::User {
                event: Some(event), ..
            } if matches!(event.kind(), Some(EventKind::Ran(_))) => return,
            // With a timestamp it is a message of the thread and stands there.
            Record::User {
                ts: None,
                speaker,
                text,
                ..
            } => What::Told {
                by: spoken(speaker),
                text,
            },
            // Whoever gets a hand-over has it in its log; this one nobody gets.
            Record::Gave { hand_over, .. } if hand_over.to().is_some() => return,
            Record::Received { hand_over, .. } | Record::Gave { hand_over, .. } => {
                What::HandedOver {
                    kind: hand_over.kind(),
                    body: hand_over,
                }
            }
            record @ Record::Assistant { .. } => return self.turn(at, role, record),
            Record::ToolIntent { call, tool, .. } => return self.call(at, role, call, tool),
            Record::ToolResult { call, outcome } => {
                return self.result(at, role, &call, outcome);
            }
            Record::Settled { cost, .. } => return self.pay(role, cost),
            Record::DecisionAsked {
                request, subject, ..
            } => What::Asked {
                request,
                kind: subject.kind(),
            },
            Record::DecisionUsed {
                request,
                choice,
                person,
            } => What::Decided {
                request,
                choice,
                person,
            },
            Record::Checked { receipt } => What::Checked { receipt },
            Record::Parked { waiting } => What::Parked { waiting },
            Record::Model { model, reason, .. } => What::Model { model, reason },
            Record::Summary { text, .. } => What::Summary { text },
            Record::Note { text } => What::Note { text },
            // The end of the work it stopped says so.
            Record::User { .. }
            | Record::Reserved { .. }
            | Record::Posted { .. }
            | Record::Withdrawn { .. }
            | Record::MergeRefused { .. }
            | Record::MergeSettled { .. }
            | Record::PullSeen { .. }
            | Record::PullTold { .. }
            | Record::Chose { .. }
            | Record::Queued { .. }
            | Record::Dequeued
            | Record::ChecklistShown { .. }
            | Record::Stopped { .. } => return,
        };
        self.add(at, role, what);
    }

    fn turn(&mut self, at: i64, role: Role, record: Record) {
        let Record::Assistant {
            turn,
            text,
            calls,
            model,
            usage,
            ..
        } = record
        else {
            return;
        };
        let what = What::Turn {
            turn,
            model,
            text,
            calls: calls.len(),
            input_tokens: usage.input,
            output_tokens: usage.output,
            cost: self.paid.remove(&role),
        };
        let waits = matches!(what, What::Turn { cost: None, .. });
        let index = self.add(at, role, what);
        if waits {
            self.unpaid.insert(role, index);
        }
        for call in calls {
            self.arguments.insert(call.id, call.arguments);
        }
    }

    /// The bill of a call is written before or after its answer.
    fn pay(&mut self, role: Role, amount: Usd) {
        let turn = self
            .unpaid
            .remove(&role)
            .and_then(|index| self.moments.get_mut(index));
        match turn.map(|moment| &mut moment.what) {
            Some(What::Turn { cost, .. }) => *cost = Some(amount),
            _ => {
                self.paid.insert(role, amount);
            }
        }
    }

    fn call(&mut self, at: i64, role: Role, call: CallId, tool: String) {
        // One that waited for a card comes twice.
        let input = self.arguments.get(&call).cloned().unwrap_or(Value::Null);
        let what = What::Tool {
            call: call.clone(),
            tool,
            input,
            output: None,
            ok: None,
            took_ms: None,
            saved: None,
        };
        let index = self.add(at, role, what);
        self.open_calls.insert(call, index);
    }

    /// A result without an intent is a call that was refused before it ran.
    fn result(&mut self, at: i64, role: Role, call: &CallId, outcome: ToolOutcome) {
        if !self.open_calls.contains_key(call) {
            self.call(at, role, call.clone(), "refused call".to_owned());
        }
        let Some(index) = self.open_calls.remove(call) else {
            return;
        };
        let moment = &mut self.moments[index];
        let began = moment.at_ms;
        if let What::Tool {
            output,
            ok,
            took_ms,
            saved,
            ..
        } = &mut moment.what
        {
            *output = Some(outcome.text);
            *ok = Some(outcome.ok);
            *saved = outcome.saved;
            *took_ms = Some((at - began).max(0));
        }
    }
}

fn spoken(speaker: Speaker) -> String {
    match speaker {
        Speaker::Person { name, .. } => name,
        Speaker::Agent { role } => role.title().to_owned(),
        Speaker::Runtime => "runtime".to_owned(),
        Speaker::Outside { origin } => origin,
    }
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
