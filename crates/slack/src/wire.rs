//! What travels: envelopes, events, messages. Fields that we do not know are
//! kept, so that an envelope can be passed on as it came.

use butler_protocol::{
    ActionId, ChannelId, EnvelopeId, EventId, MessageTs, PostTag, Stamp, ThreadId, UserId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What an envelope carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvelopeKind {
    /// Something happened in the workspace.
    EventsApi,
    /// Somebody used a button or another element.
    Interactive,
    /// Somebody typed a slash command.
    SlashCommands,
}

butler_protocol::words! { EnvelopeKind {
    EventsApi = "events_api",
    Interactive = "interactive",
    SlashCommands = "slash_commands",
}}

/// One delivery over the socket, to be acknowledged once it is on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    #[serde(rename = "envelope_id")]
    pub id: EnvelopeId,
    #[serde(rename = "type")]
    pub kind: EnvelopeKind,
    /// As Slack sends it.
    pub payload: Value,
    /// How often it was sent before.
    #[serde(default)]
    pub retry_attempt: u32,
    /// The hub's words beside Slack's; absent on envelopes of Slack itself.
    #[serde(
        default,
        rename = "codebutler",
        skip_serializing_if = "Option::is_none"
    )]
    pub stamp: Option<Stamp>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Envelope {
    /// The key by which a redelivery is recognised: Slack's event id, or the
    /// envelope's own id where Slack has none (clicks, slash commands).
    pub fn event_id(&self) -> EventId {
        let given = self.payload.get("event_id").and_then(Value::as_str);
        EventId::new(given.unwrap_or(self.id.as_str()))
    }

    /// The event, when this is one.
    pub fn event(&self) -> Option<Event> {
        let event = self.payload.get("event").map(Event::read);
        event.filter(|_| self.kind == EnvelopeKind::EventsApi)
    }

    /// The click, when this is one.
    pub fn action(&self) -> Option<BlockAction> {
        BlockAction::read(&self.payload).filter(|_| self.kind == EnvelopeKind::Interactive)
    }
}

/// A message as the workspace keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its timestamp, which is its id in the channel.
    pub ts: MessageTs,
    /// The root of its thread; a root with replies names itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_ts: Option<MessageTs>,
    /// The person or bot user; absent on posts under a custom name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// Set on everything that an app posted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bot_id: Option<String>,
    /// The custom name of a post.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// As in `bot_message` or `file_share`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtype: Option<String>,
    /// Text in mrkdwn, escaped.
    #[serde(default)]
    pub text: String,
    /// Block Kit, when there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Value>,
    /// The metadata, whole only when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    /// Who reacted with what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reactions: Vec<Reaction>,
    /// Everything else (`team`, `icons`, `edited`, `reply_count`, …).
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Message {
    /// The thread this message belongs to: a top-level message is its own root.
    pub fn thread(&self, channel: &ChannelId) -> ThreadId {
        let root = self.thread_ts.as_ref().unwrap_or(&self.ts);
        ThreadId::new(channel.clone(), root.clone())
    }

    /// Our own tag, when the message carries a readable one.
    pub fn tag(&self) -> Option<PostTag> {
        PostTag::from_metadata(self.metadata.as_ref()?).ok()?
    }

    /// Whether a person changed the text after posting.
    pub fn is_edited(&self) -> bool {
        self.extra.get("edited").is_some_and(Value::is_object)
    }
}

/// One kind of reaction on a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reaction {
    /// The emoji's name without colons.
    pub name: String,
    #[serde(default)]
    pub users: Vec<UserId>,
    #[serde(default)]
    pub count: u64,
}

/// A file of the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct File {
    /// Its id, `F…`.
    pub id: String,
    #[serde(default)]
    pub name: String,
    /// As in `image/png`.
    #[serde(default)]
    pub mimetype: String,
    /// In bytes.
    #[serde(default)]
    pub size: u64,
    /// Where it can be had with a token.
    #[serde(default)]
    pub url_private: String,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An event that we have a meaning for.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A message was posted (any subtype that is not an edit or deletion).
    Message {
        channel: ChannelId,
        message: Box<Message>,
    },
    /// A message changed. Also fires on unfurls, replies and our own updates.
    Changed {
        channel: ChannelId,
        message: Box<Message>,
        previous: Option<Box<Message>>,
    },
    /// A message was deleted.
    Deleted {
        channel: ChannelId,
        ts: MessageTs,
        previous: Option<Box<Message>>,
    },
    /// A reaction was added or removed.
    Reaction(ReactionEvent),
    /// Anything else, as it came.
    Other(Value),
}

/// Somebody reacted, or took it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReactionEvent {
    /// True when added, false when removed.
    pub added: bool,
    pub user: UserId,
    /// The emoji's name without colons and skin tone.
    pub name: String,
    pub channel: ChannelId,
    pub ts: MessageTs,
}

impl Event {
    /// Reads the inner event; what cannot be read is kept as it came.
    pub fn read(event: &Value) -> Self {
        Self::typed(event).unwrap_or_else(|| Event::Other(event.clone()))
    }

    fn typed(event: &Value) -> Option<Self> {
        match event.get("type")?.as_str()? {
            "message" => Self::message(event),
            "reaction_added" => reaction(event, true).map(Event::Reaction),
            "reaction_removed" => reaction(event, false).map(Event::Reaction),
            _ => None,
        }
    }

    fn message(event: &Value) -> Option<Self> {
        let channel = ChannelId::new(event.get("channel")?.as_str()?);
        let inner = |field: &str| -> Option<Box<Message>> {
            Box::<Message>::deserialize(event.get(field)?).ok()
        };
        match event.get("subtype").and_then(Value::as_str) {
            Some("message_changed") => Some(Event::Changed {
                channel,
                message: inner("message")?,
                previous: inner("previous_message"),
            }),
            Some("message_deleted") => Some(Event::Deleted {
                channel,
                ts: MessageTs::deserialize(event.get("deleted_ts")?).ok()?,
                previous: inner("previous_message"),
            }),
            _ => Some(Event::Message {
                channel,
                message: Box::<Message>::deserialize(event).ok()?,
            }),
        }
    }
}

fn reaction(event: &Value, added: bool) -> Option<ReactionEvent> {
    let item = event.get("item")?;
    let name = event.get("reaction")?.as_str()?;
    Some(ReactionEvent {
        added,
        user: UserId::deserialize(event.get("user")?).ok()?,
        name: name.split("::").next().unwrap_or(name).to_owned(),
        channel: ChannelId::deserialize(item.get("channel")?).ok()?,
        ts: MessageTs::deserialize(item.get("ts")?).ok()?,
    })
}

/// A click on a button (or another element) of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockAction {
    pub user: UserId,
    pub channel: ChannelId,
    pub message: MessageTs,
    pub thread: ThreadId,
    /// Which element.
    pub action_id: String,
    pub value: Option<String>,
    /// The state of all inputs of the message.
    pub state: Value,
}

impl BlockAction {
    fn read(payload: &Value) -> Option<Self> {
        if payload.get("type")?.as_str()? != "block_actions" {
            return None;
        }
        let container = payload.get("container")?;
        let channel = ChannelId::deserialize(container.get("channel_id")?).ok()?;
        let message = MessageTs::deserialize(container.get("message_ts")?).ok()?;
        let root = container
            .get("thread_ts")
            .and_then(|ts| MessageTs::deserialize(ts).ok())
            .unwrap_or_else(|| message.clone());
        let action = payload.get("actions")?.get(0)?;
        Some(Self {
            user: UserId::deserialize(payload.get("user")?.get("id")?).ok()?,
            thread: ThreadId::new(channel.clone(), root),
            channel,
            message,
            action_id: action.get("action_id")?.as_str()?.to_owned(),
            value: action
                .get("value")
                .and_then(Value::as_str)
                .map(str::to_owned),
            state: payload.get("state").cloned().unwrap_or(Value::Null),
        })
    }

    /// Our own button, when it is one.
    pub fn decision(&self) -> Option<ActionId> {
        self.action_id.parse().ok()
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
