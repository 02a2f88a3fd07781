//! What a role's log says about its thread: the one fold that everything else looks
//! at, taken record by record. Gates look here and at the hub, never at what a model
//! claims; status, bill, page, report and fast track are views of it.

pub(crate) mod bill;
pub(crate) mod cards;
pub(crate) mod chosen;
pub(crate) mod progress;
pub(crate) mod pulls;
pub(crate) mod research;
pub(crate) mod review;
pub(crate) mod seen;
pub(crate) mod surface;
pub(crate) mod waste;

use std::collections::{BTreeSet, HashMap};

use butler_policy::host_of;
use butler_protocol::{
    CallId, Ending, Entry, EventId, EventKind, HandOver, MessageTs, Plan, Receipt, Record,
    RequestId, Speaker, Task, UserId, Waiting,
};

use self::{
    bill::RoleBill, cards::Cards, chosen::Choices, progress::Progress, pulls::Pulls,
    research::Questions, review::Review, seen::Seen, surface::Surface,
};
use crate::{
    edits::edited,
    known::{SEARCH, brings_outside},
};

/// What is known.
#[derive(Debug, Clone, Default)]
pub struct ThreadFold {
    /// The person who asked, and their words.
    pub request: Option<Request>,
    /// The plan this role was given, and the card on which it was approved.
    pub task: Option<Box<Task>>,
    /// What the role does now; nothing when it has never been at work here.
    pub doing: Option<Doing>,
    pub bill: RoleBill,
    /// The cards that this role asked for, and what came of them.
    pub cards: Cards,
    /// What was handed over for review, and what the review said.
    pub review: Review,
    /// What people see of the change, and who has looked at it.
    pub surface: Surface,
    /// Questions to the Researcher.
    pub research: Questions,
    /// The model that a person asked for in this thread.
    pub chosen_model: Option<String>,
    /// Where texts from outside came from.
    pub outside: Outside,
    /// The last run of the checks.
    pub receipt: Option<Receipt>,
    /// What happens to its pull request on the forge.
    pub pulls: Pulls,
    /// What it has seen and heard of the thread.
    pub seen: Seen,
    /// Its messages that are edited as things move.
    pub moving: Moving,
    /// Where there was friction, in order.
    pub friction: Vec<Friction>,
    pub chosen: Choices,
}

/// Messages of a role that are edited as things move.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moving {
    /// The one that still tells people their place in the queue.
    pub queued: Option<MessageTs>,
    pub progress: Progress,
}

/// The first words of a person in this thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub ts: Option<MessageTs>,
    pub person: UserId,
    pub name: String,
    /// What they wrote.
    pub words: String,
}

/// What a log says about now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// Between two activations.
    Nothing,
    /// A person stopped it.
    Stopped,
    /// In this turn.
    Working(u32),
    /// Asleep.
    Waiting(Waiting),
}

/// Something that did not go smoothly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Friction {
    /// This review round was needed.
    Round(u32),
    /// This person spoke to the role while it built or reviewed.
    Corrected(String),
    /// The role went in circles.
    Stuck,
    /// A cap was reached.
    Cap,
    /// The plan was not what was wanted.
    PlanRefused,
}

/// Texts from outside that are in a log.
#[derive(Debug, Clone, Default)]
pub struct Outside {
    /// Where the first one came from. It stays in the context, so what it forbids
    /// stays forbidden.
    pub taint: Option<String>,
    /// The issues of the forge that the thread is about.
    pub issues: BTreeSet<u64>,
    /// Hosts of the web that were read here.
    pub read_hosts: Vec<String>,
    /// Hosts that a search named.
    pub found_hosts: Vec<String>,
    /// Calls that bring some, until their results are in: the tool, and the host.
    fetching: HashMap<CallId, (String, Option<String>)>,
}

impl ThreadFold {
    /// Everything a log says.
    pub fn of(log: &[Entry]) -> Self {
        let mut fold = Self::default();
        for entry in log {
            fold.push(entry.at_ms, &entry.record);
        }
        fold
    }

    /// Takes one more line in, written at this time.
    pub(crate) fn push(&mut self, at_ms: i64, record: &Record) {
        self.bill.push(record);
        self.seen.push(at_ms, record);
        self.review.push(record);
        self.surface.push(record);
        self.research.push(record);
        self.pulls.push(record);
        self.note_outside(record);
        self.note_doing(record);
        self.note_friction(record);
        self.cards.push(at_ms, record);
        self.chosen.push(at_ms, record);
        self.moving.progress.push(record);
        if let Some((ts, text)) = edited(record) {
            let request = self.request.as_mut();
            if let (Some(request), Some(text)) =
                (request.filter(|request| request.ts == Some(ts)), text)
            {
                text.clone_into(&mut request.words);
            }
            return;
        }
        if let Record::User {
            event: Some(event), ..
        } = record
            && let Some(EventKind::Issue(number)) = event.kind()
        {
            self.outside.issues.insert(number);
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
            Record::Received { hand_over, .. } => match &**hand_over {
                HandOver::Task(task) => self.task = Some(task.clone()),
                HandOver::Research { from, .. } => self.research.inquirer = Some(*from),
                _ => {}
            },
            Record::Model {
                model,
                asked_for: true,
                ..
            } => self.chosen_model = Some(model.clone()),
            Record::Checked { receipt } => self.receipt = Some(receipt.clone()),
            Record::Queued { message } => self.moving.queued = Some(message.clone()),
            Record::Dequeued => self.moving.queued = None,
            _ => {}
        }
    }

    /// The plan this role was given, and the card on which it was approved.
    pub fn plan(&self) -> Option<(&RequestId, &Plan)> {
        let task = self.task.as_ref()?;
        Some((&task.approval, &task.plan))
    }

    /// What the thread is about, in words: decides which learnings are given
    /// whole. The same for every activation, so that the prompt stays the same.
    pub fn task_words(&self) -> String {
        let mut words = self
            .request
            .as_ref()
            .map_or_else(String::new, |request| request.words.clone());
        if let Some((_, plan)) = self.plan() {
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

    fn note_doing(&mut self, record: &Record) {
        self.doing = Some(match record {
            Record::ActivationStarted { .. } => Doing::Working(1),
            Record::ActivationEnded {
                ending: Ending::Stopped,
                ..
            } => Doing::Stopped,
            Record::ActivationEnded { .. } => Doing::Nothing,
            Record::Assistant { turn, .. } => Doing::Working(*turn),
            Record::Parked { waiting } => Doing::Waiting(waiting.clone()),
            Record::User { .. } if matches!(self.doing, Some(Doing::Waiting(_))) => {
                Doing::Working(1)
            }
            _ => return,
        });
    }

    fn note_friction(&mut self, record: &Record) {
        self.friction.extend(match record {
            Record::Received { hand_over, .. } => match &**hand_over {
                HandOver::ReadyForReview { round, .. } if *round > 1 => {
                    Some(Friction::Round(*round))
                }
                _ => None,
            },
            Record::User {
                speaker: Speaker::Person { name, .. },
                ..
            } if self.task.is_some() || self.review.ready.is_some() => {
                Some(Friction::Corrected(name.clone()))
            }
            Record::ActivationEnded {
                ending: Ending::Stuck,
                ..
            } => Some(Friction::Stuck),
            Record::DecisionAsked { subject, .. } => subject.is_cap().then_some(Friction::Cap),
            Record::DecisionUsed {
                request, choice, ..
            } => self
                .cards
                .refuses_plan(request, *choice)
                .then_some(Friction::PlanRefused),
            _ => None,
        });
    }

    /// A call that waited for a person and brought text from outside then.
    fn brought_by_approval(&mut self, event: &EventId) -> Option<String> {
        let Some(EventKind::Ran(request)) = event.kind() else {
            return None;
        };
        let call = self.cards.asked.get(&request)?.call.as_ref()?;
        let brings = brings_outside(&call.name);
        let host = call.arguments["url"].as_str().and_then(host_of);
        self.outside.read_hosts.extend(host.filter(|_| brings));
        brings.then(|| call.name.clone())
    }

    /// Text from outside enters by a tool that fetches it, by the Researcher,
    /// who does nothing else, or by somebody who is neither of us nor a person.
    fn note_outside(&mut self, record: &Record) {
        let origin = match record {
            Record::Assistant { calls, .. } => {
                let brings = calls.iter().filter(|call| brings_outside(&call.name));
                self.outside.fetching.extend(brings.map(|call| {
                    let host = call.arguments["url"].as_str().and_then(host_of);
                    (call.id.clone(), (call.name.clone(), host))
                }));
                None
            }
            Record::ToolResult { call, outcome } => {
                let brought = self.outside.fetching.remove(call);
                // A failure can bring words from outside too; they are between marks.
                let brings = outcome.ok || outcome.text.contains("<outside-");
                brought.filter(|_| brings).map(|(name, host)| {
                    let found = outcome.text.lines().filter(|_| name == SEARCH);
                    // Only an address begins a line with this.
                    let found = found.filter(|line| line.starts_with("http"));
                    let found = found.filter_map(host_of);
                    self.outside.found_hosts.extend(found);
                    self.outside.read_hosts.extend(host);
                    name
                })
            }
            Record::User {
                speaker: Speaker::Outside { origin },
                ..
            } => Some(origin.clone()),
            Record::User {
                event: Some(event), ..
            } => self.brought_by_approval(event),
            Record::Received { hand_over, .. } => match &**hand_over {
                HandOver::Findings { outside: true, .. } => {
                    Some("the Researcher's findings".to_owned())
                }
                HandOver::FromForge {
                    outside: true, pr, ..
                } => Some(format!("comments on {pr}")),
                HandOver::Research {
                    outside: true,
                    from,
                    ..
                } => Some(format!("the question of the {}", from.title())),
                _ => None,
            },
            _ => None,
        };
        if self.outside.taint.is_none() {
            self.outside.taint = origin;
        }
    }
}

/// Whether a person said or decided something.
pub(crate) fn is_of_person(speaker: &Speaker, event: Option<&EventId>) -> bool {
    let kind = event.and_then(EventId::kind);
    matches!(kind, Some(EventKind::Decision(_) | EventKind::Ran(_)))
        || matches!(speaker, Speaker::Person { .. })
}

#[cfg(test)]
#[path = "thread_fold_tests.rs"]
mod tests;
