//! A person changes, or takes back, a message that no model has read yet. What
//! was read stays as it was read: people correct it with another message.
//!
//! In the log such a change is a line like any message, under an event that
//! names the message it is about.

use butler_protocol::{Ending, EventId, EventKind, MessageTs, Record, Speaker};

use crate::{Effect, Machine, machine::Doing};

/// What a person did to a message of theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The change itself: a redelivery is recognised by it.
    pub event: EventId,
    pub ts: MessageTs,
    pub speaker: Speaker,
    /// What it says now; nothing when it was deleted.
    pub text: Option<String>,
}

/// What a line of the log changes: which message, and its words, if it is still
/// there.
pub(crate) fn edited(record: &Record) -> Option<(MessageTs, Option<&str>)> {
    let Record::User {
        event: Some(event),
        text,
        ..
    } = record
    else {
        return None;
    };
    match event.kind()? {
        EventKind::Edited(ts) => Some((ts, Some(text))),
        EventKind::Deleted(ts) => Some((ts, None)),
        _ => None,
    }
}

impl Machine {
    /// Writes the change, if the message is still unread. An activation that has
    /// nothing else to do ends with the message it was for.
    pub(crate) fn on_edited(&mut self, change: Edited) {
        let event = EventId::edited(&change.ts, &change.event, change.text.is_none());
        if self.state.inbox.heard.contains(&event) || !self.state.is_unread(&change.ts) {
            return;
        }
        let record = Record::User {
            event: Some(event),
            ts: None,
            speaker: change.speaker,
            text: change.text.unwrap_or_default(),
            images: Vec::new(),
        };
        self.append(record);
        if self.state.open && self.state.round.turn == 0 && !self.state.is_asked_for() {
            self.out.push(Effect::Cancel);
            self.doing = Doing::Nothing;
            self.end(Ending::Stopped);
        }
    }
}
