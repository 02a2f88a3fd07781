//! The small fast track: a simple plan that went through without friction gets one
//! review pass and the short form of the look back. What counts as friction is
//! read from the logs, not from what a role says of itself.

use std::path::Path;

use butler_journal::{ThreadDir, read};
use butler_protocol::{
    Choice, Complexity, DecisionKind, Ending, Entry, HandOver, Record, Role, Speaker, ThreadId,
};

use crate::{thread::facts::Facts, upkeep::history};

/// How a thread went, as far as its end depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FastTrack {
    /// Whether the approved plan was a simple one.
    pub simple: bool,
    /// What caused friction, one line each.
    pub friction: Vec<String>,
}

impl FastTrack {
    /// What the logs of a thread say.
    pub fn of(threads: &Path, thread: &ThreadId) -> Self {
        let plan = history::plan_of(threads, thread);
        let simple = plan.is_some_and(|plan| plan.complexity == Complexity::Simple);
        let dir = ThreadDir::new(threads, thread);
        let mut friction = Vec::new();
        for role in Role::ALL {
            let log = read(&dir.conversation(role));
            for what in log.iter().flat_map(|log| friction_of(role, &log.entries)) {
                if !friction.contains(&what) {
                    friction.push(what);
                }
            }
        }
        Self { simple, friction }
    }

    /// Whether nobody needs to discuss it.
    pub fn is_quiet(&self) -> bool {
        self.simple && self.friction.is_empty()
    }

    /// What the role that looks back is told; of other plans nothing.
    pub fn note(&self) -> Option<String> {
        if !self.simple {
            return None;
        }
        if self.is_quiet() {
            return Some(
                "Fast track: a simple plan, and there was no friction. The short form is enough: read \
                 the diff, then ProposeMerge with one line of what went well. Other roles are \
                 not asked, unless a person wants that."
                    .to_owned(),
            );
        }
        Some(format!(
            "The plan was simple, but there was friction, so look back in full: {}.",
            self.friction.join("; ")
        ))
    }
}

/// What in one log is friction.
fn friction_of(role: Role, log: &[Entry]) -> Vec<String> {
    let facts = Facts::of(log);
    let mut found = Vec::new();
    let mut at_work = false;
    for entry in log {
        match &entry.record {
            Record::Received { hand_over, .. } => match &**hand_over {
                HandOver::Task(_) => at_work = true,
                HandOver::ReadyForReview { round, .. } => {
                    at_work = true;
                    if *round > 1 {
                        found.push(format!("review round {round}"));
                    }
                }
                _ => {}
            },
            Record::User {
                speaker: Speaker::Person { name, .. },
                ..
            } if at_work => found.push(format!("{name} corrected the {}", role.title())),
            Record::ActivationEnded {
                ending: Ending::Stuck,
                ..
            } => found.push(format!("the {} went in circles", role.title())),
            Record::DecisionAsked {
                kind: DecisionKind::Cap,
                ..
            } => found.push("a cap was reached".to_owned()),
            Record::DecisionUsed {
                request,
                choice: Choice::Modify | Choice::Reject,
                ..
            } => {
                let asked = facts.asked.get(request);
                if asked.is_some_and(|asked| asked.kind == DecisionKind::Plan) {
                    found.push("the first plan was not what was wanted".to_owned());
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn log(records: &[Value]) -> Vec<Entry> {
        let entry = |(seq, record): (usize, &Value)| {
            let line = json!({"seq": seq, "epoch": 1, "at_ms": 0, "record": record});
            serde_json::from_value(line).unwrap()
        };
        (1..).zip(records).map(entry).collect()
    }

    fn ready(round: u32) -> Value {
        json!({"t": "received", "event": format!("E{round}"), "hand_over": {
            "kind": "ready_for_review", "summary": "s", "branch": "codebutler/x",
            "head": "a".repeat(40), "pr": 1, "receipt": null, "round": round}})
    }

    fn person() -> Value {
        json!({"t": "user", "speaker": {"who": "person", "user": "U1", "name": "ana"}, "text": "no"})
    }

    #[test]
    fn friction_is_what_the_logs_show() {
        let request = "abcdef";
        let plan = json!({"t": "decision_asked", "request": request, "kind": "plan",
            "sha256": "0".repeat(64), "subject": {}});
        let used = |choice: &str| {
            json!({"t": "decision_used", "request": request,
            "choice": choice, "person": "U1"})
        };
        let check = |role: Role, records: &[Value], expected: &[&str]| {
            assert_eq!(friction_of(role, &log(records)), expected);
        };
        check(Role::Reviewer, &[ready(1)], &[]);
        check(Role::Reviewer, &[ready(1), ready(2)], &["review round 2"]);
        check(Role::Pm, &[person()], &[]);
        check(
            Role::Reviewer,
            &[ready(1), person()],
            &["ana corrected the Reviewer"],
        );
        check(Role::Pm, &[plan.clone(), used("approve")], &[]);
        check(
            Role::Pm,
            &[plan, used("modify")],
            &["the first plan was not what was wanted"],
        );
        let stuck = json!({"t": "activation_ended", "activation": 1, "ending": {"how": "stuck"}});
        check(Role::Coder, &[stuck], &["the Coder went in circles"]);
    }

    #[test]
    fn only_a_quiet_simple_thread_gets_the_short_form() {
        let fast_track = |simple, friction: &[&str]| FastTrack {
            simple,
            friction: friction.iter().map(|one| (*one).to_owned()).collect(),
        };
        let note = fast_track(true, &[]).note().unwrap();
        assert!(note.contains("short form"), "{note}");
        let note = fast_track(true, &["a cap was reached"]).note().unwrap();
        assert!(note.contains("in full: a cap was reached"), "{note}");
        assert_eq!(fast_track(false, &[]).note(), None);
        assert!(!fast_track(false, &[]).is_quiet());
    }
}
