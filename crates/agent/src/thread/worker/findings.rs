//! Answers of the Researcher. They are in the log as soon as they arrive; the
//! model hears of them when every question of the same turn has its answer, or
//! when patience has run out.

use butler_protocol::{Role, Speaker};
use butler_turn::{Event, Heard};

use super::Worker;
use crate::agent::now_ms;

impl Worker {
    /// Tells the model what was found, unless an answer of the same turn is
    /// still to come.
    pub(super) fn tell_findings(&mut self) {
        if !self.context.facts().research.is_waiting() {
            self.tell_all();
        }
    }

    /// The deadline of a sleeping activation has passed.
    pub(super) fn out_of_patience(&mut self) {
        self.context.facts().research.give_up();
        self.tell_all();
        self.feed(Event::Deadline { now_ms: now_ms() });
    }

    fn tell_all(&mut self) {
        let untold = self.context.facts().research.untold();
        if untold.is_empty() {
            return;
        }
        let heard = untold.into_iter().map(|(event, text)| Heard {
            event,
            ts: None,
            speaker: Speaker::Agent {
                role: Role::Researcher,
            },
            text,
            images: Vec::new(),
        });
        self.feed(Event::Heard(heard.collect()));
    }
}
