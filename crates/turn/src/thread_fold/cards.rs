//! The cards that a role asked for, and what people decided.

use std::collections::{HashMap, HashSet};

use butler_protocol::{
    Choice, DecisionKind, EventKind, HandOver, MapChange, MergeBlock, MessageTs, Plan, Proposal,
    Record, RequestId, Sha256Hex, Subject, ToolCall,
};
use serde_json::Value;

/// Cards and decisions of one log.
#[derive(Debug, Clone, Default)]
pub struct Cards {
    /// Cards that this role asked for.
    pub asked: HashMap<RequestId, Asked>,
    /// What was decided, in order: when, about which card, and what.
    pub choices: Vec<(i64, RequestId, Choice)>,
    /// The merge that a person ordered and the forge refused.
    pub refused: Option<Refused>,
    /// Accepted learnings that a merge carries, or a card of their own.
    carried: HashMap<Sha256Hex, RequestId>,
    /// Cards of which the role was told that they are decided.
    decided: HashSet<RequestId>,
    /// The calls of the last answer that have no result: one of them may ask.
    calls: Vec<ToolCall>,
    /// The plans that were proposed, in order.
    plans: Vec<RequestId>,
    /// Project maps that roles have sent and no card shows yet, one per file.
    pub maps: Vec<MapChange>,
    /// What the model wrote beside its last calls: its reason for them.
    pub beside: Option<String>,
}

/// A card that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The hash of what would happen.
    pub sha256: Sha256Hex,
    /// The thing itself.
    pub subject: Subject,
    /// What came of it, once that was taken up.
    pub used: Option<Choice>,
    /// The call that waits for it.
    pub call: Option<ToolCall>,
    /// Whether that call was begun, and what its tool left to find out how far it got.
    pub begun: Option<Option<Value>>,
}

impl Asked {
    /// What is being decided.
    pub fn kind(&self) -> DecisionKind {
        self.subject.kind()
    }

    /// Whether it is about a merge of nothing but knowledge.
    pub fn is_knowledge(&self) -> bool {
        matches!(&self.subject, Subject::Merge(merge) if merge.knowledge)
    }
}

/// A merge that a person ordered and the forge refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The card on which it was ordered.
    pub request: RequestId,
    pub block: MergeBlock,
    /// Not before this time, in milliseconds since 1970.
    pub not_before_ms: i64,
    pub message: MessageTs,
}

impl Cards {
    pub(super) fn push(&mut self, at_ms: i64, record: &Record) {
        match record {
            Record::User {
                event: Some(event), ..
            } => {
                match event.kind() {
                    Some(EventKind::Decision(request)) => drop(self.decided.insert(request)),
                    // It is over: what it was need not be carried along.
                    Some(EventKind::Ran(request) | EventKind::Carried(request)) => {
                        let asked = self.asked.get_mut(&request);
                        if let Some(asked) = asked {
                            asked.call = None;
                        }
                    }
                    _ => {}
                }
            }
            Record::DecisionAsked {
                request,
                sha256,
                subject,
                learnings,
            } => {
                let of_call = |call: &&ToolCall| RequestId::of(&call.id) == *request;
                let asked = Asked {
                    call: self.calls.iter().find(of_call).cloned(),
                    begun: None,
                    sha256: sha256.clone(),
                    subject: subject.clone(),
                    // After a crash the click can come before its card.
                    used: self.choice(request),
                };
                if asked.kind() == DecisionKind::Maps {
                    self.maps.clear();
                }
                if asked.kind() == DecisionKind::Plan {
                    self.plans.push(request.clone());
                }
                // More was accepted: the new card takes the place of the one that waited.
                if asked.is_knowledge() {
                    let waits = |one: &Asked| one.is_knowledge() && one.used.is_none();
                    self.asked.retain(|_, one| !waits(one));
                }
                self.asked.insert(request.clone(), asked);
                let carried = learnings.iter().cloned();
                self.carried
                    .extend(carried.map(|sha256| (sha256, request.clone())));
            }
            Record::Received { hand_over, .. } => {
                if let HandOver::Map { change, .. } = &**hand_over {
                    self.maps.retain(|one| one.file != change.file);
                    self.maps.push(change.clone());
                }
            }
            Record::Assistant { text, calls, .. } => {
                self.calls.clone_from(calls);
                self.beside.clone_from(text);
            }
            Record::ToolResult { call, .. } => self.calls.retain(|open| open.id != *call),
            Record::ToolIntent { call, trace, .. } => {
                let waited = |asked: &&mut Asked| {
                    let own = asked.call.as_ref();
                    own.is_some_and(|own| own.id == *call)
                };
                if let Some(asked) = self.asked.values_mut().find(waited) {
                    asked.begun = Some(trace.clone());
                }
            }
            Record::DecisionUsed {
                request, choice, ..
            } => self.use_up(at_ms, request, *choice),
            // A decision that a stop came before closes nothing.
            Record::Withdrawn { request } => {
                self.asked.remove(request);
                self.carried.retain(|_, card| card != request);
            }
            Record::MergeRefused {
                request,
                block,
                not_before_ms,
                message,
            } => {
                self.refused = Some(Refused {
                    request: request.clone(),
                    block: *block,
                    not_before_ms: *not_before_ms,
                    message: message.clone(),
                });
            }
            Record::MergeSettled { request } => {
                self.refused.take_if(|refused| refused.request == *request);
            }
            _ => {}
        }
    }

    fn use_up(&mut self, at_ms: i64, request: &RequestId, choice: Choice) {
        self.choices.push((at_ms, request.clone(), choice));
        if matches!(choice, Choice::Hold | Choice::Close) {
            self.refused = None;
        }
        let Some(asked) = self.asked.get_mut(request) else {
            return;
        };
        asked.used = Some(choice);
        if choice == Choice::Merge && !asked.is_knowledge() {
            let accepted = self.accepted();
            let accepted = accepted.iter().map(Proposal::sha256);
            self.carried
                .extend(accepted.map(|sha256| (sha256, request.clone())));
        }
    }

    /// What was decided about a card, as far as this log knows.
    pub fn choice(&self, request: &RequestId) -> Option<Choice> {
        let mut choices = self.choices.iter().rev();
        let found = choices.find(|(_, card, _)| card == request);
        found.map(|(.., choice)| *choice)
    }

    /// The plan that was proposed before this card.
    pub fn plan_before(&self, request: &RequestId) -> Option<&Plan> {
        let mut earlier = self.plans.iter().rev().filter(|plan| *plan != request);
        earlier.find_map(|plan| match &self.asked.get(plan)?.subject {
            Subject::Plan(plan) => Some(&**plan),
            _ => None,
        })
    }

    pub(super) fn refuses_plan(&self, request: &RequestId, choice: Choice) -> bool {
        let asked = self.asked.get(request);
        matches!(choice, Choice::Modify | Choice::Reject)
            && asked.is_some_and(|asked| asked.kind() == DecisionKind::Plan)
    }

    /// What people accepted to be remembered.
    pub fn accepted(&self) -> Vec<Proposal> {
        let mut accepted: Vec<_> = self
            .asked
            .iter()
            .filter(|(_, asked)| asked.used == Some(Choice::Accept))
            .filter_map(|(request, asked)| {
                let Subject::Learning(proposal) = &asked.subject else {
                    return None;
                };
                let whole = proposal.sha256() == asked.sha256;
                whole.then(|| (request.clone(), (**proposal).clone()))
            })
            .collect();
        accepted.sort_by(|(one, _), (other, _)| one.cmp(other));
        accepted.into_iter().map(|(_, proposal)| proposal).collect()
    }

    /// What was accepted and is neither merged nor on a card of its own.
    pub fn uncarried(&self) -> Vec<Proposal> {
        let mut accepted = self.accepted();
        accepted.retain(|proposal| !self.carried.contains_key(&proposal.sha256()));
        accepted
    }

    /// The accepted learnings that a card carries.
    pub fn carried_by(&self, request: &RequestId) -> Vec<Proposal> {
        let mut accepted = self.accepted();
        accepted.retain(|proposal| self.carried.get(&proposal.sha256()) == Some(request));
        accepted
    }

    /// Cards that nobody has decided about, as far as this log knows.
    pub fn open(&self) -> impl Iterator<Item = (&RequestId, &Asked)> {
        let open = |(request, asked): &(&RequestId, &Asked)| {
            asked.used.is_none() && !self.decided.contains(*request)
        };
        self.asked.iter().filter(open)
    }

    /// The merge card that waits for a person.
    pub fn open_merge(&self) -> Option<RequestId> {
        let waits = |asked: &Asked| asked.kind() == DecisionKind::Merge && asked.used.is_none();
        let mut open = self.asked.iter().filter(|(_, asked)| waits(asked));
        open.next().map(|(request, _)| request.clone())
    }

    /// Whether a person has merged or closed this thread.
    pub fn is_closed(&self) -> bool {
        self.asked.values().any(|asked| {
            asked.kind() == DecisionKind::Merge
                && matches!(asked.used, Some(Choice::Merge | Choice::Close))
        })
    }
}
