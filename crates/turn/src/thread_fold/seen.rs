//! What a role has seen and heard of its thread.

use std::collections::{BTreeSet, HashSet};

use butler_protocol::{EventId, EventKind, MessageTs, Record, Speaker};

use super::is_of_person;

/// What a role knows of the thread's messages, and when people spoke.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    messages: BTreeSet<MessageTs>,
    /// Everything before this was told in one piece.
    until: Option<MessageTs>,
    /// The place in the hub's log of the last event that came in.
    pub heard: u64,
    /// When the log began, in milliseconds since 1970.
    pub began_ms: Option<i64>,
    /// When its last line was written.
    pub(crate) last_ms: i64,
    /// When a person last spoke or decided.
    pub person_spoke_ms: Option<i64>,
    /// Names of the people who spoke to it.
    pub people: BTreeSet<String>,
    received: HashSet<EventId>,
}

impl Seen {
    pub(super) fn push(&mut self, at_ms: i64, record: &Record) {
        self.began_ms.get_or_insert(at_ms);
        self.last_ms = at_ms;
        match record {
            Record::User {
                event, ts, speaker, ..
            } => {
                self.hear(event.as_ref());
                self.note(event.as_ref(), ts.as_ref());
                if let Speaker::Person { name, .. } = speaker {
                    self.people.insert(name.clone());
                }
                if is_of_person(speaker, event.as_ref()) {
                    self.person_spoke_ms = Some(at_ms);
                }
            }
            Record::Received { event, .. } => {
                self.hear(Some(event));
                self.received.insert(event.clone());
            }
            Record::Stopped { event, .. } => self.hear(Some(event)),
            Record::Posted { ts, .. } => self.note(None, Some(ts)),
            _ => {}
        }
    }

    fn hear(&mut self, event: Option<&EventId>) {
        self.heard = self.heard.max(event.and_then(EventId::seq).unwrap_or(0));
    }

    /// Takes in a line of the log that belongs to a message.
    pub fn note(&mut self, event: Option<&EventId>, ts: Option<&MessageTs>) {
        if let Some(EventKind::Context { until, .. }) = event.and_then(EventId::kind) {
            self.until = self.until.take().max(until);
        }
        self.messages.extend(ts.cloned());
    }

    /// Whether this message came later than what it knows, and it has not seen it.
    pub fn missed(&self, ts: &MessageTs) -> bool {
        let from = self.until.as_ref().or_else(|| self.messages.first());
        from.is_none_or(|from| ts > from) && !self.messages.contains(ts)
    }

    /// Whether this hand-over was taken in before.
    pub fn has_received(&self, event: &EventId) -> bool {
        self.received.contains(event)
    }
}
