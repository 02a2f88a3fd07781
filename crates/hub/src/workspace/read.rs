//! Reading messages: history, replies, pages with cursors.

use butler_protocol::{ChannelId, MessageTs, ThreadId};
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};

use super::message::{self, Stored};
use crate::{
    error::{Refusal, Result, refuse},
    store::{Db, params},
    views::Window,
};

/// What a caller wants to see.
#[derive(Debug, Clone, Default)]
pub(crate) struct Range {
    pub(crate) oldest: Option<String>,
    pub(crate) latest: Option<String>,
    pub(crate) inclusive: bool,
    pub(crate) limit: usize,
    pub(crate) cursor: Option<String>,
    pub(crate) all_metadata: bool,
}

/// One page of messages.
pub(crate) struct Page {
    pub(crate) messages: Vec<Value>,
    pub(crate) next_cursor: String,
}

/// Replies of a thread that one answer holds; it says how many there are before them.
const MOST: usize = 5_000;
const COLUMNS: &str = "ts, root, role, body";

/// Top-level messages of a channel, newest first.
pub(crate) fn history(db: &Db, channel: &ChannelId, range: &Range) -> Result<Page> {
    let rows = select(db, channel, None, range)?;
    page(db, channel, rows, range)
}

/// A thread, root first, then oldest to newest.
pub(crate) fn replies(db: &Db, channel: &ChannelId, ts: &MessageTs, range: &Range) -> Result<Page> {
    let root = message::root_of(db, channel, ts)?;
    let rows = select(db, channel, Some(&root), range)?;
    let begins = rows.first().is_some_and(|first| first.ts == root);
    let mut page = page(db, channel, rows, range)?;
    // The root leads the first page also when it is out of the range, and does
    // not count: who asks for one reply gets that one too.
    if range.cursor.is_none()
        && !begins
        && let Some(first) = message::find(db, channel, &root)?
    {
        let first = shown(db, channel, first, range.all_metadata)?;
        page.messages.insert(0, first);
    }
    Ok(page)
}

/// The root of a thread and the newest of its replies, oldest first, and how
/// many replies lie between them.
pub(crate) fn newest_replies(
    db: &Db,
    thread: &ThreadId,
    window: &Window,
) -> Result<(Vec<Value>, usize)> {
    let limit = window.limit.map_or(MOST, |limit| limit.min(MOST));
    let sql = format!(
        "SELECT {COLUMNS} FROM messages WHERE channel = ?1 AND root = ?2 AND ts <> ?2
         AND (?3 IS NULL OR ts < ?3) ORDER BY ts DESC LIMIT ?4"
    );
    let mut found: Vec<Stored> = db.rows(&sql, params![thread, window.before, limit])?;
    let oldest = found
        .last()
        .map_or(&thread.root, |stored| &stored.ts)
        .clone();
    if let Some(first) = message::find(db, &thread.channel, &thread.root)? {
        found.push(first);
    }
    let earlier = db.one(
        "SELECT count(*) FROM messages WHERE channel = ?1 AND root = ?2 AND ts <> ?2 AND ts < ?3",
        params![thread, oldest],
    )?;
    let messages = found
        .into_iter()
        .rev()
        .map(|row| shown(db, &thread.channel, row, true))
        .collect::<Result<_, _>>()?;
    Ok((messages, earlier))
}

/// One row more than a page of a channel or of a thread.
fn select(
    db: &Db,
    channel: &ChannelId,
    root: Option<&MessageTs>,
    range: &Range,
) -> Result<Vec<Stored>> {
    let edge = range.cursor.as_deref().map(read_cursor).transpose()?;
    let (which, beyond, order) = match root {
        Some(_) => ("root = ?7", ">", "ts"),
        None => (
            "(ts = root OR json_extract(body, '$.subtype') = 'thread_broadcast') AND ?7 IS NULL",
            "<",
            "ts DESC",
        ),
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM messages WHERE channel = ?1 AND {which}
           AND (?2 IS NULL OR ts > ?2 OR (?4 AND ts = ?2))
           AND (?3 IS NULL OR ts < ?3 OR (?4 AND ts = ?3))
           AND (?5 IS NULL OR ts {beyond} ?5)
         ORDER BY {order} LIMIT ?6"
    );
    let (oldest, latest, limit) = (&range.oldest, &range.latest, range.limit + 1);
    let keys = params![channel, oldest, latest, range.inclusive, edge, limit, root];
    Ok(db.rows(&sql, keys)?)
}

/// Cuts what was read to the limit and dresses it; one row more was read to
/// know whether there is a next page.
fn page(db: &Db, channel: &ChannelId, mut rows: Vec<Stored>, range: &Range) -> Result<Page> {
    let more = rows.len() > range.limit;
    rows.truncate(range.limit);
    let next_cursor = match rows.last() {
        Some(last) if more => BASE64URL_NOPAD.encode(format!("ts:{}", last.ts).as_bytes()),
        _ => String::new(),
    };
    let messages = rows
        .into_iter()
        .map(|row| shown(db, channel, row, range.all_metadata))
        .collect::<Result<_, _>>()?;
    Ok(Page {
        messages,
        next_cursor,
    })
}

fn read_cursor(cursor: &str) -> Result<String> {
    let text = BASE64URL_NOPAD
        .decode(cursor.as_bytes())
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    match text.as_deref().and_then(|text| text.strip_prefix("ts:")) {
        Some(ts) if ts.parse::<MessageTs>().is_ok() => Ok(ts.to_owned()),
        _ => refuse(Refusal::InvalidCursor),
    }
}

/// A message in Slack's shape, with its reactions and, on a root, its replies counted.
pub(crate) fn shown(
    db: &Db,
    channel: &ChannelId,
    stored: Stored,
    all_metadata: bool,
) -> Result<Value> {
    let mut body = stored.body;
    let reactions = super::react::of(db, channel, &stored.ts)?;
    if !reactions.is_empty() {
        body["reactions"] = json!(reactions);
    }
    if is_pinned(db, channel, &stored.ts)? {
        body["pinned_to"] = json!([channel]);
    }
    if stored.ts == stored.root {
        add_replies(db, channel, &stored.ts, &mut body)?;
    }
    if !all_metadata && body.get("metadata").is_some() {
        body["metadata"] = json!({"event_type": body["metadata"]["event_type"]});
    }
    Ok(body)
}

fn is_pinned(db: &Db, channel: &ChannelId, ts: &MessageTs) -> Result<bool> {
    let sql = "SELECT 1 FROM pins WHERE channel = ?1 AND ts = ?2";
    Ok(db.has(sql, params![channel, ts])?)
}

fn add_replies(db: &Db, channel: &ChannelId, ts: &MessageTs, body: &mut Value) -> Result<()> {
    let (count, latest): (i64, Option<String>) = db.one(
        "SELECT count(*), max(ts) FROM messages WHERE channel = ?1 AND root = ?2 AND ts <> ?2",
        params![channel, ts],
    )?;
    if count == 0 {
        return Ok(());
    }
    let users: Vec<String> = db.rows(
        "SELECT DISTINCT author FROM messages WHERE channel = ?1 AND root = ?2 AND ts <> ?2
         ORDER BY author LIMIT 5",
        params![channel, ts],
    )?;
    body["thread_ts"] = json!(ts);
    body["reply_count"] = json!(count);
    body["reply_users_count"] = json!(users.len());
    body["reply_users"] = json!(users);
    body["latest_reply"] = json!(latest);
    Ok(())
}
