//! What is said inside the process after a commit. Notices are wake-ups only:
//! who misses one finds everything in the store.

use std::sync::Arc;

use butler_protocol::{ChannelId, Epoch, Role, ThreadId, UserId};
use serde_json::{Value, json};

use crate::{error::Result, log, store::Db};

/// A subscriber: one role of one repo.
pub(crate) type AgentKey = i64;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Notice {
    /// An event is in the log.
    Event(Arc<LoggedEvent>),
    /// A newer connection speaks for this agent, or for this process of it.
    Epoch {
        agent: AgentKey,
        epoch: Epoch,
        process: Option<String>,
    },
    /// Threads of this agent have other holders, or other processes share them.
    Shared { agent: AgentKey },
    /// A connection of this app ended; the others take what it had.
    Freed { agent: AgentKey },
    /// Something on the page changed that is no event (cost, records).
    Page(ThreadId),
    /// An agent came or went.
    Presence,
    /// For one person's eyes.
    Whisper { to: UserId, message: Value },
    /// A session of this person ended: who still may, connects again.
    SessionEnded(UserId),
    /// A call to Slack waits for the owner, or its answer for the hub that asked.
    SlackCall,
    /// Something was said that this hub will not hear any more.
    Missed,
    /// Tests shake the connections.
    Shake(Shake),
}

impl Notice {
    /// As the other hubs of a store are told it; an event is in the log.
    pub(crate) fn for_others(&self) -> Option<Value> {
        match self {
            Self::Event(event) => Some(json!({"event": event.seq, "to": event.targets})),
            Self::Epoch {
                agent,
                epoch,
                process,
            } => Some(json!({"epoch": epoch, "agent": agent, "process": process})),
            Self::Shared { agent } => Some(json!({"shared": agent})),
            Self::Page(thread) => Some(json!({"page": thread.root, "channel": thread.channel})),
            Self::Whisper { to, message } => Some(json!({"whisper": message, "to": to})),
            Self::SessionEnded(user) => Some(json!({"ended": user})),
            Self::SlackCall => Some(json!({"slack": true})),
            Self::Freed { .. } | Self::Presence | Self::Missed | Self::Shake(_) => None,
        }
    }

    /// What another hub told; nothing where it says what this build does not know.
    pub(crate) fn from_others(db: &Db, told: &Value) -> Result<Option<Self>> {
        fn read<T: serde::de::DeserializeOwned>(value: &Value) -> Option<T> {
            T::deserialize(value).ok()
        }
        if let Some(seq) = told["event"].as_u64() {
            let mut event = log::event(db, seq)?;
            event.targets = read(&told["to"]).unwrap_or_default();
            return Ok(Some(Self::Event(Arc::new(event))));
        }
        let notice = || {
            Some(match () {
                () if told.get("epoch").is_some() => Self::Epoch {
                    agent: read(&told["agent"])?,
                    epoch: read(&told["epoch"])?,
                    process: read(&told["process"]).flatten(),
                },
                () if told.get("shared").is_some() => Self::Shared {
                    agent: read(&told["shared"])?,
                },
                () if told.get("page").is_some() => {
                    Self::Page(ThreadId::new(read(&told["channel"])?, read(&told["page"])?))
                }
                () if told.get("whisper").is_some() => Self::Whisper {
                    to: read(&told["to"])?,
                    message: told["whisper"].clone(),
                },
                () if told.get("slack").is_some() => Self::SlackCall,
                () => Self::SessionEnded(read(&told["ended"])?),
            })
        };
        Ok(notice())
    }
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
