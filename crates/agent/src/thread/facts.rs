//! What a role's own log says about its thread, gathered line by line. Gates
//! look here and at the hub, never at what a model claims.

use std::collections::{HashMap, HashSet};

use butler_policy::host_of;
use butler_protocol::{
    CallId, Choice, CommitSha, Complexity, DecisionKind, Entry, EventId, Finding, HandOver,
    MessageTs, Plan, PrNumber, Receipt, Record, RequestId, Role, Sha256Hex, Speaker, Task, UserId,
    Verdict,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    decide::{blocked_merge::Refused, files_read::Reading, learnings::Proposal, review::Form},
    tell::{joining::Seen, render},
    thread::inquiry::Inquiry,
};

/// What is known.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The person who asked, and their words.
    pub request: Option<Request>,
    /// The plan this role was given, and the card on which it was approved.
    pub task: Option<(RequestId, Plan)>,
    /// The same with the person's words, for whoever goes on from here.
    pub brief: Option<Box<Task>>,
    /// The last run of the checks.
    pub receipt: Option<Receipt>,
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
    /// Cards that this role asked for.
    pub asked: HashMap<RequestId, Asked>,
    /// Hand-overs without a green receipt that were refused so far.
    pub unverified: u32,
    /// What this role, as the Reviewer, has opened of the change.
    pub reading: Reading,
    /// Approvals of this round that were refused because nothing stood behind them.
    pub hasty: u32,
    /// Questions to the Researcher.
    pub research: Inquiry,
    /// Whether the Researcher answered here.
    pub found: bool,
    /// Who asked the one question that a research log is about.
    pub inquirer: Option<Role>,
    /// The model that a person asked for in this thread.
    pub chosen_model: Option<String>,
    /// Where the first text from outside in this log came from. It stays in the
    /// context, so what it forbids stays forbidden.
    pub taint: Option<String>,
    /// Hosts of the web that were read here.
    pub read_hosts: Vec<String>,
    /// Whether this role was asked to settle a conflict, and has not handed it over.
    pub conflict: bool,
    /// The merge that a person requested and the forge refused.
    pub refused: Option<Refused>,
    /// The place in the hub's log of the last event that came in.
    pub heard: u64,
    /// When a person last spoke or decided, in milliseconds since 1970.
    pub person_spoke_ms: Option<i64>,
    /// What it has seen of the thread.
    pub seen: Seen,
    received: Vec<EventId>,
    /// Calls by their id: the tool, and the host that it asked.
    calls: HashMap<CallId, (String, Option<String>)>,
    /// What was decided. After a crash the click can come before its card.
    used: HashMap<RequestId, Choice>,
    /// Accepted learnings that a merge carries, or a card of their own.
    carried: HashMap<Sha256Hex, RequestId>,
    /// Cards that were decided, and those that say so.
    decided: HashSet<RequestId>,
    closed: HashSet<RequestId>,
    /// The message that still tells people their place in the queue.
    pub queued: Option<MessageTs>,
}

/// The first words of a person in this thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The message.
    pub ts: Option<MessageTs>,
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
    /// The checks of exactly this tree, as the runtime saw them.
    pub receipt: Option<Receipt>,
    /// Whether the plan was a simple one.
    pub simple: bool,
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

impl Asked {
    /// Whether it is about a merge of nothing but knowledge.
    pub fn is_knowledge(&self) -> bool {
        self.subject["merge"]["knowledge"] == Value::Bool(true)
    }
}

/// How the refusal of an unverified hand-over begins; counted from the log.
pub const UNVERIFIED: &str = "refused: the checks have not passed on exactly these files";

/// The same for an approval of what nobody checked or read.
pub const HASTY: &str = "refused: nothing stands behind this approval";

/// How the reason of a model begins that a person asked for.
pub const CHOSEN: &str = "asked for by ";

/// How the key ends under which it is written down that a card shows its decision.
const CLOSED: &str = "-closed";
/// The same for a place in the queue that was told, and for its end.
pub const QUEUED: &str = "-queued";
pub const TURN_CAME: &str = "-turn-came";

impl Facts {
    /// Everything a log says.
    pub fn of(log: &[Entry]) -> Self {
        let mut facts = Self::default();
        for entry in log {
            facts.note(&entry.record);
            if is_of_person(&entry.record) {
                facts.person_spoke_ms = Some(entry.at_ms);
            }
        }
        facts
    }

    /// Takes one more line in.
    pub fn note(&mut self, record: &Record) {
        self.reading.note(record);
        self.note_outside(record);
        self.note_research(record);
        match record {
            Record::User {
                event: Some(event), ..
            }
            | Record::Received { event, .. }
            | Record::Stopped { event, .. } => {
                self.heard = self.heard.max(place(event).unwrap_or(0));
            }
            _ => {}
        }
        match record {
            Record::User { event, ts, .. } => self.seen.note(event.as_ref(), ts.as_ref()),
            Record::Posted { idem, ts } => {
                self.seen.note(None, Some(ts));
                Refused::note(&mut self.refused, idem, ts);
            }
            _ => {}
        }
        self.note_card(record);
        if let Some((ts, Some(text))) = butler_turn::edited(record) {
            let request = self.request.as_mut();
            if let Some(request) = request.filter(|request| request.ts == Some(ts)) {
                text.clone_into(&mut request.words);
            }
            return;
        }
        match record {
            Record::User {
                ts,
                speaker: Speaker::Person { user, name },
                text,
                ..
            } if self.request.is_none() => {
                self.request = Some(Request {
                    ts: ts.clone(),
                    person: user.clone(),
                    name: name.clone(),
                    words: text.clone(),
                });
            }
            Record::Received { event, hand_over } => {
                self.received.push(event.clone());
                self.received(hand_over);
            }
            Record::Gave { hand_over, .. } => self.gave(hand_over),
            Record::Model { model, reason } if reason.starts_with(CHOSEN) => {
                self.chosen_model = Some(model.clone());
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
                        used: self.used.get(request).copied(),
                    },
                );
                let learnings = Vec::<Sha256Hex>::deserialize(&subject["learnings"]);
                let learnings = learnings.unwrap_or_default().into_iter();
                self.carried
                    .extend(learnings.map(|sha256| (sha256, request.clone())));
            }
            Record::DecisionUsed {
                request, choice, ..
            } => {
                self.used.insert(request.clone(), *choice);
                if matches!(choice, Choice::Hold | Choice::Close) {
                    self.refused = None;
                }
                let asked = self.asked.get_mut(request);
                let merges = asked.is_some_and(|asked| {
                    asked.used = Some(*choice);
                    *choice == Choice::Merge && !asked.is_knowledge()
                });
                if merges {
                    let accepted = self.accepted();
                    let accepted = accepted.iter().map(Proposal::sha256);
                    self.carried
                        .extend(accepted.map(|sha256| (sha256, request.clone())));
                }
            }
            Record::ToolResult { outcome, .. } if outcome.text.starts_with(UNVERIFIED) => {
                self.unverified += 1;
            }
            Record::ToolResult { outcome, .. } if outcome.text.starts_with(HASTY) => {
                self.hasty += 1;
            }
            _ => {}
        }
    }

    /// What the thread is about, in words: decides which learnings are given
    /// whole. The same for every activation, so that the prompt stays the same.
    pub fn task_words(&self) -> String {
        let mut words = self
            .request
            .as_ref()
            .map_or_else(String::new, |request| request.words.clone());
        if let Some((_, plan)) = &self.task {
            let steps = plan
                .steps
                .iter()
                .flat_map(|step| [Some(step.text.as_str()), step.place.as_deref()]);
            let parts = [plan.title.as_str(), &plan.summary]
                .into_iter()
                .chain(steps.flatten());
            for part in parts.chain(plan.files.iter().map(String::as_str)) {
                words.push('\n');
                words.push_str(part);
            }
        }
        words
    }

    fn note_research(&mut self, record: &Record) {
        match record {
            Record::Assistant { calls, .. } => self.research.asked(calls),
            Record::ToolResult { call, outcome } => self.research.result(call, outcome),
            Record::User {
                event: Some(event), ..
            } => self.research.told(event),
            Record::Received { event, hand_over } => {
                if let HandOver::Findings { request, .. } = &**hand_over {
                    self.found = true;
                    self.research
                        .answered(event, request, render::briefing(hand_over));
                }
            }
            _ => {}
        }
    }

    fn note_card(&mut self, record: &Record) {
        match record {
            Record::User {
                event: Some(event),
                text,
                ..
            } => {
                let decided = event.as_str().strip_prefix("decision:");
                self.decided.extend(decided.map(RequestId::new));
                // A decision that a stop came before closes nothing.
                let outcome = event.as_str().strip_prefix("carried:");
                if let Some(request) = outcome.filter(|_| butler_turn::is_withdrawn(text)) {
                    let request = RequestId::new(request);
                    self.asked.remove(&request);
                    self.carried.retain(|_, card| *card != request);
                }
            }
            Record::Posted { idem, ts } if idem.as_str().ends_with(QUEUED) => {
                self.queued = Some(ts.clone());
            }
            Record::Posted { idem, .. } if idem.as_str().ends_with(TURN_CAME) => self.queued = None,
            Record::Posted { idem, .. } => {
                let closed = idem.as_str().strip_suffix(CLOSED);
                let request = closed.and_then(|rest| rest.rsplit_once('-'));
                self.closed
                    .extend(request.map(|(_, request)| RequestId::new(request)));
            }
            _ => {}
        }
    }

    /// Text from outside enters by a tool that fetches it, by the Researcher,
    /// who does nothing else, or by somebody who is neither of us nor a person.
    fn note_outside(&mut self, record: &Record) {
        let origin = match record {
            Record::Assistant { calls, .. } => {
                self.calls.extend(calls.iter().map(|call| {
                    let host = call.arguments["url"].as_str().and_then(host_of);
                    (call.id.clone(), (call.name.clone(), host))
                }));
                None
            }
            Record::ToolResult { call, outcome } if outcome.ok => {
                let brought = self.calls.get(call);
                brought
                    .filter(|(name, _)| butler_tools::taints(name))
                    .map(|(name, host)| {
                        self.read_hosts.extend(host.clone());
                        name.clone()
                    })
            }
            Record::User {
                speaker: Speaker::Outside { origin },
                ..
            } => Some(origin.clone()),
            Record::Received { hand_over, .. } => match &**hand_over {
                HandOver::Findings { outside: true, .. } => {
                    Some("the Researcher's findings".to_owned())
                }
                HandOver::Research {
                    outside: true,
                    from,
                    ..
                } => Some(format!("the question of the {}", from.title())),
                _ => None,
            },
            _ => None,
        };
        if self.taint.is_none() {
            self.taint = origin;
        }
    }

    /// What people accepted to be remembered.
    pub fn accepted(&self) -> Vec<Proposal> {
        let mut accepted: Vec<_> = self
            .asked
            .iter()
            .filter(|(_, asked)| {
                asked.kind == DecisionKind::Learning && asked.used == Some(Choice::Accept)
            })
            .filter_map(|(request, asked)| {
                let proposal = Proposal::deserialize(&asked.subject["learning"]).ok()?;
                (proposal.sha256() == asked.sha256).then_some((request.clone(), proposal))
            })
            .collect();
        accepted.sort_by(|(one, _), (other, _)| one.cmp(other));
        accepted.into_iter().map(|(_, proposal)| proposal).collect()
    }

    /// Whether the risks that are known were said in this round.
    pub fn risks_hold(&self, round: u32) -> bool {
        self.risks_round == round
    }

    /// What was accepted and is neither merged nor on a card of its own.
    pub fn uncarried(&self) -> Vec<Proposal> {
        let mut accepted = self.accepted();
        accepted.retain(|proposal| !self.carried.contains_key(&proposal.sha256()));
        accepted
    }

    /// Cards that nobody has decided about, as far as this log knows.
    pub fn open_cards(&self) -> impl Iterator<Item = (&RequestId, &Asked)> {
        let open = |(request, asked): &(&RequestId, &Asked)| {
            asked.used.is_none() && !self.decided.contains(*request)
        };
        self.asked.iter().filter(open)
    }

    /// The merge card that waits for a person.
    pub fn open_merge(&self) -> Option<RequestId> {
        let mut open = self
            .asked
            .iter()
            .filter(|(_, asked)| asked.kind == DecisionKind::Merge && asked.used.is_none());
        open.next().map(|(request, _)| request.clone())
    }

    /// Whether a person has merged or closed this thread.
    pub fn is_closed(&self) -> bool {
        self.asked.values().any(|asked| {
            asked.kind == DecisionKind::Merge
                && matches!(asked.used, Some(Choice::Merge | Choice::Close))
        })
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

    /// What the Reviewer has said of a change holds for its next rounds too.
    fn gave(&mut self, hand_over: &HandOver) {
        match hand_over {
            HandOver::ReadyForReview { .. } => self.conflict = false,
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
                for finding in &verdict.findings {
                    self.findings.retain(|known| known.id != finding.id);
                    self.findings.push(finding.clone());
                }
            }
            _ => {}
        }
    }

    fn received(&mut self, hand_over: &HandOver) {
        match hand_over {
            HandOver::Task(task) => {
                self.task = Some((task.approval.clone(), task.plan.clone()));
                self.brief = Some(task.clone());
            }
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
                self.reading.begin(head);
                self.ready = Some(Ready {
                    pr: *pr,
                    head: head.clone(),
                    round: *round,
                    receipt: receipt.clone(),
                    simple: task
                        .as_ref()
                        .is_some_and(|task| task.plan.complexity == Complexity::Simple),
                });
            }
            HandOver::Verdict { verdict, pr } => {
                self.rounds = verdict.round;
                self.verdict = Some((verdict.clone(), *pr));
            }
            HandOver::Conflict { .. } => self.conflict = true,
            HandOver::Research { from, .. } => self.inquirer = Some(*from),
            HandOver::Findings { .. }
            | HandOver::ReviewPlan(_)
            | HandOver::Design { .. }
            | HandOver::Question { .. }
            | HandOver::Answer { .. }
            | HandOver::Retrospective(_) => {}
        }
    }
}

/// The place of an event in the hub's log, which every event of a message, a
/// press or a stop ends with.
fn place(event: &EventId) -> Option<u64> {
    event.as_str().rsplit(['S', '-']).next()?.parse().ok()
}

/// Whether a person said or decided something.
fn is_of_person(record: &Record) -> bool {
    match record {
        Record::User { speaker, event, .. } => {
            let decided = event
                .as_ref()
                .is_some_and(|event| event.as_str().starts_with("decision:"));
            decided || matches!(speaker, Speaker::Person { .. })
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod tests;
