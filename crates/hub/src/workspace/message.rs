//! Messages: written, changed, deleted, each together with its event.

use butler_protocol::{ChannelId, MessageTs, Role, StampKind, ThreadId, UserId, fault};
use serde_json::{Map, Value, json};

use super::channels;
use crate::{
    error::{Refusal, Result, Trouble, refuse},
    identity::{APP, BOT, BOT_NAME, BOT_USER, TEAM, audit},
    log::{self, Happening, processes::everybody},
    store::{Db, FromRow, Known, Tx, params, sql},
};

/// Who wrote a message.
#[derive(Debug, Clone)]
pub(crate) enum Author {
    Person(UserId),
    Role {
        role: Role,
        username: Option<String>,
        icon_emoji: Option<String>,
        icon_url: Option<String>,
    },
}

impl Author {
    /// A role under a name, without a picture of its own.
    pub(crate) fn role(role: Role, username: impl Into<String>) -> Self {
        Self::Role {
            role,
            username: Some(username.into()),
            icon_emoji: None,
            icon_url: None,
        }
    }
}

/// How a message is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Usual,
    /// In the third person.
    Me,
    /// Still being written.
    Streaming,
}

/// What is said.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) channel: ChannelId,
    /// The thread; none makes the message a root.
    pub(crate) root: Option<MessageTs>,
    pub(crate) author: Author,
    pub(crate) text: String,
    pub(crate) blocks: Option<Value>,
    pub(crate) attachments: Option<Value>,
    pub(crate) metadata: Option<Value>,
    pub(crate) files: Vec<Value>,
    pub(crate) broadcast: bool,
    pub(crate) shape: Shape,
    pub(crate) stamp: StampKind,
    pub(crate) to: Vec<Role>,
    pub(crate) reference: Option<String>,
}

impl Draft {
    /// Plain text by somebody, everything else left out.
    pub(crate) fn new(channel: ChannelId, root: Option<MessageTs>, author: Author) -> Self {
        Self {
            channel,
            root,
            author,
            text: String::new(),
            blocks: None,
            attachments: None,
            metadata: None,
            files: Vec::new(),
            broadcast: false,
            shape: Shape::Usual,
            stamp: StampKind::Message,
            to: Vec::new(),
            reference: None,
        }
    }
}

/// A message as it stands in the store.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) ts: MessageTs,
    pub(crate) root: MessageTs,
    pub(crate) role: Option<Role>,
    pub(crate) body: Value,
}

impl FromRow for Stored {
    fn from_row(row: &sql::Row<'_>, at: &mut usize) -> sql::Result<Self> {
        let (ts, root, Known(role), body) = FromRow::from_row(row, at)?;
        Ok(Self {
            ts,
            root,
            role,
            body,
        })
    }
}

/// Writes a message and its event; gives back the message in Slack's shape.
pub(crate) fn write(tx: &mut Tx<'_>, draft: Draft) -> Result<(MessageTs, Value)> {
    let root = match &draft.root {
        Some(ts) => Some(root_of(tx.db(), &draft.channel, ts)?),
        None => None,
    };
    let ts = tx.next_ts();
    let mut body = body_of(&draft, &ts, root.as_ref());
    if let Some(root) = &root
        && let Some(parent) = find(tx.db(), &draft.channel, root)?
    {
        // As in Slack: a post under a custom name has no user.
        if let Some(user) = parent.body.get("user") {
            body["parent_user_id"] = user.clone();
        }
        if body["subtype"] == "thread_broadcast" {
            body["root"] = parent.body;
        }
    }
    let thread = ThreadId::new(draft.channel.clone(), root.unwrap_or_else(|| ts.clone()));
    let (author, role) = match &draft.author {
        Author::Person(user) => (user.as_str().to_owned(), None),
        Author::Role { role, .. } => (BOT_USER.to_owned(), Some(*role)),
    };
    let logged = Happening {
        to: draft.to,
        stamp: draft.stamp,
        reference: draft.reference,
        ..Happening::new(thread, role, body.clone())
    };
    record(tx, &ts, &author, logged)?;
    Ok((ts, body))
}

/// Keeps a message whose timestamp and shape are settled, and logs it. The author is
/// the user, or the app's.
pub(crate) fn record(
    tx: &mut Tx<'_>,
    ts: &MessageTs,
    author: &str,
    mut logged: Happening,
) -> Result<()> {
    let channel = &logged.thread.channel;
    fault("hub.before-message");
    tx.db().execute(
        "INSERT INTO messages (channel, ts, root, author, role, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            channel,
            ts,
            logged.thread.root,
            author,
            logged.from,
            logged.body.to_string()
        ],
    )?;
    if logged.from.is_none() && *ts == logged.thread.root {
        let text = logged.body["text"].as_str().unwrap_or_default();
        audit::asked(tx.db(), author, &logged.thread, text)?;
    }
    fault("hub.after-message");
    logged.body["channel"] = json!(channel);
    logged.body["channel_type"] = json!(channels::channel_type(tx.db(), channel));
    logged.body["event_ts"] = json!(ts);
    let (thread, from, body) = (logged.thread.clone(), logged.from, logged.body.clone());
    let text = body["text"].as_str().unwrap_or_default();
    let for_all = from.is_none() && logged.delivered && everybody::concerns(text);
    let seq = log::append(tx, logged)?;
    if for_all {
        everybody::tell(tx, seq, &thread, &body)?;
    }
    for file in body["files"].as_array().into_iter().flatten() {
        tell_of_file(tx, &thread, from, author, file)?;
    }
    Ok(())
}

/// Slack tells of a file beside the message that shares it. Our own agents read the
/// message.
fn tell_of_file(
    tx: &mut Tx<'_>,
    thread: &ThreadId,
    from: Option<Role>,
    author: &str,
    file: &Value,
) -> Result<()> {
    if !log::strangers_listen(tx.db())? {
        return Ok(());
    }
    let event = json!({"type": "file_shared", "file_id": file["id"], "user_id": author,
        "file": {"id": file["id"]}, "channel_id": thread.channel, "event_ts": tx.next_ts()});
    log::append(tx, Happening::new(thread.clone(), from, event)).map(drop)
}

/// A draft in Slack's shape.
pub(crate) fn body_of(draft: &Draft, ts: &MessageTs, root: Option<&MessageTs>) -> Value {
    let mut body = json!({"type": "message", "text": draft.text, "ts": ts, "team": TEAM});
    let mut subtype = match (&draft.author, draft.files.is_empty(), draft.broadcast) {
        (_, false, _) => Some("file_share"),
        (_, _, true) if root.is_some() => Some("thread_broadcast"),
        _ if draft.shape == Shape::Me => Some("me_message"),
        _ => None,
    };
    match &draft.author {
        Author::Person(user) => {
            body["user"] = json!(user);
            body["client_msg_id"] = json!(format!("m-{ts}"));
        }
        Author::Role {
            username,
            icon_emoji,
            icon_url,
            ..
        } => {
            body["bot_id"] = json!(BOT);
            body["app_id"] = json!(APP);
            match (username, icon_emoji, icon_url) {
                (None, ..) => {
                    body["user"] = json!(BOT_USER);
                    body["bot_profile"] = json!({"id": BOT, "app_id": APP, "name": BOT_NAME,
                        "deleted": false, "team_id": TEAM});
                }
                (Some(_), Some(emoji), _) => body["icons"] = json!({"emoji": emoji}),
                (Some(_), None, Some(url)) => body["icons"] = json!({"image_48": url}),
                (Some(_), None, None) => {}
            }
            if let Some(username) = username {
                subtype = subtype.or(Some("bot_message"));
                body["username"] = json!(username);
            }
        }
    }
    let streams = draft.shape == Shape::Streaming;
    let optional = [
        ("subtype", subtype.map(Value::from)),
        ("streaming_state", streams.then(|| json!("in_progress"))),
        ("thread_ts", root.map(|root| json!(root))),
        ("blocks", draft.blocks.clone().map(with_ids)),
        ("attachments", draft.attachments.clone()),
        ("metadata", draft.metadata.clone()),
        (
            "files",
            (!draft.files.is_empty()).then(|| json!(draft.files)),
        ),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            body[name] = value;
        }
    }
    body
}

/// Blocks without an id get one, as at Slack: the state of their inputs is told
/// under it.
pub(crate) fn with_ids(mut blocks: Value) -> Value {
    for (index, block) in blocks.as_array_mut().into_iter().flatten().enumerate() {
        if block.is_object() && !block["block_id"].is_string() {
            block["block_id"] = json!(format!("b{}", index + 1));
        }
    }
    blocks
}

/// The root of the thread that `ts` is in: posting below a reply joins its thread.
pub(crate) fn root_of(db: &Db, channel: &ChannelId, ts: &MessageTs) -> Result<MessageTs> {
    match find(db, channel, ts)? {
        Some(found) => Ok(found.root),
        None => refuse(Refusal::ThreadNotFound),
    }
}

/// One message that has to be there.
pub(crate) fn get(db: &Db, channel: &ChannelId, ts: &MessageTs) -> Result<Stored> {
    find(db, channel, ts)?.ok_or(Trouble::Refused(Refusal::MessageNotFound))
}

/// One message.
pub(crate) fn find(db: &Db, channel: &ChannelId, ts: &MessageTs) -> Result<Option<Stored>> {
    let sql = "SELECT ts, root, role, body FROM messages WHERE channel = ?1 AND ts = ?2";
    Ok(db.first(sql, params![channel, ts])?)
}

/// Slack's rules: text without blocks removes them, blocks without text keep the
/// old fallback, metadata stays unless given, `{}` removes it.
pub(crate) fn edited(
    mut body: Value,
    text: &str,
    blocks: Option<Value>,
    metadata: Option<Value>,
    edit_ts: &str,
) -> Value {
    if !text.is_empty() {
        body["text"] = json!(text);
        body["edited"] = json!({"user": BOT_USER, "ts": edit_ts});
    }
    let fields = body.as_object_mut();
    match (fields, blocks) {
        (Some(fields), Some(blocks)) => {
            fields.insert("blocks".to_owned(), with_ids(blocks));
        }
        (Some(fields), None) => {
            fields.remove("blocks");
        }
        (None, _) => {}
    }
    if let (Some(fields), Some(metadata)) = (body.as_object_mut(), metadata) {
        if metadata.as_object().is_some_and(Map::is_empty) {
            fields.remove("metadata");
        } else {
            fields.insert("metadata".to_owned(), metadata);
        }
    }
    body
}

/// Replaces the body of a message and tells the agents.
pub(crate) fn replace(
    tx: &mut Tx<'_>,
    channel: &ChannelId,
    old: &Stored,
    body: &Value,
) -> Result<()> {
    change(tx, channel, old, body, Told::Agents)
}

/// Replaces the body of a message for the eyes of people: what the hub itself
/// drew anew is no news for agents.
pub(crate) fn redraw(
    tx: &mut Tx<'_>,
    channel: &ChannelId,
    old: &Stored,
    body: &Value,
) -> Result<()> {
    change(tx, channel, old, body, Told::Nobody)
}

#[derive(Clone, Copy, PartialEq)]
enum Told {
    Agents,
    Nobody,
}

fn change(
    tx: &mut Tx<'_>,
    channel: &ChannelId,
    old: &Stored,
    body: &Value,
    told: Told,
) -> Result<()> {
    fault("hub.before-edit");
    tx.db().execute(
        "UPDATE messages SET body = ?3 WHERE channel = ?1 AND ts = ?2",
        params![channel, old.ts, body.to_string()],
    )?;
    fault("hub.after-edit");
    let event_ts = tx.next_ts();
    let thread = ThreadId::new(channel.clone(), old.root.clone());
    let event = json!({"type": "message", "subtype": "message_changed", "hidden": true,
        "channel": channel, "channel_type": channels::channel_type(tx.db(), channel), "ts": event_ts,
        "event_ts": event_ts, "message": body, "previous_message": old.body});
    let changed = Happening {
        delivered: told == Told::Agents,
        ..Happening::new(thread, old.role, event)
    };
    log::append(tx, changed)?;
    Ok(())
}

/// Deletes a message and logs it. A root with replies leaves a marker, so that
/// its thread stays.
pub(crate) fn delete(tx: &mut Tx<'_>, channel: &ChannelId, old: &Stored) -> Result<()> {
    let replies: i64 = tx.db().one(
        "SELECT count(*) FROM messages WHERE channel = ?1 AND root = ?2 AND ts <> ?2",
        params![channel, old.ts],
    )?;
    fault("hub.before-delete");
    if replies > 0 {
        let marker = json!({"type": "message", "subtype": "tombstone", "hidden": true,
            "text": "This message was deleted.", "user": "USLACKBOT", "ts": old.ts,
            "thread_ts": old.root});
        tx.db().execute(
            "UPDATE messages SET body = ?3 WHERE channel = ?1 AND ts = ?2",
            params![channel, old.ts, marker.to_string()],
        )?;
    } else {
        tx.db().execute(
            "DELETE FROM messages WHERE channel = ?1 AND ts = ?2",
            params![channel, old.ts],
        )?;
    }
    tx.db().execute(
        "DELETE FROM reactions WHERE channel = ?1 AND ts = ?2",
        params![channel, old.ts],
    )?;
    fault("hub.after-delete");
    let event_ts = tx.next_ts();
    let thread = ThreadId::new(channel.clone(), old.root.clone());
    let event = json!({"type": "message", "subtype": "message_deleted", "hidden": true,
        "channel": channel, "channel_type": channels::channel_type(tx.db(), channel), "ts": event_ts,
        "event_ts": event_ts, "deleted_ts": old.ts, "previous_message": old.body});
    log::append(tx, Happening::new(thread, old.role, event))?;
    Ok(())
}
