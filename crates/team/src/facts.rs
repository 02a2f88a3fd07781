//! What a role's own log says about its thread, gathered line by line. Gates
//! look here and at the hub, never at what a model claims.

use std::collections::{HashMap, HashSet};

use butler_vocab::{
    Choice, CommitSha, DecisionKind, Entry, EventId, HandOver, Plan, PrNumber, Receipt, Record,
    RequestId, Sha256Hex, Speaker, TreeHash, UserId, Verdict,
};
use serde_json::Value;

/// What is known.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The person who asked, and their words.
    pub request: Option<Request>,
    /// The plan this role was given, and the card on which it was approved.
    pub task: Option<(RequestId, Plan)>,
    /// The last run of the checks.
    pub receipt: Option<Receipt>,
    /// What the Reviewer was last asked to read.
    pub ready: Option<Ready>,
    /// What the Reviewer last said.
    pub verdict: Option<(Verdict, PrNumber)>,
    /// Review rounds that were started or answered.
    pub rounds: u32,
    /// Cards that this role asked for.
    pub asked: HashMap<RequestId, Asked>,
    /// Hand-overs without a green receipt that were refused so far.
    pub unverified: u32,
    received: Vec<EventId>,
    /// Cards that were decided, and those that say so.
    decided: HashSet<RequestId>,
    closed: HashSet<RequestId>,
}

/// The first words of a person in this thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Who.
    pub person: UserId,
    /// Their name.
    pub name: String,
    /// What they wrote.
    pub words: String,
}

/// A pull request that waits for review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// Its number.
    pub pr: PrNumber,
    /// The commit to read.
    pub head: CommitSha,
    /// Which round.
    pub round: u32,
    /// The tree its receipt is for, when it has a green one.
    pub checked: Option<TreeHash>,
}

/// A card that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// What is being decided.
    pub kind: DecisionKind,
    /// The hash of what would happen.
    pub sha256: Sha256Hex,
    /// The thing itself.
    pub subject: Value,
    /// What came of it, once that was taken up.
    pub used: Option<Choice>,
}

/// How the refusal of an unverified hand-over begins; counted from the log.
pub const UNVERIFIED: &str = "refused: the checks have not passed on exactly these files";

/// How the key ends under which it is written down that a card shows its decision.
const CLOSED: &str = "-closed";

impl Facts {
    /// Everything a log says.
    pub fn of(log: &[Entry]) -> Self {
        let mut facts = Self::default();
        for entry in log {
            facts.note(&entry.record);
        }
        facts
    }

    /// Takes one more line in.
    pub fn note(&mut self, record: &Record) {
        self.note_card(record);
        match record {
            Record::User {
                speaker: Speaker::Person { user, name },
                text,
                ..
            } if self.request.is_none() => {
                self.request = Some(Request {
                    person: user.clone(),
                    name: name.clone(),
                    words: text.clone(),
                });
            }
            Record::Received { event, hand_over } => {
                self.received.push(event.clone());
                self.received(hand_over);
            }
            Record::Checked { receipt } => self.receipt = Some(receipt.clone()),
            Record::DecisionAsked {
                request,
                kind,
                sha256,
                subject,
            } => {
                self.asked.insert(
                    request.clone(),
                    Asked {
                        kind: *kind,
                        sha256: sha256.clone(),
                        subject: subject.clone(),
                        used: None,
                    },
                );
            }
            Record::DecisionUsed {
                request, choice, ..
            } => {
                if let Some(asked) = self.asked.get_mut(request) {
                    asked.used = Some(*choice);
                }
            }
            Record::ToolResult { outcome, .. } if outcome.text.starts_with(UNVERIFIED) => {
                self.unverified += 1;
            }
            _ => {}
        }
    }

    fn note_card(&mut self, record: &Record) {
        match record {
            Record::User {
                event: Some(event), ..
            } => {
                let decided = event.as_str().strip_prefix("decision:");
                self.decided.extend(decided.map(RequestId::new));
            }
            Record::Posted { idem, .. } => {
                let closed = idem.as_str().strip_suffix(CLOSED);
                let request = closed.and_then(|rest| rest.rsplit_once('-'));
                self.closed
                    .extend(request.map(|(_, request)| RequestId::new(request)));
            }
            _ => {}
        }
    }

    /// Command cards that were decided and still have their buttons.
    pub fn cards_to_close(&self) -> Vec<RequestId> {
        let open = |(request, asked): &(&RequestId, &Asked)| {
            asked.kind == DecisionKind::Command
                && self.decided.contains(*request)
                && !self.closed.contains(*request)
        };
        let found = self.asked.iter().filter(open);
        found.map(|(request, _)| request.clone()).collect()
    }

    /// Whether this hand-over was taken in before.
    pub fn has_received(&self, event: &EventId) -> bool {
        self.received.contains(event)
    }

    fn received(&mut self, hand_over: &HandOver) {
        match hand_over {
            HandOver::Task(task) => {
                self.task = Some((task.approval.clone(), task.plan.clone()));
            }
            HandOver::ReadyForReview {
                head,
                pr,
                receipt,
                round,
                ..
            } => {
                self.rounds = *round;
                self.ready = Some(Ready {
                    pr: *pr,
                    head: head.clone(),
                    round: *round,
                    checked: receipt
                        .as_ref()
                        .filter(|receipt| receipt.green())
                        .map(|receipt| receipt.tree.clone()),
                });
            }
            HandOver::Verdict { verdict, pr } => {
                self.rounds = verdict.round;
                self.verdict = Some((verdict.clone(), *pr));
            }
            HandOver::Design { .. }
            | HandOver::Question { .. }
            | HandOver::Answer { .. }
            | HandOver::Retrospective(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use butler_vocab::{CallId, ToolOutcome};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_person_who_speaks_is_the_one_who_asked() {
        let mut facts = Facts::default();
        for name in ["ana", "ben"] {
            facts.note(&Record::User {
                event: None,
                ts: None,
                speaker: Speaker::Person {
                    user: UserId::new(name),
                    name: name.into(),
                },
                text: format!("{name} speaks"),
                images: vec![],
            });
        }
        assert_eq!(facts.request.unwrap().words, "ana speaks");
    }

    #[test]
    fn a_card_is_used_once_its_decision_was_taken_up() {
        let request = RequestId::new("abc123");
        let mut facts = Facts::default();
        facts.note(&Record::DecisionAsked {
            request: request.clone(),
            kind: DecisionKind::Merge,
            sha256: Sha256Hex::of("x"),
            subject: json!({}),
        });
        assert_eq!(facts.asked[&request].used, None);
        facts.note(&Record::DecisionUsed {
            request: request.clone(),
            choice: Choice::Merge,
            person: UserId::new("U1"),
        });
        assert_eq!(facts.asked[&request].used, Some(Choice::Merge));
    }

    #[test]
    fn refused_hand_overs_are_counted_from_the_log() {
        let mut facts = Facts::default();
        facts.note(&Record::ToolResult {
            call: CallId::new("abcdefghi"),
            outcome: ToolOutcome::error(format!("{UNVERIFIED}; run RunChecks")),
        });
        assert_eq!(facts.unverified, 1);
    }
}
