//! The machine itself.

use std::collections::HashSet;

use butler_vocab::{Entry, EventId, Record};

use crate::{Effect, Event, Setup};

/// One role at work in one thread.
#[derive(Debug)]
pub struct Machine {
    setup: Setup,
    heard: HashSet<EventId>,
}

impl Machine {
    /// Rebuilds the state from the log. With an unfinished activation in it the
    /// machine goes on in the middle, at [`Event::Begin`].
    #[must_use]
    pub fn new(setup: Setup, log: &[Entry]) -> Self {
        let mut machine = Self {
            setup,
            heard: HashSet::new(),
        };
        for entry in log {
            machine.wrote(entry);
        }
        machine
    }

    /// What the machine was told at the start.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Takes note of a line that the driver wrote itself: intents, cards asked
    /// for, a command's approval used up. Lines from `Append` are known already.
    pub fn wrote(&mut self, entry: &Entry) {
        if let Record::User {
            event: Some(event), ..
        } = &entry.record
        {
            self.heard.insert(event.clone());
        }
    }

    /// Feeds one event. Carry the effects out in order; an `Append` must be
    /// durable before the next effect is begun.
    pub fn on(&mut self, event: Event) -> Vec<Effect> {
        let Event::Heard(messages) = event else {
            return Vec::new();
        };
        let fresh = messages
            .into_iter()
            .filter(|message| self.heard.insert(message.event.clone()));
        fresh
            .map(|message| {
                Effect::Append(Record::User {
                    event: Some(message.event),
                    ts: message.ts,
                    speaker: message.speaker,
                    text: message.text,
                    images: message.images,
                })
            })
            .collect()
    }
}
