//! What was handed over for review, what the Reviewer opened, and what it said.

use std::collections::HashMap;

use butler_protocol::{
    CallId, CommitSha, Complexity, EventKind, Finding, HandOver, PlannedTest, PrNumber, Receipt,
    Record, RefusedFor, ReviewPlan, Risk, ToolCall, Verdict,
};

use super::surface::keep_newest;

/// A change under review, as one log knows it.
#[derive(Debug, Clone, Default)]
pub struct Review {
    /// What the Reviewer was last asked to read.
    pub ready: Option<Ready>,
    /// What the Reviewer last said.
    pub verdict: Option<(Verdict, PrNumber)>,
    /// What this role, as the Reviewer, judges by: said before the verdict or with it.
    pub form: Option<Form>,
    /// The round in which its risks were last said.
    risks_round: u32,
    /// Whether it was said before, as a first pass.
    pub first_pass: bool,
    /// Its findings so far, each as it was last said.
    pub findings: Vec<Finding>,
    /// Review rounds that were started or answered.
    pub rounds: u32,
    /// What this role, as the Reviewer, has opened of the change.
    pub reading: Reading,
    /// Approvals of this round that were refused because nothing stood behind them.
    pub hasty: u32,
    /// Hand-overs without a green receipt that were refused so far.
    pub unverified: u32,
    /// Whether another role put a question to this one since the verdict.
    pub asked_since: bool,
}

/// A pull request that waits for review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    pub pr: PrNumber,
    /// The commit to read.
    pub head: CommitSha,
    pub round: u32,
    /// The checks of exactly this tree, as the runtime saw them.
    pub receipt: Option<Receipt>,
    /// Whether the plan was a simple one.
    pub simple: bool,
}

/// What a change is judged by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Form {
    /// What must always hold.
    pub invariants: Vec<String>,
    pub risks: Vec<Risk>,
    pub tests: Vec<PlannedTest>,
}

impl Form {
    /// Fills what was not said again from what was said before.
    #[must_use]
    pub fn or(self, before: Option<&Form>) -> Self {
        fn or<T: Clone>(said: Vec<T>, before: &[T]) -> Vec<T> {
            let silent = said.is_empty();
            if silent { before.to_vec() } else { said }
        }
        let Some(before) = before else {
            return self;
        };
        Self {
            invariants: or(self.invariants, &before.invariants),
            risks: or(self.risks, &before.risks),
            tests: or(self.tests, &before.tests),
        }
    }
}

impl From<&ReviewPlan> for Form {
    fn from(plan: &ReviewPlan) -> Self {
        Self {
            invariants: plan.invariants.clone(),
            risks: plan.risks.clone(),
            tests: plan.tests.clone(),
        }
    }
}

impl From<&Verdict> for Form {
    fn from(verdict: &Verdict) -> Self {
        Self {
            invariants: verdict.invariants.clone(),
            risks: verdict.risks.clone(),
            tests: verdict.tests.clone(),
        }
    }
}

impl Review {
    pub(super) fn push(&mut self, record: &Record) {
        self.reading.push(record);
        match record {
            Record::Received { hand_over, .. } => self.received(hand_over),
            Record::Gave { hand_over, .. } => self.gave(hand_over),
            Record::ToolResult { outcome, .. } => {
                self.hasty += u32::from(outcome.refused_for == Some(RefusedFor::Hasty));
                self.unverified += u32::from(outcome.refused_for == Some(RefusedFor::Unverified));
            }
            _ => {}
        }
    }

    /// Whether the risks that are known were said in this round.
    pub fn risks_hold(&self, round: u32) -> bool {
        self.risks_round == round
    }

    fn received(&mut self, hand_over: &HandOver) {
        match hand_over {
            HandOver::ReadyForReview {
                head,
                pr,
                receipt,
                round,
                task,
                ..
            } => {
                self.rounds = *round;
                self.hasty = 0;
                self.reading.head = Some(head.clone());
                self.ready = Some(Ready {
                    pr: *pr,
                    head: head.clone(),
                    round: *round,
                    receipt: receipt.clone(),
                    simple: matches!(task, Some(task) if task.plan.complexity == Complexity::Simple),
                });
            }
            HandOver::Verdict { verdict, pr } => {
                self.rounds = verdict.round;
                self.verdict = Some((verdict.clone(), *pr));
                self.asked_since = false;
            }
            HandOver::Question { .. } => self.asked_since = true,
            _ => {}
        }
    }

    /// What the Reviewer has said of a change holds for its next rounds too.
    fn gave(&mut self, hand_over: &HandOver) {
        match hand_over {
            HandOver::ReviewPlan(plan) => {
                self.form = Some(Form::from(&**plan));
                self.risks_round = plan.round;
                self.first_pass = true;
            }
            HandOver::Verdict { verdict, .. } => {
                if !verdict.risks.is_empty() {
                    self.risks_round = verdict.round;
                }
                self.form = Some(Form::from(verdict).or(self.form.as_ref()));
                keep_newest(&mut self.findings, &verdict.findings);
            }
            _ => {}
        }
    }
}

/// Which changed files were opened, and at which head: what a verdict rests on,
/// whatever the verdict says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// From here on this head is read.
    head: Option<CommitSha>,
    opened: HashMap<String, CommitSha>,
    /// Heads whose change stood in a hand-over, oldest first.
    given: Vec<CommitSha>,
    /// Calls that show files, until their results are in.
    looks: HashMap<CallId, Option<String>>,
}

impl Reading {
    fn push(&mut self, record: &Record) {
        match record {
            Record::Assistant { calls, .. } => {
                let looks = calls.iter().filter_map(look);
                self.looks.extend(looks);
            }
            Record::User {
                event: Some(event),
                text,
                ..
            } => {
                if let Some(EventKind::Change(head)) = event.kind() {
                    self.given(&head, text);
                }
            }
            Record::ToolResult { call, outcome } => {
                let look = self.looks.remove(call);
                match look.filter(|_| outcome.ok) {
                    Some(Some(path)) => self.open(&path),
                    Some(None) => shown(&outcome.text).for_each(|path| self.open(path)),
                    None => {}
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, path: &str) {
        if let Some(head) = &self.head {
            let path = path.trim_start_matches("./").to_owned();
            self.opened.insert(path, head.clone());
        }
    }

    /// What stands whole in a hand-over is read. What is only new since the last
    /// round is, where the rest was read before.
    fn given(&mut self, head: &CommitSha, text: &str) {
        let first = self.given.is_empty() || self.given.contains(head);
        for path in shown(text) {
            if first || self.opened.contains_key(path) || is_new(text, path) {
                self.opened.insert(path.to_owned(), head.clone());
            }
        }
        if !self.given.contains(head) {
            self.given.push(head.clone());
        }
    }

    /// The head of the round before this one, when that change was given.
    pub fn given_before(&self, head: &CommitSha) -> Option<&CommitSha> {
        self.given.iter().rev().find(|given| *given != head)
    }

    /// At which head a file was opened last.
    pub fn opened_at(&self, path: &str) -> Option<&CommitSha> {
        self.opened.get(path)
    }

    /// Heads of earlier rounds at which something was opened.
    pub fn earlier(&self) -> Vec<CommitSha> {
        let mut heads: Vec<CommitSha> = self.opened.values().cloned().collect();
        heads.retain(|head| self.head.as_ref() != Some(head));
        heads.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        heads.dedup();
        heads
    }
}

/// What a call will show: one file, or (`None`) whatever its result holds.
fn look(call: &ToolCall) -> Option<(CallId, Option<String>)> {
    let text = |name: &str| call.arguments[name].as_str().map(str::to_owned);
    let looks = match call.name.as_str() {
        "Read" => Some(text("path")?),
        "GitDiff" if call.arguments["summary"] == true => return None,
        "GitDiff" => None,
        _ => return None,
    };
    Some((call.id.clone(), looks))
}

/// Whether a diff makes a file.
fn is_new(diff: &str, path: &str) -> bool {
    let head = format!("diff --git a/{path} b/{path}");
    let mut lines = diff.lines().skip_while(|line| *line != head);
    lines
        .nth(1)
        .is_some_and(|line| line.starts_with("new file"))
}

/// The files whose hunks stand in a diff as it was shown.
fn shown(diff: &str) -> impl Iterator<Item = &str> {
    diff.lines().filter_map(|line| {
        // `a/x b/x`: both names are the same, so the second half is the name.
        let (_, name) = line.strip_prefix("diff --git a/")?.split_once(" b/")?;
        Some(name)
    })
}

#[cfg(test)]
mod tests {
    use butler_protocol::ToolOutcome;
    use serde_json::{Value, json};

    use super::*;

    fn call(name: &str, arguments: &Value) -> ToolCall {
        serde_json::from_value(json!({"id": format!("call-{name}"), "name": name,
            "arguments": arguments}))
        .unwrap()
    }

    fn after(name: &str, arguments: &Value, outcome: ToolOutcome) -> Reading {
        let mut reading = Reading {
            head: Some(CommitSha::new("h1")),
            ..Reading::default()
        };
        let call = call(name, arguments);
        let usage = json!({"input": 1, "cached_input": 0, "cache_write": 0, "output": 1,
            "reasoning": 0});
        let said = json!({"t": "assistant", "turn": 1, "calls": [call], "model": "m",
            "usage": usage});
        reading.push(&serde_json::from_value(said).unwrap());
        reading.push(&Record::ToolResult {
            call: call.id,
            outcome,
        });
        reading
    }

    #[test]
    fn a_file_is_open_when_it_was_shown_and_not_when_that_failed() {
        let read = |outcome| after("Read", &json!({"path": "./a.sh"}), outcome);
        let head = CommitSha::new("h1");
        assert_eq!(read(ToolOutcome::ok("1 x")).opened_at("a.sh"), Some(&head));
        assert_eq!(read(ToolOutcome::error("no")).opened_at("a.sh"), None);
        assert_eq!(read(ToolOutcome::ok("1 x")).opened_at("b.sh"), None);
    }

    #[test]
    fn a_diff_opens_the_files_whose_hunks_it_shows() {
        let diff = "2 files, +2 -0\na.sh +1 -0\nb c.sh +1 -0\n\n\
            diff --git a/a.sh b/a.sh\n+x\ndiff --git a/b c.sh b/b c.sh\n+y\n";
        let reading = after("GitDiff", &json!({}), ToolOutcome::ok(diff));
        assert!(reading.opened_at("a.sh").is_some());
        assert!(reading.opened_at("b c.sh").is_some());
        let listed = after("GitDiff", &json!({"summary": true}), ToolOutcome::ok(diff));
        assert_eq!(
            listed.opened_at("a.sh"),
            None,
            "a list of names is no reading"
        );
    }
}
