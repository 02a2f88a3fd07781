//! The decision log of a role in a thread: only choices between alternatives. What it
//! did is in its conversation log; this is where one looks to learn why.

use butler_protocol::{Ending, HandOver, Record, Speaker, Waiting, person_name};
use serde::{Deserialize, Serialize};

/// One choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    pub at_ms: i64,
    /// What was decided about: workflow, skill, model, stuck, plan deviation, approval,
    /// compaction, answer.
    pub about: String,
    pub choice: String,
    /// What it was chosen from, where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<String>,
    pub evidence: String,
}

/// The choices of one log, in order.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    all: Vec<Chosen>,
    /// What the role asked people last.
    question: Option<String>,
    /// Whether it sleeps until they speak.
    waits: bool,
}

/// A question or an answer longer than this is shortened.
const WORDS: usize = 80;

impl Choices {
    /// All of them.
    pub fn all(&self) -> &[Chosen] {
        &self.all
    }

    pub(super) fn push(&mut self, at_ms: i64, record: &Record) {
        match record {
            Record::Assistant { calls, .. } => {
                let asked = calls.iter().find(|call| call.name == "AskUser");
                let asked = asked.and_then(|call| call.arguments["question"].as_str());
                if let Some(asked) = asked {
                    self.question = Some(short(asked));
                }
            }
            Record::Parked { waiting } => self.waits = *waiting == Waiting::Person,
            _ => {}
        }
        let answered = self.answered(record);
        let chosen = answered.or_else(|| of(record));
        self.all
            .extend(chosen.map(|chosen| Chosen { at_ms, ..chosen }));
    }

    /// What people say when a role has asked them and waits.
    fn answered(&mut self, record: &Record) -> Option<Chosen> {
        let Record::User {
            speaker: Speaker::Person { name, .. },
            text,
            ..
        } = record
        else {
            return None;
        };
        if !std::mem::take(&mut self.waits) {
            return None;
        }
        let asked = self.question.as_ref();
        let asked = asked.map_or_else(String::new, |asked| format!(", asked “{asked}”"));
        let evidence = format!("{}{asked}", person_name(name));
        Some(chosen("answer", short(text), evidence))
    }
}

fn chosen(about: &str, choice: impl Into<String>, evidence: impl Into<String>) -> Chosen {
    Chosen {
        at_ms: 0,
        about: about.to_owned(),
        choice: choice.into(),
        alternatives: Vec::new(),
        evidence: evidence.into(),
    }
}

/// The choice that a record stands for, if it does.
fn of(record: &Record) -> Option<Chosen> {
    Some(match record {
        Record::Chose { about, what, why } => chosen(about, what, why),
        Record::Model { model, reason, .. } => chosen("model", model, reason),
        Record::DecisionAsked {
            request, subject, ..
        } => {
            let kind = subject.kind();
            let labels = kind.choices().iter().map(|one| one.label().to_owned());
            let evidence = format!("{kind:?} card {request}").to_lowercase();
            Chosen {
                alternatives: labels.collect(),
                ..chosen("approval", "ask a person", evidence)
            }
        }
        Record::DecisionUsed {
            request,
            choice,
            person,
        } => {
            let evidence = format!("{person} on card {request}");
            chosen("approval", choice.label(), evidence)
        }
        Record::Summary { upto, .. } => {
            let why = format!("the next request would not fit; lines up to {upto} are covered");
            chosen("compaction", "a summary", why)
        }
        Record::ActivationEnded {
            ending: Ending::Stuck,
            ..
        } => chosen("stuck", "stop and hand up", "every other way out was tried"),
        Record::User {
            speaker: Speaker::Runtime,
            text,
            ..
        } => started(text, "the words of the request")?,
        Record::ToolResult { outcome, .. } if outcome.ok => {
            started(&outcome.text, "the model chose it by name")?
        }
        Record::Received { hand_over, .. } => match &**hand_over {
            HandOver::Question { text, .. } => started(text, "passed on")?,
            HandOver::Task(task) if task.approval.as_str().starts_with("skill-") => {
                chosen("skill", &task.plan.title, "the exact words of a skill")
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// The workflow or skill that a text of the playbook starts.
fn started(text: &str, why: &str) -> Option<Chosen> {
    let text = text.trim_start();
    for (about, before, after) in [
        ("workflow", "The request starts the workflow `", '`'),
        ("skill", "The request starts the skill `", '`'),
        ("skill", "the skill **", '*'),
    ] {
        let name = text
            .strip_prefix(before)
            .and_then(|rest| rest.split(after).next());
        if let Some(name) = name {
            return Some(chosen(about, name, why));
        }
    }
    None
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut cut: String = line.chars().take(WORDS).collect();
    if cut.len() < line.len() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use butler_protocol::Entry;
    use serde_json::{Value, json};

    use crate::ThreadFold;

    fn told(records: &[Value]) -> Vec<String> {
        let line = |(seq, record): (i64, &Value)| -> Entry {
            let line = json!({"seq": seq, "epoch": 1, "at_ms": seq, "record": record});
            serde_json::from_value(line).unwrap()
        };
        let log: Vec<Entry> = (1..).zip(records).map(line).collect();
        let fold = ThreadFold::of(&log);
        let all = fold.chosen.all().iter();
        all.map(|one| {
            format!(
                "{} {}: {}; {}",
                one.at_ms, one.about, one.choice, one.evidence
            )
        })
        .collect()
    }

    #[test]
    fn every_kind_of_choice_is_found_and_nothing_else() {
        let ana = json!({"who": "person", "user": "U1", "name": "ana"});
        let runtime = json!({"who": "runtime"});
        let ask = json!({"id": "abcdefghi", "name": "AskUser", "arguments": {"question": "Tabs?"}});
        let cap = json!({"cap": {"budget": "thread", "cap": 0, "used": 0}});
        let log = [
            json!({"t": "note", "text": "The request starts the workflow `x`"}),
            json!({"t": "user", "speaker": runtime, "text": "The request starts the workflow `bugfix`: follow its steps."}),
            json!({"t": "tool_result", "call": "c", "outcome": {"ok": true, "text": "The request starts the skill `explain`. Do this:"}}),
            json!({"t": "received", "event": "E1", "hand_over": {"kind": "question", "to": "coder", "text": "the skill **docs** was started in this thread."}}),
            json!({"t": "model", "model": "strong", "reason": "the checks keep failing"}),
            json!({"t": "chose", "about": "stuck", "what": "a hint", "why": "three times the same call"}),
            json!({"t": "chose", "about": "plan deviation", "what": "`c` was changed", "why": "it is not in the plan"}),
            json!({"t": "decision_asked", "request": "abcdef", "sha256": "a".repeat(64), "subject": cap}),
            json!({"t": "decision_used", "request": "abcdef", "choice": "raise", "person": "U1"}),
            json!({"t": "summary", "upto": 4, "text": "short"}),
            json!({"t": "assistant", "turn": 1, "calls": [ask], "model": "m"}),
            json!({"t": "parked", "waiting": {"for": "person"}}),
            json!({"t": "user", "speaker": ana, "text": "yes,\ntabs"}),
            json!({"t": "user", "speaker": ana, "text": "and nothing else"}),
            json!({"t": "activation_ended", "activation": 1, "ending": {"how": "stuck"}}),
        ];
        assert_eq!(
            told(&log),
            [
                "2 workflow: bugfix; the words of the request",
                "3 skill: explain; the model chose it by name",
                "4 skill: docs; passed on",
                "5 model: strong; the checks keep failing",
                "6 stuck: a hint; three times the same call",
                "7 plan deviation: `c` was changed; it is not in the plan",
                "8 approval: ask a person; cap card abcdef",
                "9 approval: Raise; U1 on card abcdef",
                "10 compaction: a summary; the next request would not fit; lines up to 4 are covered",
                "13 answer: yes, tabs; ana, asked “Tabs?”",
                "15 stuck: stop and hand up; every other way out was tried",
            ]
        );
    }
}
