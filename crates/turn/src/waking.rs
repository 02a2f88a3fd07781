//! What wakes the machine from outside: messages, decisions, the clock, a free
//! worktree.

use butler_protocol::{
    Choice, Decision, DecisionKind, Ending, EventId, Image, Record, RequestId, Speaker, Then,
    ToolOutcome, Waiting, person_first,
};

use crate::{Heard, Machine, machine::Doing, words};

impl Machine {
    pub(crate) fn on_begin(&mut self, now_ms: i64) {
        self.tell_again();
        self.on_deadline(now_ms);
        self.advance();
    }

    /// Writes what is new; it joins before the next turn.
    pub(crate) fn on_heard(&mut self, messages: Vec<Heard>) {
        for message in messages {
            if self.state.inbox.heard.contains(&message.event) {
                continue;
            }
            let record = Record::User {
                event: Some(message.event),
                ts: message.ts,
                speaker: message.speaker,
                text: message.text,
                images: message.images,
            };
            self.append(record);
        }
        self.advance();
    }

    /// A decision enters the log once: as the line that uses it up, then as a
    /// remark to the model. Of a call that waited the model hears when it ran, or
    /// why it may not.
    pub(crate) fn on_decided(&mut self, decision: &Decision) {
        let request = &decision.request;
        let kind = decision.kind;
        let asks_us = self.state.round.asks_by(request);
        if !self.state.decisions.used.contains_key(request) {
            let record = Record::DecisionUsed {
                request: request.clone(),
                choice: decision.choice,
                person: decision.person.clone(),
            };
            self.append(record);
        }
        // "Stop" on the card of an activation that is over has nothing to stop.
        let moot = decision.choice == Choice::Stop && !asks_us;
        let told_later = kind == DecisionKind::Command;
        let event = EventId::decision(request);
        if !moot && !told_later && !self.state.inbox.heard.contains(&event) {
            let person = person_first(&decision.name);
            let text = words::decided(request, kind, decision.choice, person);
            self.tell(Some(event), &text);
        }
        self.advance();
    }

    /// A decision was carried out: its outcome is written, and what it says
    /// about going on holds once no other decision waits.
    pub(crate) fn on_carried_out(&mut self, request: &RequestId, outcome: ToolOutcome) {
        if self.doing != Doing::CarryingOut(request.clone()) {
            return;
        }
        self.doing = Doing::Nothing;
        // A result that ends nothing is for the model to read.
        let mut orders = self.state.decisions.orders.iter();
        let ran = orders.any(|order| order.request == *request && order.runs_a_call());
        if ran {
            self.append_result(request, &outcome);
        }
        if ran && outcome.then == Then::GoOn {
            let text = words::ran(request, &outcome.text);
            let images = outcome.images.clone();
            self.append(said(Some(EventId::ran(request)), text, images));
        } else {
            self.tell(Some(EventId::carried(request)), &outcome.text);
        }
        let busy = self.state.has_other_unseen()
            || !self.state.decisions.orders.is_empty()
            || self.state.round.busy_beside(request);
        match outcome.then {
            Then::End if !busy => self.end(Ending::Done),
            Then::PassOn if !busy => self.end(Ending::PassedOn),
            Then::Park { waiting } if !busy => self.append(Record::Parked { waiting }),
            _ => {}
        }
        self.advance();
    }

    /// The call's own line, for everybody who looks at what ran; its first result,
    /// that it waits, is what the model keeps.
    fn append_result(&mut self, request: &RequestId, outcome: &ToolOutcome) {
        let asked = self.state.thread.cards.asked.get(request);
        if let Some(call) = asked.and_then(|asked| asked.call.as_ref()) {
            let (call, outcome) = (call.id.clone(), outcome.clone());
            self.append(Record::ToolResult { call, outcome });
        }
    }

    pub(crate) fn on_deadline(&mut self, now_ms: i64) {
        if self.doing == Doing::Nothing && self.deadline_passed(now_ms) {
            let text = words::no_answer(self.parked());
            self.tell(None, &text);
            self.advance();
        }
    }

    pub(crate) fn on_worktree_free(&mut self) {
        if self.parked() == Some(&Waiting::Worktree) {
            self.tell(None, words::WORKTREE_FREE);
            self.advance();
        }
    }

    fn deadline_passed(&self, now_ms: i64) -> bool {
        matches!(self.parked(),
            Some(Waiting::Reply { deadline_ms } | Waiting::Replies { deadline_ms, .. })
            if now_ms >= *deadline_ms)
    }

    /// Something the runtime has to say that also wakes a sleeper.
    pub(crate) fn tell(&mut self, event: Option<EventId>, text: &str) {
        self.append(said(event, text.to_owned(), Vec::new()));
    }
}

/// What the runtime says.
fn said(event: Option<EventId>, text: String, images: Vec<Image>) -> Record {
    Record::User {
        event,
        ts: None,
        speaker: Speaker::Runtime,
        text,
        images,
    }
}
