//! Messages for one person's eyes. Like Slack's they are in no history, cause no
//! event, and do not last: dismissed by their person, or gone after a day.

use butler_protocol::{ChannelId, MessageTs, ThreadId, UserId, fault};
use serde_json::{Value, json};

use super::message::{self, Draft};
use crate::{
    error::{Refusal, Result, When},
    log::Notice,
    store::{Db, Tx, params},
};

const LIFE_MS: i64 = 24 * 60 * 60 * 1000;

/// Keeps a message for a person and tells their page.
pub(crate) fn keep(tx: &mut Tx<'_>, user: &UserId, draft: &Draft) -> Result<MessageTs> {
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
            draft.channel,
            ts,
            root.as_ref().map_or("", MessageTs::as_str),
            user,
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
    let root = root.unwrap_or_else(|| ts.clone());
    tx.say(Notice::Page(ThreadId::new(draft.channel.clone(), root)));
    Ok(ts)
}

/// What a person alone sees in a thread, or in the channel itself, oldest first.
pub(crate) fn of(
    db: &Db,
    channel: &ChannelId,
    root: Option<&MessageTs>,
    user: &UserId,
) -> Result<Vec<Value>> {
    let root = root.map_or("", MessageTs::as_str);
    Ok(db.rows(
        "SELECT body FROM ephemerals
         WHERE channel = ?1 AND root = ?2 AND user = ?3 AND at_ms > ?4 ORDER BY ts",
        params![channel, root, user, db.now_ms() - LIFE_MS],
    )?)
}

/// One of them, if this person sees it.
pub(crate) fn find(
    db: &Db,
    channel: &ChannelId,
    ts: &MessageTs,
    user: &UserId,
) -> Result<Option<Value>> {
    let sql = "SELECT body FROM ephemerals WHERE channel = ?1 AND ts = ?2 AND user = ?3";
    Ok(db.first(sql, params![channel, ts, user])?)
}

/// Puts other words in its place.
pub(crate) fn replace(
    tx: &mut Tx<'_>,
    channel: &ChannelId,
    ts: &MessageTs,
    user: &UserId,
    body: &Value,
) -> Result<()> {
    tx.db().execute(
        "UPDATE ephemerals SET body = ?4 WHERE channel = ?1 AND ts = ?2 AND user = ?3",
        params![channel, ts, user, body.to_string()],
    )?;
    let root = body["thread_ts"]
        .as_str()
        .and_then(|root| root.parse().ok());
    let root = root.unwrap_or_else(|| ts.clone());
    tx.say(Notice::Page(ThreadId::new(channel.clone(), root)));
    Ok(())
}

/// Its person has read it.
pub(crate) fn dismiss(
    tx: &Tx<'_>,
    channel: &ChannelId,
    ts: &MessageTs,
    user: &UserId,
) -> Result<()> {
    let gone = tx.db().execute(
        "DELETE FROM ephemerals WHERE channel = ?1 AND ts = ?2 AND user = ?3",
        params![channel, ts, user],
    )?;
    Refusal::MessageNotFound.when(gone == 0)?;
    Ok(())
}
