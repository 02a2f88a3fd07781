//! What must survive a summary word for word, because a model's summary may
//! forget it: what the repository is, the task, what people and other roles said, the plan, the
//! checklist, the files that were changed, the last receipt, open questions and
//! open cards. Collected by code while the log grows.

use std::collections::{HashMap, HashSet, VecDeque};

use butler_protocol::{
    CallId, CheckRun, EventId, EventKind, Finding, HandOver, Plan, Receipt, Record, RequestId,
    Speaker, ToolCall,
};
use serde_json::Value;

use crate::{
    fold::label,
    known::{CHECKLIST, PLAN, QUESTION, WRITING},
};

/// How many messages are kept besides the task.
const LATER_MESSAGES: usize = 12;
/// How many files are named.
const FILES: usize = 80;

/// What is kept.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    overview: String,
    task: Vec<(Speaker, String)>,
    begun: bool,
    later: VecDeque<(Speaker, String)>,
    plan: Option<String>,
    findings: String,
    checklist: Option<String>,
    question: Option<String>,
    files: Vec<String>,
    receipt: Option<Receipt>,
    cards: Vec<RequestId>,
    /// Cards that were decided, perhaps before they were written down.
    decided: HashSet<RequestId>,
    /// Calls whose result decides whether they count.
    calls: HashMap<CallId, ToolCall>,
}

impl Pins {
    /// Takes the next record.
    pub(crate) fn push(&mut self, record: &Record) {
        match record {
            Record::User { event, text, .. }
                if event.as_ref().and_then(EventId::kind) == Some(EventKind::Overview) =>
            {
                self.overview = label::escaped(text);
            }
            Record::User { speaker, text, .. } => self.said(speaker, text),
            Record::Assistant { calls, .. } => {
                self.begun = true;
                let kept = calls.iter().filter(|call| is_kept(&call.name));
                self.calls = kept.map(|call| (call.id.clone(), call.clone())).collect();
            }
            Record::ToolResult { call, outcome } if outcome.ok => {
                if let Some(call) = self.calls.remove(call) {
                    self.did(&call, &outcome.text);
                }
            }
            Record::Received { hand_over, .. } | Record::Gave { hand_over, .. } => {
                self.received(hand_over);
            }
            Record::Checked { receipt } => self.receipt = Some(receipt.clone()),
            Record::DecisionAsked { request, .. } => self.asked(request),
            Record::DecisionUsed { request, .. } => {
                self.cards.retain(|card| card != request);
                self.decided.insert(request.clone());
            }
            _ => {}
        }
    }

    /// A card that was decided is not open; one that is asked again is one card.
    fn asked(&mut self, request: &RequestId) {
        if !self.decided.contains(request) && !self.cards.contains(request) {
            self.cards.push(request.clone());
        }
    }

    fn said(&mut self, speaker: &Speaker, text: &str) {
        if matches!(speaker, Speaker::Runtime | Speaker::Outside { .. }) {
            return;
        }
        if matches!(speaker, Speaker::Person { .. }) {
            self.question = None;
        }
        let said = (speaker.clone(), text.to_owned());
        if self.begun {
            self.later.push_back(said);
            if self.later.len() > LATER_MESSAGES {
                self.later.pop_front();
            }
        } else {
            self.task.push(said);
        }
    }

    /// Other words for something that was said, or none any more.
    pub(crate) fn reword(&mut self, before: &str, now: Option<&str>) {
        let is_it = |said: &(Speaker, String)| said.1 == before;
        match now {
            Some(now) => {
                let mut all = self.task.iter_mut().chain(&mut self.later);
                if let Some(said) = all.find(|said| is_it(said)) {
                    now.clone_into(&mut said.1);
                }
            }
            None => {
                self.task.retain(|said| !is_it(said));
                self.later.retain(|said| !is_it(said));
            }
        }
    }

    /// What was handed over is kept in its own form, whatever its message said.
    fn received(&mut self, hand_over: &HandOver) {
        match hand_over {
            HandOver::Task(task) => self.plan = Some(label::escaped(&plan_lines(&task.plan))),
            HandOver::Verdict { verdict, .. } => {
                let findings = verdict.findings.iter().map(finding_line);
                let findings: Vec<String> = findings.collect();
                self.findings = label::escaped(&findings.join("\n"));
            }
            _ => {}
        }
    }

    fn did(&mut self, call: &ToolCall, result: &str) {
        match call.name.as_str() {
            CHECKLIST => self.checklist = Some(label::escaped(result)),
            PLAN => self.plan = Some(arguments(call)),
            QUESTION => self.question = Some(arguments(call)),
            _ => {
                if let Some(path) = call.arguments.get("path").and_then(Value::as_str) {
                    self.files.retain(|file| *file != label::escaped(path));
                    self.files.push(label::escaped(path));
                }
            }
        }
    }

    /// Everything kept, within about so many bytes.
    pub(crate) fn render(&self, bytes: usize) -> String {
        let share = |per_cent: usize| bytes * per_cent / 100;
        let task = whole(&self.task, share(35));
        let later = newest(&self.later, share(25));
        let files = self.files.iter().rev().take(FILES).rev();
        let files: Vec<&str> = files.map(String::as_str).collect();
        let receipt = self.receipt.as_ref().map(receipt_lines);
        let cards: Vec<&str> = self.cards.iter().map(RequestId::as_str).collect();
        let short = |text: &str, per_cent: usize| clip(text, share(per_cent));
        let part = |text: &Option<String>, per_cent: usize| {
            text.as_deref().map(|text| short(text, per_cent))
        };
        let sections = [
            ("Where you are", Some(short(&self.overview, 8))),
            ("The task", Some(task)),
            ("The plan", part(&self.plan, 15)),
            (
                "Findings of the last review",
                Some(short(&self.findings, 15)),
            ),
            ("Said since then, newest last", later),
            ("The checklist", part(&self.checklist, 10)),
            ("Files changed so far", Some(short(&files.join("\n"), 8))),
            ("The last run of the checks", part(&receipt, 4)),
            ("Asked and not answered", part(&self.question, 3)),
            (
                "Cards that nobody has decided about",
                Some(cards.join(", ")),
            ),
        ];
        let filled = sections
            .into_iter()
            .filter_map(|(title, text)| Some((title, text.filter(|text| !text.is_empty())?)));
        let parts: Vec<String> = filled
            .map(|(title, text)| format!("## {title}\n{text}"))
            .collect();
        parts.join("\n\n")
    }
}

fn is_kept(tool: &str) -> bool {
    [CHECKLIST, PLAN, QUESTION].contains(&tool) || WRITING.contains(&tool)
}

fn arguments(call: &ToolCall) -> String {
    label::escaped(&serde_json::to_string_pretty(&call.arguments).unwrap_or_default())
}

fn plan_lines(plan: &Plan) -> String {
    let steps = (1..).zip(&plan.steps).map(|(number, step)| {
        let place = step.place.as_ref();
        let place = place.map_or_else(String::new, |place| format!(" ({place})"));
        format!("{number}. {}{place}", step.text)
    });
    let mut lines = vec![format!("{}: {}", plan.title, plan.summary)];
    lines.extend(steps);
    lines.extend(
        plan.criteria
            .iter()
            .map(|text| format!("criterion: {text}")),
    );
    lines.join("\n")
}

fn finding_line(finding: &Finding) -> String {
    let (id, place, fix) = (&finding.id, &finding.place, &finding.fix);
    format!("{id} {place}: {} Fix: {fix}", finding.evidence)
}

fn receipt_lines(receipt: &Receipt) -> String {
    let line = |check: &CheckRun| {
        let killed = || "killed".to_owned();
        let end = check
            .exit_code
            .map_or_else(killed, |code| format!("exit {code}"));
        format!("{}: {} ({end})", check.name, check.command)
    };
    let mut lines: Vec<String> = receipt.checks.iter().map(line).collect();
    lines.push(format!("on tree {}", receipt.tree));
    lines.join("\n")
}

/// All messages, each with its share of the room; labels are never cut.
fn whole(messages: &[(Speaker, String)], bytes: usize) -> String {
    let room = bytes / messages.len().max(1);
    let parts: Vec<String> = messages
        .iter()
        .map(|(speaker, text)| label::spoken(speaker, &clip(text, room)))
        .collect();
    parts.join("\n")
}

/// The newest messages that fit, oldest of them first; nothing when there are none.
fn newest(messages: &VecDeque<(Speaker, String)>, bytes: usize) -> Option<String> {
    let mut left = bytes;
    let mut kept = Vec::new();
    for (speaker, text) in messages.iter().rev() {
        // One long message must not push all the others out.
        let text = clip(text, bytes / 3);
        if text.len() > left {
            break;
        }
        left -= text.len();
        kept.push(label::spoken(speaker, &text));
    }
    kept.reverse();
    (!kept.is_empty()).then(|| kept.join("\n"))
}

/// The text, or its beginning and its end when it is longer than `bytes`.
pub(crate) fn clip(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(bytes * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - bytes / 3);
    let left_out = tail - head;
    format!(
        "{}\n[… {left_out} bytes left out …]\n{}",
        &text[..head],
        &text[tail..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_works_is_kept_and_is_no_part_of_the_task() {
        let mut pins = Pins::default();
        pins.push(&Record::User {
            event: Some(EventId::overview()),
            ts: None,
            speaker: Speaker::Runtime,
            text: "- checks, all run by RunChecks: test `make test`".to_owned(),
            images: Vec::new(),
        });
        let kept = pins.render(10_000);
        assert_eq!(
            kept,
            "## Where you are\n- checks, all run by RunChecks: test `make test`"
        );
    }
}
