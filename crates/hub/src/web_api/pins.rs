//! Pins and bookmarks: what a channel keeps at hand.

use butler_protocol::{ChannelId, MessageTs, ThreadId};
use serde_json::{Value, json};
use url::Url;

use super::Call;
use crate::{
    error::{Refusal, Result, When},
    identity::{BOT_USER, TEAM},
    log::{self, Happening},
    store::{Db, Tx, params},
    workspace::{channels, gate, message, read},
};

pub(super) fn pin(tx: &mut Tx<'_>, call: &Call, on: bool) -> Result<Value> {
    let (channel, ts) = call.item(tx.db())?;
    channels::writable(tx.db(), &channel)?;
    let found = message::get(tx.db(), &channel, &ts)?;
    let (sql, already, kind) = match on {
        true => (
            "INSERT OR IGNORE INTO pins (channel, ts, user, at_ms) VALUES (?1, ?2, ?3, ?4)",
            Refusal::AlreadyPinned,
            "pin_added",
        ),
        false => (
            "DELETE FROM pins WHERE channel = ?1 AND ts = ?2 AND ?3 <> '' AND ?4 > 0",
            Refusal::NoPin,
            "pin_removed",
        ),
    };
    let now = tx.db().now_ms();
    let changed = tx.db().execute(sql, params![channel, ts, BOT_USER, now])?;
    already.when(changed == 0)?;
    let event = json!({"type": kind,
        "user": BOT_USER, "channel_id": channel, "event_ts": tx.next_ts(), "has_pins": on,
        "item": {"type": "message", "channel": channel, "message": found.body,
            "created": now / 1000, "created_by": BOT_USER}});
    let thread = ThreadId::new(channel, found.root);
    log::append(tx, Happening::new(thread, Some(call.agent.role), event))?;
    Ok(json!({}))
}

pub(super) fn list(db: &Db, call: &Call) -> Result<Value> {
    let channel = call.channel(db)?;
    let sql = "SELECT ts, user, at_ms FROM pins WHERE channel = ?1 ORDER BY at_ms DESC, ts DESC";
    let mut items = Vec::new();
    for (ts, user, at_ms) in db.rows::<(MessageTs, String, i64)>(sql, [&channel])? {
        // What was deleted since is pinned no more.
        let Some(found) = message::find(db, &channel, &ts)? else {
            continue;
        };
        items.push(
            json!({"type": "message", "channel": channel, "created": at_ms / 1000,
            "created_by": user, "message": read::shown(db, &channel, found, false)?}),
        );
    }
    Ok(json!({"items": items}))
}

/// The channel that a call about bookmarks names, if the caller may use it.
fn channel_of(db: &Db, call: &Call) -> Result<ChannelId> {
    let id = call.args.need("channel_id", Refusal::ChannelNotFound)?;
    let channel = ChannelId::new(id);
    call.agent.may_use(db, &channel)?;
    Ok(channel)
}

/// The fields of a bookmark that a call gives, cleaned.
fn given(call: &Call) -> Result<Vec<(&'static str, String)>> {
    let mut fields = Vec::new();
    for field in ["title", "link", "emoji"] {
        if let Some(mut words) = call.args.text(field) {
            gate::clean_text(&call.app.redactor, &mut words);
            fields.push((field, words));
        }
    }
    let link = fields.iter().find(|(field, _)| *field == "link");
    Refusal::InvalidLink.when(link.is_some_and(|(_, link)| Url::parse(link).is_err()))?;
    Ok(fields)
}

pub(super) fn add_bookmark(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    call.args.need("title", Refusal::InvalidArguments)?;
    Refusal::InvalidBookmarkType.when(call.args.text("type").as_deref() != Some("link"))?;
    call.args.need("link", Refusal::InvalidLink)?;
    let (fields, channel) = (given(call)?, channel_of(tx.db(), call)?);
    let now = tx.db().now_ms() / 1000;
    let mut body = json!({"id": format!("Bk{}", digits(&tx.next_ts())), "channel_id": channel,
        "title": "", "link": "", "emoji": "", "icon_url": null, "type": "link",
        "entity_id": null, "date_created": now, "date_updated": 0, "rank": "i",
        "last_updated_by_user_id": BOT_USER, "last_updated_by_team_id": TEAM,
        "shortcut_id": null, "app_id": null});
    for (field, words) in fields {
        body[field] = json!(words);
    }
    tx.db().execute(
        "INSERT INTO bookmarks (id, channel, body) VALUES (?1, ?2, ?3)",
        params![body["id"].as_str(), channel, body.to_string()],
    )?;
    Ok(json!({"bookmark": body}))
}

/// Of a bookmark made later it is greater.
fn digits(ts: &MessageTs) -> String {
    ts.as_str().chars().filter(char::is_ascii_digit).collect()
}

/// The bookmark that a call names.
fn bookmark(db: &Db, call: &Call) -> Result<(String, Value)> {
    let channel = channel_of(db, call)?;
    let id = call.args.need("bookmark_id", Refusal::NotFound)?;
    let sql = "SELECT body FROM bookmarks WHERE id = ?1 AND channel = ?2";
    let body: Option<Value> = db.first(sql, params![id, channel])?;
    Ok((id, body.ok_or(Refusal::NotFound)?))
}

pub(super) fn edit_bookmark(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let (id, mut body) = bookmark(tx.db(), call)?;
    for (field, words) in given(call)? {
        body[field] = json!(words);
    }
    body["date_updated"] = json!(tx.db().now_ms() / 1000);
    tx.db().execute(
        "UPDATE bookmarks SET body = ?2 WHERE id = ?1",
        params![id, body.to_string()],
    )?;
    Ok(json!({"bookmark": body}))
}

pub(super) fn remove_bookmark(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let (id, _) = bookmark(tx.db(), call)?;
    tx.db()
        .execute("DELETE FROM bookmarks WHERE id = ?1", [&id])?;
    Ok(json!({}))
}

pub(super) fn bookmarks(db: &Db, call: &Call) -> Result<Value> {
    let found: Vec<Value> = db.rows(
        "SELECT body FROM bookmarks WHERE channel = ?1
         ORDER BY CAST(json_extract(body, '$.date_created') AS BIGINT), id",
        [&channel_of(db, call)?],
    )?;
    Ok(json!({"bookmarks": found}))
}
