//! Messages for one person's eyes. Like Slack's they are in no history, cause no
//! event, and do not last: dismissed by their person, or gone after a day.

use butler_protocol::{ChannelId, MessageTs, UserId, fault};
use serde_json::{Value, json};

use super::message::{self, Draft};
use crate::{
    error::{Refusal, Trouble, refuse},
    log::notice::Notice,
    store::{
        db::Db,
        sql::{OptionalExtension, params},
        tx::Tx,
    },
};

const LIFE_MS: i64 = 24 * 60 * 60 * 1000;

/// Keeps a message for a person and tells their page.
pub(crate) fn keep(tx: &mut Tx<'_>, user: &UserId, draft: &Draft) -> Result<MessageTs, Trouble> {
    let root = match &draft.root {
        Some(ts) => Some(message::root_of(tx.db(), &draft.channel, ts)?),
        None => None,
    };
    let ts = tx.next_ts();
    let mut body = message::body_of(draft, &ts, root.as_ref());
    body["is_ephemeral"] = json!(true);
    let now = tx.db().now_ms();
    tx.db()
        .execute("DELETE FROM ephemerals WHERE at_ms < ?1", [now - LIFE_MS])?;
    fault("hub.before-ephemeral");
    tx.db().execute(
        "INSERT INTO ephemerals (channel, ts, root, user, body, at_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            draft.channel.as_str(),
            ts.as_str(),
            root.as_ref().map_or("", MessageTs::as_str),
            user.as_str(),
            body.to_string(),
            now
        ],
    )?;
    fault("hub.after-ephemeral");
    let mut told = body;
    told["channel"] = json!(draft.channel);
    tx.say(Notice::Whisper {
        to: user.clone(),
        message: told,
    });
    tx.say(Notice::Page {
        channel: draft.channel.clone(),
        root: root.unwrap_or_else(|| ts.clone()),
    });
    Ok(ts)
}

/// What a person alone sees in a thread, or in the channel itself, oldest first.
pub(crate) fn of(
    db: &Db,
    channel: &ChannelId,
    root: Option<&MessageTs>,
    user: &UserId,
) -> Result<Vec<Value>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT body FROM ephemerals
         WHERE channel = ?1 AND root = ?2 AND user = ?3 AND at_ms > ?4 ORDER BY ts",
    )?;
    let root = root.map_or("", MessageTs::as_str);
    let since = db.now_ms() - LIFE_MS;
    let rows = statement.query_map(
        params![channel.as_str(), root, user.as_str(), since],
        |row| row.get::<_, String>(0),
    )?;
    let mut found = Vec::new();
    for body in rows {
        found.push(serde_json::from_str(&body?)?);
    }
    Ok(found)
}

/// One of them, if this person sees it.
pub(crate) fn find(
    db: &Db,
    channel: &ChannelId,
    ts: &MessageTs,
    user: &UserId,
) -> Result<Option<Value>, Trouble> {
    let body: Option<String> = db
        .prepare_cached("SELECT body FROM ephemerals WHERE channel = ?1 AND ts = ?2 AND user = ?3")?
        .query_row(
            params![channel.as_str(), ts.as_str(), user.as_str()],
            |row| row.get(0),
        )
        .optional()?;
    Ok(body.map(|body| serde_json::from_str(&body)).transpose()?)
}

/// Puts other words in its place.
pub(crate) fn replace(
    tx: &mut Tx<'_>,
    channel: &ChannelId,
    ts: &MessageTs,
    user: &UserId,
    body: &Value,
) -> Result<(), Trouble> {
    tx.db().execute(
        "UPDATE ephemerals SET body = ?4 WHERE channel = ?1 AND ts = ?2 AND user = ?3",
        params![
            channel.as_str(),
            ts.as_str(),
            user.as_str(),
            body.to_string()
        ],
    )?;
    let root = body["thread_ts"]
        .as_str()
        .and_then(|root| root.parse().ok());
    tx.say(Notice::Page {
        channel: channel.clone(),
        root: root.unwrap_or_else(|| ts.clone()),
    });
    Ok(())
}

/// Its person has read it.
pub(crate) fn dismiss(
    tx: &Tx<'_>,
    channel: &ChannelId,
    ts: &MessageTs,
    user: &UserId,
) -> Result<(), Trouble> {
    let gone = tx.db().execute(
        "DELETE FROM ephemerals WHERE channel = ?1 AND ts = ?2 AND user = ?3",
        params![channel.as_str(), ts.as_str(), user.as_str()],
    )?;
    if gone == 0 {
        return refuse(Refusal::MessageNotFound);
    }
    Ok(())
}
