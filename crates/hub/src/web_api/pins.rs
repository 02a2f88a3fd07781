//! Pins and bookmarks: what a channel keeps at hand.

use butler_protocol::{ChannelId, MessageTs, ThreadId};
use serde_json::{Value, json};
use url::Url;

use super::Call;
use crate::{
    error::{Refusal, Result, Trouble, When, refuse},
    identity::{BOT_USER, TEAM},
    log::{self, Happening},
    store::{Db, params},
    workspace::{channels, gate, message, read},
};

pub(super) async fn pin(call: Call, on: bool) -> Result<Value> {
    let (channel, ts) = (call.args.channel()?, call.args.item()?);
    let place = channel.clone();
    let write = call.write_in(&place, move |tx, agent| {
        channels::writable(tx.db(), &channel)?;
        let found = message::get(tx.db(), &channel, &ts)?;
        let sql = match on {
            true => "INSERT OR IGNORE INTO pins (channel, ts, user, at_ms) VALUES (?1, ?2, ?3, ?4)",
            false => "DELETE FROM pins WHERE channel = ?1 AND ts = ?2 AND ?3 <> '' AND ?4 > 0",
        };
        let now = tx.db().now_ms();
        let key = params![channel, ts, BOT_USER, now];
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

pub(super) async fn list(call: Call) -> Result<Value> {
    let (agent, channel) = (call.agent.clone(), call.args.channel()?);
    let look = call.app.read(move |db| {
        agent.may_use(db, &channel)?;
        let sql =
            "SELECT ts, user, at_ms FROM pins WHERE channel = ?1 ORDER BY at_ms DESC, ts DESC";
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
    });
    look.await
}

fn channel_id(call: &Call) -> Result<ChannelId> {
    let id = call.args.need("channel_id", Refusal::ChannelNotFound)?;
    Ok(ChannelId::new(id))
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

pub(super) async fn add_bookmark(call: Call) -> Result<Value> {
    let channel = channel_id(&call)?;
    call.args.need("title", Refusal::InvalidArguments)?;
    Refusal::InvalidBookmarkType.when(call.args.text("type").as_deref() != Some("link"))?;
    call.args.need("link", Refusal::InvalidLink)?;
    let fields = given(&call)?;
    let agent = call.agent.clone();
    let write = call.app.write(move |tx| {
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
            params![body["id"].as_str(), channel, body.to_string()],
        )?;
        Ok(json!({"bookmark": body}))
    });
    write.await
}

/// Of a bookmark made later it is greater.
fn digits(ts: &MessageTs) -> String {
    ts.as_str().chars().filter(char::is_ascii_digit).collect()
}

fn bookmark(db: &Db, channel: &ChannelId, id: &str) -> Result<Value> {
    let sql = "SELECT body FROM bookmarks WHERE id = ?1 AND channel = ?2";
    let body = db.first(sql, params![id, channel])?;
    body.ok_or(Trouble::Refused(Refusal::NotFound))
}

pub(super) async fn edit_bookmark(call: Call) -> Result<Value> {
    let channel = channel_id(&call)?;
    let id = call.args.need("bookmark_id", Refusal::NotFound)?;
    let fields = given(&call)?;
    let agent = call.agent.clone();
    let write = call.app.write(move |tx| {
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

pub(super) async fn remove_bookmark(call: Call) -> Result<Value> {
    let channel = channel_id(&call)?;
    let id = call.args.need("bookmark_id", Refusal::NotFound)?;
    let agent = call.agent.clone();
    let write = call.app.write(move |tx| {
        agent.may_use(tx.db(), &channel)?;
        bookmark(tx.db(), &channel, &id)?;
        tx.db()
            .execute("DELETE FROM bookmarks WHERE id = ?1", [&id])?;
        Ok(json!({}))
    });
    write.await
}

pub(super) async fn bookmarks(call: Call) -> Result<Value> {
    let (agent, channel) = (call.agent.clone(), channel_id(&call)?);
    let look = call.app.read(move |db| {
        agent.may_use(db, &channel)?;
        let found: Vec<Value> = db.rows(
            "SELECT body FROM bookmarks WHERE channel = ?1
             ORDER BY CAST(json_extract(body, '$.date_created') AS BIGINT), id",
            [&channel],
        )?;
        Ok(json!({"bookmarks": found}))
    });
    look.await
}
