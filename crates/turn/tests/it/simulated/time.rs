//! Deliveries and the clock.

use butler_protocol::{EventId, Waiting};
use butler_turn::Event;

use super::{
    driver::World,
    hub::{Delivery, Mail},
};

impl World {
    /// Deliveries come in order, until they are acknowledged; now and then one
    /// comes again all the same.
    pub(crate) fn deliver(&mut self) -> bool {
        let due = |mail: &Mail| !mail.acknowledged && mail.at_ms <= self.now_ms;
        let next = self.hub.mail.iter().position(due);
        let acknowledged: Vec<usize> = (0..self.hub.mail.len())
            .filter(|at| self.hub.mail[*at].acknowledged)
            .collect();
        if !acknowledged.is_empty() && self.dice.percent(3) {
            let again = acknowledged[self.dice.index(acknowledged.len())];
            self.read(again);
            return true;
        }
        match next {
            Some(next) => {
                self.read(next);
                true
            }
            None => false,
        }
    }

    fn read(&mut self, at: usize) {
        self.reading = Some(at);
        match self.hub.mail[at].what.clone() {
            Delivery::Message(message) => self.feed(Event::Heard(vec![message])),
            Delivery::Decision(decision) => {
                self.hub.decided(&decision);
                self.feed(Event::Decided(decision));
            }
            Delivery::Stop => self.feed(Event::Stop {
                event: EventId::new(format!("stop-{at}")),
                by: "ana".into(),
            }),
        }
    }

    /// Nothing is due: the clock goes on, or jumps. False when nothing waits for it.
    pub(crate) fn pass_time(&mut self) -> bool {
        let waiting = self.machine.parked().cloned();
        match waiting {
            Some(Waiting::Worktree) => {
                self.feed(Event::WorktreeFree);
                return true;
            }
            Some(Waiting::Reply { deadline_ms }) if self.dice.percent(50) => {
                self.now_ms = self.now_ms.max(deadline_ms);
                let now_ms = self.now_ms;
                self.feed(Event::Deadline { now_ms });
                return true;
            }
            _ => {}
        }
        let next = self
            .hub
            .mail
            .iter()
            .filter(|mail| !mail.acknowledged)
            .map(|mail| mail.at_ms)
            .min();
        if let Some(next) = next {
            self.now_ms =
                next.max(self.now_ms) + i64::try_from(self.dice.below(3)).unwrap() * 60_000;
            return true;
        }
        match waiting {
            Some(Waiting::Reply { deadline_ms }) => {
                self.now_ms = deadline_ms;
                self.feed(Event::Deadline {
                    now_ms: deadline_ms,
                });
                true
            }
            Some(Waiting::Person) if self.extra_words > 0 => {
                self.extra_words -= 1;
                let number = 100 + self.extra_words;
                let message = crate::harness::heard(
                    number,
                    crate::harness::ana(),
                    &format!("word-{number}-"),
                );
                let at_ms = self.now_ms;
                self.hub.mail.push(Mail {
                    what: Delivery::Message(message),
                    at_ms,
                    acknowledged: false,
                });
                true
            }
            _ => false,
        }
    }
}
