//! Everything the machine knows, as a pure function of the log.
//!
//! The same reducer runs when a log is read back and when the machine writes a
//! new line, so a restart cannot know more or less than the run before it did.

use std::collections::{HashMap, HashSet};

use butler_protocol::{
    Choice, DecisionKind, Ending, EventId, EventKind, HandOver, Idem, MessageTs, Record, RequestId,
    ReserveId, Role, Speaker, ToolCall, Usd, UserId, Waiting,
};

use crate::{
    Order, Settle,
    asking::reply,
    edits::edited,
    fold::{Talk, pins::Pins, round::Round},
    thread_fold::{ThreadFold, is_of_person},
};

/// What the log says.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The number of the next line.
    pub(crate) next_seq: u64,
    pub(crate) talk: Talk,
    /// What the log says about the thread, for everybody else.
    pub(crate) thread: ThreadFold,
    pub(crate) inbox: Inbox,
    /// The last activation, and whether it is still going on.
    pub(crate) activation: u32,
    pub(crate) open: bool,
    /// Messages of people that the last activation answered.
    pub(crate) answered: Vec<MessageTs>,
    /// The last ending asks for a new word before anything starts again.
    pub(crate) hold: bool,
    /// A person ended the last activation: nothing goes on without their word.
    pub(crate) stopped: bool,
    pub(crate) round: Round,
    pub(crate) books: Books,
    pub(crate) decisions: Decisions,
    /// What must survive a summary.
    pub(crate) pins: Pins,
    pub(crate) posted: HashSet<Idem>,
    /// Messages from other roles since a person last spoke.
    pub(crate) agent_words: u32,
    /// How often a person has spoken.
    pub(crate) person_words: u32,
}

/// What was said to this role.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    pub(crate) heard: HashSet<EventId>,
    /// Not yet in a request that was answered.
    pub(crate) unseen: Vec<Unseen>,
    /// How many of these were in the last request.
    in_request: usize,
    /// The last question of a colleague, by its message.
    question: Option<EventId>,
}

/// The money of this role's calls.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// Reserved and not settled.
    pub(crate) unsettled: Vec<(ReserveId, Usd)>,
    settled: HashSet<ReserveId>,
    /// The last settlement, and whether it is the last line: then the hub may
    /// not have heard of it.
    pub(crate) last_settle: Option<Settle>,
    pub(crate) ends_settled: bool,
}

/// What people were asked, and what they chose.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    /// Cards that were asked for.
    cards: HashMap<RequestId, DecisionKind>,
    /// What people decided. A click may be in the log before its card is: a
    /// crash can come between posting the card and writing it down.
    pub(crate) used: HashMap<RequestId, (Choice, UserId)>,
    /// Decisions to carry out without a model call, oldest first.
    pub(crate) orders: Vec<Order>,
    /// Decisions that were carried out.
    carried: HashSet<RequestId>,
    /// Of these, clicks on learnings: the model need not hear of them by themselves.
    learned: HashSet<RequestId>,
}

/// A message that waits to be seen by the model.
#[derive(Debug, Clone)]
pub(crate) struct Unseen {
    pub(crate) event: Option<EventId>,
    pub(crate) ts: Option<MessageTs>,
    pub(crate) text: String,
    pub(crate) person: bool,
    /// The colleague who said it.
    role: Option<Role>,
    /// It is a question of theirs, for which they wait.
    asks_back: bool,
}

impl Unseen {
    /// What is left to sleep for after this: the other answers, where it is one.
    fn leaves(&self, waiting: Waiting) -> Option<Waiting> {
        let role = self.role.filter(|_| !self.asks_back)?;
        match waiting {
            Waiting::Replies {
                deadline_ms,
                mut from,
            } if from.contains(&role) => {
                from.retain(|one| *one != role);
                (!from.is_empty()).then_some(Waiting::Replies { deadline_ms, from })
            }
            _ => None,
        }
    }

    fn is_one_of(&self, events: &HashSet<EventId>) -> bool {
        let event = self.event.as_ref();
        event.is_some_and(|event| events.contains(event))
    }
}

/// Which decisions the runtime carries out by itself: all but those about money.
fn is_order(kind: DecisionKind, choice: Choice) -> bool {
    kind != DecisionKind::Cap && kind.choices().contains(&choice)
}

/// Under which these decisions, and what came of them, enter a log.
fn events_of(requests: &HashSet<RequestId>) -> HashSet<EventId> {
    let both = |request| [EventId::decision(request), EventId::carried(request)];
    requests.iter().flat_map(both).collect()
}

impl State {
    /// An empty log.
    pub(crate) fn new() -> Self {
        Self {
            next_seq: 1,
            ..Self::default()
        }
    }

    /// Takes the line with number `seq`, written at this time.
    pub(crate) fn apply(&mut self, seq: u64, at_ms: i64, record: &Record) {
        self.next_seq = seq + 1;
        self.talk.push(seq, record);
        self.thread.push(at_ms, record);
        self.books.ends_settled = matches!(record, Record::Settled { .. });
        if let Some((ts, text)) = edited(record) {
            return self.edit(record, &ts, text);
        }
        self.pins.push(record);
        match record {
            Record::ActivationStarted { activation } => {
                self.activation = *activation;
                self.answered.clear();
                self.open = true;
            }
            Record::ActivationEnded { ending, .. } => self.ended(ending),
            Record::User { .. } => self.said(record),
            Record::Assistant { .. } => self.answered(record),
            Record::ToolIntent {
                call, crash, trace, ..
            } => self.round.intent(call, *crash, trace.as_ref()),
            Record::ToolResult { call, outcome } => self.round.result(call, outcome),
            Record::Parked { waiting } => {
                self.round.park(waiting);
                // Nobody decides twice: that sleep would have no end.
                if matches!(waiting, Waiting::Decision { request } if self.decisions.used.contains_key(request))
                {
                    self.round.waiting = None;
                }
                self.forget_carried();
            }
            Record::DecisionAsked {
                request, subject, ..
            } => self.asked(request, subject.kind()),
            Record::DecisionUsed {
                request,
                choice,
                person,
            } => self.decided(request, *choice, person),
            Record::Reserved { reserve, amount } => {
                self.books.unsettled.push((reserve.clone(), *amount));
                self.inbox.in_request = self.inbox.unseen.len();
                self.round.since.attempts += 1;
            }
            Record::Settled { .. } => self.settled(record),
            Record::Posted { idem, .. } => {
                self.posted.insert(idem.clone());
            }
            Record::Model { model, .. } => self.round.switch(model),
            Record::Stopped { event, .. } => drop(self.inbox.heard.insert(event.clone())),
            Record::Note { .. } => self.round.note(),
            Record::Summary { .. } => self.round.since.summaries += 1,
            Record::Checked { receipt } => self.round.checked(receipt.green()),
            Record::Received { event, hand_over } => {
                if matches!(**hand_over, HandOver::Question { .. }) {
                    self.inbox.question = Some(event.clone());
                }
            }
            Record::Prompt { .. }
            | Record::Chose { .. }
            | Record::Gave { .. }
            | Record::Withdrawn { .. }
            | Record::MergeRefused { .. }
            | Record::MergeSettled { .. }
            | Record::PullSeen { .. }
            | Record::PullTold { .. }
            | Record::Queued { .. }
            | Record::Dequeued
            | Record::ChecklistShown { .. } => {}
        }
    }

    /// A message that waits was changed, or is gone.
    fn edit(&mut self, record: &Record, ts: &MessageTs, text: Option<&str>) {
        if let Record::User {
            event: Some(event), ..
        } = record
        {
            self.inbox.heard.insert(event.clone());
        }
        let is_it = |said: &Unseen| said.ts.as_ref() == Some(ts);
        let Some(at) = self.inbox.unseen.iter().position(is_it) else {
            return;
        };
        let before = match text {
            Some(text) => std::mem::replace(&mut self.inbox.unseen[at].text, text.to_owned()),
            None => self.inbox.unseen.remove(at).text,
        };
        self.pins.reword(&before, text);
    }

    /// Whether a message waits and no request has it.
    pub(crate) fn is_unread(&self, ts: &MessageTs) -> bool {
        let waits = self.inbox.unseen.iter().skip(self.inbox.in_request);
        waits.into_iter().any(|said| said.ts.as_ref() == Some(ts))
    }

    /// Whether somebody waits for this activation.
    pub(crate) fn is_asked_for(&self) -> bool {
        let asks = |said: &Unseen| said.person || said.role.is_some();
        !self.decisions.orders.is_empty() || self.inbox.unseen.iter().any(asks)
    }

    fn said(&mut self, record: &Record) {
        let Record::User {
            event,
            ts,
            speaker,
            text,
            ..
        } = record
        else {
            return;
        };
        let (event, ts) = (event.as_ref(), ts.as_ref());
        let kind = event.and_then(EventId::kind);
        let person = is_of_person(speaker, event);
        if let Some(event) = event {
            self.inbox.heard.insert(event.clone());
            self.finish_order(event);
        }
        // Said to others while this role was away.
        let elsewhere = matches!(kind, Some(EventKind::Context { people: true, .. }));
        if person || elsewhere {
            self.agent_words = 0;
            self.person_words += 1;
        } else if matches!(speaker, Speaker::Agent { .. }) {
            self.agent_words += 1;
        }
        let role = match speaker {
            Speaker::Agent { role } => Some(*role),
            _ => None,
        };
        let said = Unseen {
            event: event.cloned(),
            ts: ts.cloned(),
            text: text.clone(),
            person,
            role,
            asks_back: event.is_some() && event == self.inbox.question.as_ref(),
        };
        self.hold = false;
        self.stopped = false;
        let waiting = self.round.waiting.take();
        self.round.waiting = waiting.and_then(|waiting| said.leaves(waiting));
        self.round.person |= person;
        // Later words of a role are answers or remarks; the first ones are the work.
        self.round.owes |= role.is_some() && self.round.turn == 0;
        self.inbox.unseen.push(said);
    }

    fn answered(&mut self, record: &Record) {
        let seen = self.inbox.in_request.min(self.inbox.unseen.len());
        // What was told before somebody spoke is no answer to them.
        self.round.spoke &= seen == 0;
        let asked = self.inbox.unseen.drain(..seen).filter(|said| said.person);
        self.round.asked.extend(asked.filter_map(|said| said.ts));
        self.inbox.in_request = 0;
        if let Record::Assistant {
            turn, text, calls, ..
        } = record
        {
            self.round.answer(*turn, text.as_deref(), calls);
            if calls.is_empty() {
                self.round.count_plain(reply::judge(text.as_deref()));
            }
        }
    }

    fn asked(&mut self, request: &RequestId, kind: DecisionKind) {
        let known = self.decisions.cards.insert(request.clone(), kind).is_some();
        match self.decisions.used.get(request).cloned() {
            // Written down after a crash, and the click was quicker.
            Some((choice, person)) if !known => {
                self.round.out_of_money |= kind == DecisionKind::Cap && choice == Choice::Stop;
                self.take_up(request, choice, &person);
            }
            None if kind == DecisionKind::Cap => {
                self.round.cap_card = Some((request.clone(), self.person_words));
            }
            _ => {}
        }
    }

    fn decided(&mut self, request: &RequestId, choice: Choice, person: &UserId) {
        let used = &mut self.decisions.used;
        let fresh = used
            .insert(request.clone(), (choice, person.clone()))
            .is_none();
        if self.round.asks_by(request) {
            self.round.cap_card = None;
            self.round.out_of_money |= choice == Choice::Stop;
        }
        if fresh {
            self.take_up(request, choice, person);
        }
    }

    /// Card and click are both known, in whichever order they came.
    fn take_up(&mut self, request: &RequestId, choice: Choice, person: &UserId) {
        let Some(kind) = self.decisions.cards.get(request).copied() else {
            return;
        };
        let order = is_order(kind, choice);
        if order {
            self.decisions.orders.push(Order {
                request: request.clone(),
                kind,
                choice,
                person: person.clone(),
            });
        }
        // Nothing has to be said to the model for these to go on.
        let sleeps = matches!(&self.round.waiting, Some(Waiting::Decision { request: awaited }) if awaited == request);
        // A call is run whatever the role sleeps for.
        let call = kind == DecisionKind::Command;
        if call || sleeps && (order || kind == DecisionKind::Cap) {
            self.round.waiting = None;
        }
        // The click is a person's word, and the only one that comes.
        if call {
            self.hold = false;
            self.stopped = false;
        }
    }

    fn finish_order(&mut self, event: &EventId) {
        let done = |Order { request, .. }: &Order| {
            [EventId::carried(request), EventId::ran(request)].contains(event)
        };
        if let Some(at) = self.decisions.orders.iter().position(done) {
            let order = self.decisions.orders.remove(at);
            if order.kind == DecisionKind::Learning {
                self.decisions.learned.insert(order.request.clone());
            }
            self.decisions.carried.insert(order.request);
        }
    }

    /// What the runtime carried out by itself needs no model to look at it.
    fn forget_carried(&mut self) {
        let quiet = events_of(&self.decisions.carried);
        self.inbox.unseen.retain(|said| !said.is_one_of(&quiet));
        self.decisions.carried.clear();
    }

    /// Whether something besides decisions that were carried out waits for the model.
    pub(crate) fn has_other_unseen(&self) -> bool {
        let quiet = events_of(&self.decisions.carried);
        self.inbox.unseen.iter().any(|said| !said.is_one_of(&quiet))
    }

    /// What there is left to sleep for, after what came in meanwhile.
    pub(crate) fn left_of(&self, waiting: Waiting) -> Option<Waiting> {
        let quiet = events_of(&self.decisions.learned);
        let unseen = self.inbox.unseen.iter();
        let mut news = unseen.filter(|said| !said.is_one_of(&quiet));
        news.try_fold(waiting, |waiting, said| said.leaves(waiting))
    }

    /// Whether the log has ever held this reservation.
    pub(crate) fn knows_reserve(&self, id: &ReserveId) -> bool {
        self.books.settled.contains(id) || self.books.unsettled.iter().any(|(open, _)| open == id)
    }

    fn settled(&mut self, record: &Record) {
        if let Record::Settled {
            reserve,
            cost,
            usage,
            model,
        } = record
        {
            self.books.unsettled.retain(|(id, _)| id != reserve);
            self.books.settled.insert(reserve.clone());
            self.books.last_settle = Some(Settle {
                id: reserve.clone(),
                cost: *cost,
                usage: *usage,
                model: model.clone(),
            });
        }
    }

    fn ended(&mut self, ending: &Ending) {
        self.open = false;
        self.hold = matches!(
            ending,
            Ending::Stopped | Ending::Failed { .. } | Ending::OutOfMoney
        );
        self.stopped = matches!(ending, Ending::Stopped | Ending::OutOfMoney);
        self.forget_carried();
        self.inbox.in_request = 0;
        if *ending == Ending::Done {
            self.answered = std::mem::take(&mut self.round.asked);
        }
        self.round = Round {
            person: self.inbox.unseen.iter().any(|said| said.person),
            owes: self.inbox.unseen.iter().any(|said| said.role.is_some()),
            ..Round::default()
        };
    }

    /// The calls of the last answer that have no result yet.
    pub(crate) fn open_calls(&self) -> Vec<ToolCall> {
        self.round.open_calls().cloned().collect()
    }

    /// What the activation sleeps for.
    pub(crate) fn waiting(&self) -> Option<&Waiting> {
        self.round.waiting.as_ref()
    }
}
