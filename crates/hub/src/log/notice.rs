//! What is said inside the process after a commit. Notices are wake-ups only:
//! who misses one finds everything in the store.

use std::sync::Arc;

use butler_protocol::{ChannelId, Epoch, MessageTs, Role, UserId};
use serde_json::Value;

/// A subscriber: one role of one repo.
pub(crate) type AgentKey = i64;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Notice {
    /// An event is in the log.
    Event(Arc<LoggedEvent>),
    /// A newer connection speaks for this agent.
    Epoch { agent: AgentKey, epoch: Epoch },
    /// A connection of this app ended; the others take what it had.
    Freed { agent: AgentKey },
    /// Something on the page changed that is no event (cost, records).
    Page { channel: ChannelId, root: MessageTs },
    /// An agent came or went.
    Presence,
    /// For one person's eyes.
    Whisper { to: UserId, message: Value },
    /// A session of this person ended: who still may, connects again.
    SessionEnded(UserId),
    /// Tests shake the connections.
    Shake(Shake),
}

/// How tests shake connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shake {
    /// A `disconnect` frame with reason `refresh_requested`; closed a bit later.
    Refresh,
    /// A `disconnect` frame with reason `link_disabled`.
    LinkDisabled,
    /// Every socket is dropped without a word.
    Drop,
}

/// An event as it stands in the log.
#[derive(Debug, Clone)]
pub(crate) struct LoggedEvent {
    pub(crate) seq: u64,
    pub(crate) channel: ChannelId,
    /// The root of the thread; the channel's own events have an empty one.
    pub(crate) root: String,
    pub(crate) from: Option<Role>,
    /// As in `message`, `reaction_added`, `activity`.
    pub(crate) kind: String,
    /// The envelope without id and retry fields.
    pub(crate) frame: Value,
    pub(crate) at_ms: i64,
    /// Who has it in their queue; known only right after it was written.
    pub(crate) targets: Vec<AgentKey>,
}
