//! Answers of the Researcher. They are in the log as soon as they arrive; the
//! model hears of them when every question of the same turn has its answer, or
//! when patience has run out.

use butler_protocol::{Role, Speaker};
use butler_turn::{Event, Heard};

use super::Worker;
use crate::{OrWarn, decide::person_actions, tell::render};

impl Worker {
    /// Tells the model what was found, unless an answer of the same turn is
    /// still to come.
    pub(super) fn tell_findings(&mut self) {
        if self.edge.patience_over || !self.edge.context.facts().research.is_waiting() {
            self.tell_all();
        }
    }

    /// The deadline of a sleeping activation has passed.
    pub(super) fn out_of_patience(&mut self) {
        self.edge.patience_over = true;
        self.tell_all();
        let now_ms = self.clock.now_ms();
        self.feed(Event::Deadline { now_ms });
    }

    /// Whoever asked has answered: what was kept of it is put before people.
    pub(super) fn put_up_findings(&self) {
        if !self.edge.context.facts().research.found {
            return;
        }
        let context = self.here();
        self.aside(async move {
            let put_up = person_actions::put_up_findings(&context);
            put_up
                .await
                .or_warn("what was found is not put before people yet");
        });
    }

    fn tell_all(&mut self) {
        let facts = self.edge.context.facts();
        let untold = facts.research.untold();
        if untold.is_empty() {
            return;
        }
        let heard = untold.iter().map(|(event, found)| Heard {
            event: event.clone(),
            ts: None,
            speaker: Speaker::Agent {
                role: Role::Researcher,
            },
            text: render::briefing(found),
            images: Vec::new(),
        });
        self.feed(Event::Heard(heard.collect()));
    }
}
