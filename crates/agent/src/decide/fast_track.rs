//! The small fast track: a simple plan that went through without friction gets one
//! review pass and the short form of the look back. What counts as friction is
//! read from the logs, not from what a role says of itself.

use butler_protocol::{Complexity, Role, ThreadId};
use butler_slack::SlackError;
use butler_turn::Friction;

use crate::{Agent, tell::thread_logs, upkeep::history};

/// How a thread went, as far as its end depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FastTrack {
    /// Whether the approved plan was a simple one.
    pub(crate) simple: bool,
    /// What caused friction, one line each.
    pub(crate) friction: Vec<String>,
}

impl FastTrack {
    /// What the logs of a thread say.
    pub(crate) async fn of(agent: &Agent, thread: &ThreadId) -> Result<Self, SlackError> {
        let plans = agent.poster.control.plans_of(thread).await?;
        let plan = history::plan_of(&plans, thread);
        let mut friction = Vec::new();
        for log in thread_logs::of_thread(agent, thread).await? {
            for what in log.fold.friction.iter().map(|one| told(log.role, one)) {
                if !friction.contains(&what) {
                    friction.push(what);
                }
            }
        }
        Ok(Self {
            simple: plan.is_some_and(|plan| plan.complexity == Complexity::Simple),
            friction,
        })
    }

    /// Whether nobody needs to discuss it.
    pub(crate) fn is_quiet(&self) -> bool {
        self.simple && self.friction.is_empty()
    }

    /// What the role that looks back is told; of other plans nothing. A small model
    /// does not look back: what it would find is not worth a card.
    pub(crate) fn note(&self, small: bool) -> Option<String> {
        if small {
            return Some("Read the diff, then ProposeMerge. No look back is needed.".to_owned());
        }
        if !self.simple && self.friction.is_empty() {
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
        let plan = if self.simple {
            "The plan was simple, but there was friction"
        } else {
            "There was friction"
        };
        Some(format!(
            "{plan}, so look back in full: {}. ReadThread(what: usage) has the figures; \
             ProposeLearnings takes it as `look_back`.",
            self.friction.join("; ")
        ))
    }
}

fn told(role: Role, friction: &Friction) -> String {
    match friction {
        Friction::Round(round) => format!("review round {round}"),
        Friction::Corrected(name) => format!("{name} corrected the {}", role.title()),
        Friction::Stuck => format!("the {} went in circles", role.title()),
        Friction::Cap => "a cap was reached".to_owned(),
        Friction::PlanRefused => "the first plan was not what was wanted".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_quiet_simple_thread_gets_the_short_form() {
        let fast_track = |simple, friction: &[&str]| FastTrack {
            simple,
            friction: friction.iter().map(|one| (*one).to_owned()).collect(),
        };
        let note = fast_track(true, &[]).note(false).unwrap();
        assert!(note.contains("short form"), "{note}");
        let note = fast_track(true, &["a cap was reached"])
            .note(false)
            .unwrap();
        assert!(note.contains("in full: a cap was reached"), "{note}");
        assert_eq!(fast_track(false, &[]).note(false), None);
        let note = fast_track(false, &["review round 2"]).note(false).unwrap();
        assert!(note.contains("in full: review round 2. "), "{note}");
        assert!(!fast_track(false, &[]).is_quiet());
        let small = fast_track(true, &["a cap was reached"]).note(true).unwrap();
        assert!(small.contains("No look back"), "{small}");
    }
}
