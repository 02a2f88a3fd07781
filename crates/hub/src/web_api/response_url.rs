//! `response_url`: how an app answers a click without a token. The address is
//! its own secret, good for five answers within half an hour.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
};
use butler_protocol::{ChannelId, MessageTs, Role, Sha256Hex, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    error::{Refusal, Refused, Result, Trouble, When, refuse},
    hub::App,
    identity::{BOT_NAME, tokens::random_text},
    log::LoggedEvent,
    person_api::edits,
    relay,
    store::{Db, Tx, params},
    workspace::{
        Author, Draft, Stored, decide, ephemeral,
        gate::{self, Outbound},
        message,
    },
};

const USES: i64 = 5;
const LIFE_MS: i64 = 30 * 60 * 1000;

/// Makes the secret part of an address for answers to a click on a message.
pub(crate) fn issue(
    db: &Db,
    channel: &ChannelId,
    ts: &MessageTs,
    person: &UserId,
) -> Result<String> {
    let key = random_text();
    db.execute("DELETE FROM responses WHERE expires_ms < ?1", [db.now_ms()])?;
    db.execute(
        "DELETE FROM responders WHERE sha256 NOT IN (SELECT sha256 FROM responses)",
        [],
    )?;
    db.execute(
        "INSERT INTO responders (sha256, person) VALUES (?1, ?2)",
        params![Sha256Hex::of(&key), person],
    )?;
    db.execute(
        "INSERT INTO responses (sha256, channel, ts, uses_left, expires_ms)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            Sha256Hex::of(&key),
            channel,
            ts,
            USES,
            db.now_ms() + LIFE_MS
        ],
    )?;
    Ok(key)
}

/// What an app answers.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(crate) struct Response {
    #[serde(default)]
    pub(crate) text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) blocks: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) attachments: Option<Value>,
    /// The thread to answer in; else the answer stands where the message does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) thread_ts: Option<MessageTs>,
    #[serde(default)]
    pub(crate) replace_original: bool,
    #[serde(default)]
    pub(crate) delete_original: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) response_type: Option<String>,
}

impl Response {
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.blocks.is_none() && self.attachments.is_none()
    }

    /// For everybody, where most answers are for one person.
    fn is_in_channel(&self) -> bool {
        self.response_type.as_deref() == Some("in_channel")
    }
}

pub(crate) async fn handle(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
    Json(mut response): Json<Response>,
) -> Result<&'static str, Refused> {
    let outbound = Outbound {
        text: &mut response.text,
        blocks: response.blocks.as_mut(),
        attachments: response.attachments.as_mut(),
        metadata: None,
        names: Vec::new(),
    };
    gate::pass(&app.redactor, outbound);
    if let Some(relay) = app.relay.clone() {
        relay::respond(&app, &relay, key, response).await?;
        return Ok("ok");
    }
    app.write(move |tx| {
        let (channel, ts) = redeem_place(tx, &key)?;
        if let Some(person) = edits::commander(tx.db(), &channel, &ts)? {
            return to_command(tx, channel, &person, response);
        }
        let person = clicked_by(tx.db(), &key)?;
        let odd = |_| Trouble::Refused(Refusal::MessageNotFound);
        let ts = ts.parse().map_err(odd)?;
        match (message::find(tx.db(), &channel, &ts)?, person) {
            (Some(original), person) => answer(tx, &channel, &original, person, response),
            (None, Some(person)) => to_whisper(tx, (&channel, &ts), &person, response),
            (None, None) => refuse(Refusal::MessageNotFound),
        }
    })
    .await?;
    Ok("ok")
}

/// Answers a slash command. It is in no thread and came from no role's message.
fn to_command(
    tx: &mut Tx<'_>,
    channel: ChannelId,
    person: &UserId,
    response: Response,
) -> Result<()> {
    // What answered before stays: it is no message that was clicked.
    if response.is_empty() {
        return Ok(());
    }
    let in_channel = response.is_in_channel();
    let place = response.thread_ts.clone();
    let draft = draft(channel, place, Role::Pm, response);
    match in_channel {
        true => message::write(tx, draft).map(drop),
        false => ephemeral::keep(tx, person, &draft).map(drop),
    }
}

/// The answer to a slash command that came with its acknowledgement; it may be none.
pub(crate) fn acknowledged(tx: &mut Tx<'_>, command: &LoggedEvent, answer: Value) -> Result<()> {
    // Bolt acknowledges with a bare text, too.
    let response = match answer {
        Value::String(text) => serde_json::json!({"text": text}),
        other => other,
    };
    if !response.is_object() {
        return Ok(());
    }
    let response: Response = serde_json::from_value(response)?;
    let Some(person) = command.frame["payload"]["user_id"].as_str() else {
        return Ok(());
    };
    to_command(tx, command.channel.clone(), &UserId::new(person), response)
}

/// Who clicked, for answers that only they may see.
fn clicked_by(db: &Db, key: &str) -> Result<Option<UserId>> {
    let found: Option<String> = db.first(
        "SELECT person FROM responders WHERE sha256 = ?1",
        [&Sha256Hex::of(key)],
    )?;
    Ok(found.map(UserId::new))
}

/// Uses an answer up; gives the message that was clicked.
pub(crate) fn redeem_place(tx: &Tx<'_>, key: &str) -> Result<(ChannelId, String)> {
    let place: Option<(String, String)> = tx.db().first(
        "UPDATE responses SET uses_left = uses_left - 1
             WHERE sha256 = ?1 AND uses_left > 0 AND expires_ms > ?2 RETURNING channel, ts",
        params![Sha256Hex::of(key), tx.db().now_ms()],
    )?;
    match place {
        Some((channel, ts)) => Ok((ChannelId::new(channel), ts)),
        None => refuse(Refusal::ExpiredUrl),
    }
}

/// Answers a click on words that only this person sees.
fn to_whisper(
    tx: &mut Tx<'_>,
    (channel, ts): (&ChannelId, &MessageTs),
    person: &UserId,
    response: Response,
) -> Result<()> {
    let old = ephemeral::find(tx.db(), channel, ts, person)?.ok_or(Refusal::MessageNotFound)?;
    if response.delete_original {
        return ephemeral::dismiss(tx, channel, ts, person);
    }
    Refusal::NoText.when(response.is_empty())?;
    if response.replace_original {
        let edited = tx.next_ts().to_string();
        let body = message::edited(old, &response.text, response.blocks, None, &edited);
        return ephemeral::replace(tx, channel, ts, person, &body);
    }
    let root = old["thread_ts"].as_str().and_then(|root| root.parse().ok());
    let place = response.thread_ts.clone().or(root);
    let in_channel = response.is_in_channel();
    let draft = draft(channel.clone(), place, Role::Pm, response);
    match in_channel {
        true => message::write(tx, draft).map(drop),
        false => ephemeral::keep(tx, person, &draft).map(drop),
    }
}

/// The answer as a message of the app.
fn draft(channel: ChannelId, root: Option<MessageTs>, role: Role, response: Response) -> Draft {
    let mut draft = Draft::new(channel, root, Author::role(role, BOT_NAME));
    draft.text = response.text;
    draft.blocks = response.blocks;
    draft.attachments = response.attachments;
    draft
}

fn answer(
    tx: &mut Tx<'_>,
    channel: &ChannelId,
    original: &Stored,
    person: Option<UserId>,
    response: Response,
) -> Result<()> {
    let changes = response.delete_original || response.replace_original;
    Refusal::CantUpdateMessage.when(changes && decide::is_card(tx.db(), channel, &original.ts)?)?;
    Refusal::CantUpdateMessage.when(changes && original.role.is_none())?;
    if response.delete_original {
        return message::delete(tx, channel, original);
    }
    Refusal::NoText.when(response.is_empty())?;
    if response.replace_original {
        let ts = tx.next_ts().to_string();
        let old = original.body.clone();
        let body = message::edited(old, &response.text, response.blocks, None, &ts);
        return message::replace(tx, channel, original, &body);
    }
    // A shortcut is used on people's messages, too.
    let role = original.role.unwrap_or(Role::Pm);
    let in_channel = response.is_in_channel();
    // For everybody it stands where the message does: in its thread, or in the channel.
    let reply = original.root != original.ts || !in_channel;
    let place = response.thread_ts.clone();
    let place = place.or_else(|| reply.then(|| original.root.clone()));
    let draft = draft(channel.clone(), place, role, response);
    if in_channel {
        return message::write(tx, draft).map(drop);
    }
    // Ephemeral, as it is by default: for the one who clicked.
    match person {
        Some(person) => ephemeral::keep(tx, &person, &draft).map(drop),
        None => Ok(()),
    }
}
