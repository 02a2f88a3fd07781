//! Pins and bookmarks: what a channel keeps at hand.

use butler_protocol::{ChannelId, MessageTs, ThreadId};
use serde_json::{Value, json};
use url::Url;

use super::Call;
use crate::{
    error::{Refusal, Trouble, refuse},
    identity::names::{BOT_USER, TEAM},
    log::{self, Happening},
    store::{
        db::Db,
        sql::{OptionalExtension, params},
    },
    workspace::{channels, gate, message, read},
};

pub(super) async fn add(call: Call) -> Result<Value, Trouble> {
    pin(call, true).await
}

pub(super) async fn remove(call: Call) -> Result<Value, Trouble> {
    pin(call, false).await
}

async fn pin(call: Call, on: bool) -> Result<Value, Trouble> {
    let (agent, fence, channel) = (call.agent.clone(), call.fence.clone(), call.args.channel()?);
    let Some(ts) = call.args.ts("timestamp", Refusal::BadTimestamp)? else {
        return refuse(Refusal::NoItemSpecified);
    };
    let write = call.app.store.write(move |tx| {
        agent.check_fence(tx.db(), fence.as_ref())?;
        agent.may_use(tx.db(), &channel)?;
        channels::writable(tx.db(), &channel)?;
        let Some(found) = message::find(tx.db(), &channel, &ts)? else {
            return refuse(Refusal::MessageNotFound);
        };
        let sql = match on {
            true => "INSERT OR IGNORE INTO pins (channel, ts, user, at_ms) VALUES (?1, ?2, ?3, ?4)",
            false => "DELETE FROM pins WHERE channel = ?1 AND ts = ?2 AND ?3 <> '' AND ?4 > 0",
        };
        let now = tx.db().now_ms();
        let key = params![channel.as_str(), ts.as_str(), BOT_USER, now];
        if tx.db().execute(sql, key)? == 0 {
            return refuse(if on {
                Refusal::AlreadyPinned
            } else {
                Refusal::NoPin
            });
        }
        let event = json!({"type": if on { "pin_added" } else { "pin_removed" },
            "user": BOT_USER, "channel_id": channel, "event_ts": tx.next_ts(), "has_pins": on,
            "item": {"type": "message", "channel": channel, "message": found.body,
                "created": now / 1000, "created_by": BOT_USER}});
        let thread = ThreadId::new(channel, found.root);
        log::append(tx, Happening::new(thread, Some(agent.role), event))?;
        Ok(json!({}))
    });
    write.await
}

pub(super) async fn list(call: Call) -> Result<Value, Trouble> {
    let (agent, channel) = (call.agent.clone(), call.args.channel()?);
    let look = call.app.store.read(move |db| {
        agent.may_use(db, &channel)?;
        let mut statement = db.prepare_cached(
            "SELECT ts, user, at_ms FROM pins WHERE channel = ?1 ORDER BY at_ms DESC, ts DESC",
        )?;
        let rows = statement.query_map([channel.as_str()], |row| {
            let ts: String = row.get(0)?;
            Ok((ts, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
        })?;
        let mut items = Vec::new();
        for row in rows {
            let (ts, user, at_ms) = row?;
            let Ok(ts) = ts.parse() else { continue };
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
    });
    look.await
}

fn channel_id(call: &Call) -> Result<ChannelId, Trouble> {
    let id = call.args.need("channel_id", Refusal::ChannelNotFound)?;
    Ok(ChannelId::new(id))
}

/// The fields of a bookmark that a call gives, cleaned.
fn given(call: &Call) -> Result<Vec<(&'static str, String)>, Trouble> {
    let mut fields = Vec::new();
    for field in ["title", "link", "emoji"] {
        if let Some(mut words) = call.args.text(field) {
            gate::clean_text(&call.app.redactor, &mut words);
            fields.push((field, words));
        }
    }
    let link = fields.iter().find(|(field, _)| *field == "link");
    if link.is_some_and(|(_, link)| Url::parse(link).is_err()) {
        return refuse(Refusal::InvalidLink);
    }
    Ok(fields)
}

pub(super) async fn add_bookmark(call: Call) -> Result<Value, Trouble> {
    let channel = channel_id(&call)?;
    call.args.need("title", Refusal::InvalidArguments)?;
    if call.args.text("type").as_deref() != Some("link") {
        return refuse(Refusal::InvalidBookmarkType);
    }
    call.args.need("link", Refusal::InvalidLink)?;
    let fields = given(&call)?;
    let agent = call.agent.clone();
    let write = call.app.store.write(move |tx| {
        agent.may_use(tx.db(), &channel)?;
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
            params![body["id"].as_str(), channel.as_str(), body.to_string()],
        )?;
        Ok(json!({"bookmark": body}))
    });
    write.await
}

/// Of a bookmark made later it is greater.
fn digits(ts: &MessageTs) -> String {
    ts.as_str().chars().filter(char::is_ascii_digit).collect()
}

fn bookmark(db: &Db, channel: &ChannelId, id: &str) -> Result<Value, Trouble> {
    let body: Option<String> = db
        .query_row(
            "SELECT body FROM bookmarks WHERE id = ?1 AND channel = ?2",
            [id, channel.as_str()],
            |row| row.get(0),
        )
        .optional()?;
    match body {
        Some(body) => Ok(serde_json::from_str(&body)?),
        None => refuse(Refusal::NotFound),
    }
}

pub(super) async fn edit_bookmark(call: Call) -> Result<Value, Trouble> {
    let channel = channel_id(&call)?;
    let id = call.args.need("bookmark_id", Refusal::NotFound)?;
    let fields = given(&call)?;
    let agent = call.agent.clone();
    let write = call.app.store.write(move |tx| {
        agent.may_use(tx.db(), &channel)?;
        let mut body = bookmark(tx.db(), &channel, &id)?;
        for (field, words) in fields {
            body[field] = json!(words);
        }
        body["date_updated"] = json!(tx.db().now_ms() / 1000);
        tx.db().execute(
            "UPDATE bookmarks SET body = ?2 WHERE id = ?1",
            params![id, body.to_string()],
        )?;
        Ok(json!({"bookmark": body}))
    });
    write.await
}

pub(super) async fn remove_bookmark(call: Call) -> Result<Value, Trouble> {
    let channel = channel_id(&call)?;
    let id = call.args.need("bookmark_id", Refusal::NotFound)?;
    let agent = call.agent.clone();
    let write = call.app.store.write(move |tx| {
        agent.may_use(tx.db(), &channel)?;
        bookmark(tx.db(), &channel, &id)?;
        tx.db()
            .execute("DELETE FROM bookmarks WHERE id = ?1", [&id])?;
        Ok(json!({}))
    });
    write.await
}

pub(super) async fn bookmarks(call: Call) -> Result<Value, Trouble> {
    let (agent, channel) = (call.agent.clone(), channel_id(&call)?);
    let look = call.app.store.read(move |db| {
        agent.may_use(db, &channel)?;
        let mut statement = db.prepare_cached(
            "SELECT body FROM bookmarks WHERE channel = ?1
             ORDER BY CAST(json_extract(body, '$.date_created') AS BIGINT), id",
        )?;
        let rows = statement.query_map([channel.as_str()], |row| row.get::<_, String>(0))?;
        let mut found: Vec<Value> = Vec::new();
        for body in rows {
            found.push(serde_json::from_str(&body?)?);
        }
        Ok(json!({"bookmarks": found}))
    });
    look.await
}
