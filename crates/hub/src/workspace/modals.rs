//! Modals and home tabs: what an app shows to one person beside the channel. A modal
//! needs a trigger, which is what that person did a moment ago; up to three of them lie
//! on top of each other.

pub(crate) mod interactions;

use butler_protocol::{ThreadId, UserId};
use serde_json::{Value, json};

use super::{channels, message};
use crate::{
    error::{Refusal, Result, Trouble, When},
    identity::{APP, Agent, BOT, TEAM, tokens::random_text},
    log::Notice,
    store::{Db, Tx, from_row, params},
    web_api::blocks,
};

/// How long a trigger is good.
const TRIGGER_MS: i64 = 3_000;
/// How long it is remembered, so that a late app is told that it is late.
const REMEMBERED_MS: i64 = 3_600_000;
/// Modals on top of each other.
const STACK: usize = 3;
const BLOCKS: usize = 100;

/// Makes the id with which an app may open a modal for this person.
pub(crate) fn trigger(tx: &mut Tx<'_>, thread: &ThreadId, person: &UserId) -> Result<String> {
    let now = tx.db().now_ms();
    let id = format!("{}.codebutler", random_text().to_ascii_lowercase());
    let old = now - REMEMBERED_MS;
    tx.db()
        .execute("DELETE FROM triggers WHERE expires_ms < ?1", [old])?;
    tx.db().execute(
        "INSERT INTO triggers (id, channel, root, person, expires_ms, used)
         VALUES (?1, ?2, ?3, ?4, ?5, 0)",
        params![id, thread, person, now + TRIGGER_MS],
    )?;
    Ok(id)
}

/// Uses a trigger up: whose it is, and where they were.
fn redeem(tx: &Tx<'_>, agent: &Agent, id: &str) -> Result<(ThreadId, UserId)> {
    let sql = "SELECT channel, root, person, expires_ms, used FROM triggers WHERE id = ?1";
    let found = tx.db().first::<(ThreadId, UserId, i64, bool)>(sql, [id])?;
    let (thread, person, expires_ms, used) = found.ok_or(Refusal::InvalidTriggerId)?;
    Refusal::InvalidTriggerId.when(agent.may_use(tx.db(), &thread.channel).is_err())?;
    Refusal::ExchangedTriggerId.when(used)?;
    Refusal::ExpiredTriggerId.when(expires_ms < tx.db().now_ms())?;
    tx.db()
        .execute("UPDATE triggers SET used = 1 WHERE id = ?1", [id])?;
    Ok((thread, person))
}

/// A view as it stands in the store.
pub(crate) struct View {
    pub(crate) thread: ThreadId,
    pub(crate) person: UserId,
    pub(crate) body: Value,
    errors: Option<String>,
}

impl View {
    pub(crate) fn id(&self) -> &str {
        self.body["id"].as_str().unwrap_or_default()
    }

    /// In Slack's shape, with what the app found wrong in it.
    fn shown(self) -> Value {
        let mut shown = self.body;
        if let Some(errors) = self.errors {
            shown["errors"] = serde_json::from_str(&errors).unwrap_or_default();
        }
        shown
    }
}

const COLUMNS: &str = "channel, root, person, body, errors";
from_row! { View: thread, person, body, errors }

/// What a person has open, the newest last.
fn stack(db: &Db, person: &UserId, kind: &str) -> Result<Vec<View>> {
    let sql =
        format!("SELECT {COLUMNS} FROM views WHERE person = ?1 AND kind = ?2 ORDER BY number");
    Ok(db.rows(&sql, params![person, kind])?)
}

/// The modals that a person has open and their home tabs, in Slack's shape.
pub(crate) fn of(db: &Db, person: &UserId) -> Result<(Vec<Value>, Vec<Value>)> {
    let shown = |kind| -> Result<Vec<Value>> {
        let all = stack(db, person, kind)?;
        Ok(all.into_iter().map(View::shown).collect())
    };
    Ok((shown("modal")?, shown("home")?))
}

/// One view.
pub(crate) fn get(db: &Db, id: &str) -> Result<View> {
    let sql = format!("SELECT {COLUMNS} FROM views WHERE id = ?1");
    db.first(&sql, [id])?
        .ok_or(Trouble::Refused(Refusal::NotFound))
}

/// Opens a modal; what the person had open goes.
pub(crate) fn open(tx: &mut Tx<'_>, agent: &Agent, trigger: &str, view: &Value) -> Result<Value> {
    let (thread, person) = redeem(tx, agent, trigger)?;
    clear(tx, &person)?;
    add(tx, agent, (thread, person), "modal", view)
}

/// Puts a modal on top of the others.
pub(crate) fn push(tx: &mut Tx<'_>, agent: &Agent, trigger: &str, view: &Value) -> Result<Value> {
    let (thread, person) = redeem(tx, agent, trigger)?;
    add(tx, agent, (thread, person), "modal", view)
}

/// Shows a person this home tab from now on.
pub(crate) fn publish(
    tx: &mut Tx<'_>,
    agent: &Agent,
    person: &UserId,
    hash: Option<&str>,
    view: &Value,
) -> Result<Value> {
    channels::user(tx.db(), person)?;
    let old: Option<String> = tx.db().first(
        "SELECT id FROM views WHERE person = ?1 AND agent = ?2 AND kind = 'home'",
        params![person, agent.key],
    )?;
    if let Some(old) = old {
        return update(tx, agent, &old, hash, view);
    }
    let home = channels::of_repo(tx.db(), &agent.repo)?.into_iter().next();
    let home = home.ok_or(Refusal::ChannelNotFound)?;
    let thread = ThreadId::new(home, tx.next_ts());
    add(tx, agent, (thread, person.clone()), "home", view)
}

fn add(
    tx: &mut Tx<'_>,
    agent: &Agent,
    (thread, person): (ThreadId, UserId),
    kind: &str,
    view: &Value,
) -> Result<Value> {
    let below = stack(tx.db(), &person, kind)?;
    Refusal::PushLimitReached.when(kind == "modal" && below.len() >= STACK)?;
    let id = format!("V{}", &random_text()[..10]);
    let mut body = built(tx.db(), view, kind, &id)?;
    if let (Some(first), Some(top), "modal") = (below.first(), below.last(), kind) {
        body["root_view_id"] = json!(first.id());
        body["previous_view_id"] = json!(top.id());
    }
    tx.db().execute(
        "INSERT INTO views (id, agent, kind, channel, root, person, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![id, agent.key, kind, thread, person, body.to_string()],
    )?;
    changed(tx, &thread);
    Ok(body)
}

/// The id of the view that an app names by its own name for it.
pub(crate) fn by_external_id(db: &Db, agent: &Agent, name: &str) -> Result<String> {
    let found = db.first(
        "SELECT id FROM views WHERE agent = ?1 AND json_extract(body, '$.external_id') = ?2",
        params![agent.key, name],
    )?;
    found.ok_or(Trouble::Refused(Refusal::NotFound))
}

/// Puts another view in the place of one, unless it changed since `hash`.
pub(crate) fn update(
    tx: &mut Tx<'_>,
    agent: &Agent,
    id: &str,
    hash: Option<&str>,
    view: &Value,
) -> Result<Value> {
    let old = get(tx.db(), id)?;
    Refusal::NotFound.when(agent.may_use(tx.db(), &old.thread.channel).is_err())?;
    Refusal::HashConflict.when(hash.is_some_and(|hash| old.body["hash"] != hash))?;
    let kind = old.body["type"].as_str().unwrap_or_default();
    let mut body = built(tx.db(), view, kind, id)?;
    for kept in ["root_view_id", "previous_view_id", "state"] {
        body[kept] = old.body[kept].clone();
    }
    keep(tx, &old.thread, &body, None)?;
    Ok(body)
}

/// Writes a view down, with what is wrong in it.
fn keep(tx: &mut Tx<'_>, thread: &ThreadId, body: &Value, errors: Option<&Value>) -> Result<()> {
    tx.db().execute(
        "UPDATE views SET body = ?2, errors = ?3 WHERE id = ?1",
        params![
            body["id"].as_str(),
            body.to_string(),
            errors.map(Value::to_string)
        ],
    )?;
    changed(tx, thread);
    Ok(())
}

/// Closes every modal of a person.
fn clear(tx: &mut Tx<'_>, person: &UserId) -> Result<()> {
    tx.db().run(
        "DELETE FROM views WHERE person = ?1 AND kind = 'modal'",
        [&person],
    )
}

/// Closes one.
fn close(tx: &mut Tx<'_>, view: &View) -> Result<()> {
    tx.db()
        .execute("DELETE FROM views WHERE id = ?1", [view.id()])?;
    changed(tx, &view.thread);
    Ok(())
}

fn changed(tx: &mut Tx<'_>, thread: &ThreadId) {
    tx.say(Notice::Page(thread.clone()));
}

/// A view in Slack's shape, once it is one that Slack would take.
fn built(db: &Db, given: &Value, kind: &str, id: &str) -> Result<Value> {
    check(given, kind).map_err(|what| Trouble::Explained(Refusal::InvalidArguments, what))?;
    let external = given["external_id"].as_str().unwrap_or_default();
    let taken: bool = db.one(
        "SELECT EXISTS (SELECT 1 FROM views WHERE id <> ?1 AND ?2 <> ''
           AND json_extract(body, '$.external_id') = ?2)",
        [id, external],
    )?;
    Refusal::DuplicateExternalId.when(taken)?;
    let words = |field: &str| given[field].as_str().unwrap_or_default().to_owned();
    let mut view = json!({
        "id": id, "team_id": TEAM, "type": kind, "app_id": APP, "bot_id": BOT,
        "app_installed_team_id": TEAM, "root_view_id": id, "previous_view_id": null,
        "hash": format!("{}.{}", db.now_ms() / 1000, &random_text()[..8]),
        "state": {"values": {}}, "callback_id": words("callback_id"),
        "private_metadata": words("private_metadata"), "external_id": external,
        "clear_on_close": given["clear_on_close"] == true,
        "notify_on_close": given["notify_on_close"] == true,
        "title": null, "close": null, "submit": null,
        "blocks": message::with_ids(given["blocks"].clone()),
    });
    for field in ["title", "close", "submit"] {
        view[field] = given[field].clone();
    }
    Ok(view)
}

fn check(view: &Value, kind: &str) -> Result<(), String> {
    if view["type"] != kind {
        return Err(format!("must be {kind} [json-pointer:/view/type]"));
    }
    let Some(list) = view["blocks"].as_array() else {
        return Err("missing required field: blocks [json-pointer:/view]".to_owned());
    };
    if list.len() > BLOCKS {
        let what = "no more than 100 items allowed [json-pointer:/view/blocks]";
        return Err(what.to_owned());
    }
    blocks::each_fits(list, "/view/blocks")?;
    blocks::short(view, "callback_id", 255, "/view")?;
    blocks::short(view, "external_id", 255, "/view")?;
    blocks::short(view, "private_metadata", 3000, "/view")?;
    if kind == "home" {
        return Ok(());
    }
    blocks::plain_text(view, "title", 24, "/view")?;
    for word in ["submit", "close"] {
        if !view[word].is_null() {
            blocks::plain_text(view, word, 24, "/view")?;
        }
    }
    let fills_in = list.iter().any(|block| block["type"] == "input");
    if fills_in && view["submit"].is_null() {
        return Err("missing required field: submit [json-pointer:/view]".to_owned());
    }
    Ok(())
}
