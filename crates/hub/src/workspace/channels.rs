//! Channels and people.

use butler_protocol::{ChannelId, UserId};
use rusqlite::{OptionalExtension, params};
use serde_json::{Value, json};

use crate::{
    error::{Refusal, Trouble, refuse},
    identity::names::{APP, BOT, BOT_NAME, BOT_USER, TEAM, channel_name, id_of},
    store::db::Db,
};

/// A channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Channel {
    pub(crate) id: ChannelId,
    pub(crate) name: String,
    pub(crate) repo: String,
    pub(crate) created_ms: i64,
}

const COLUMNS: &str = "id, name, repo, created_ms";

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Channel> {
    Ok(Channel {
        id: ChannelId::new(row.get::<_, String>(0)?),
        name: row.get(1)?,
        repo: row.get(2)?,
        created_ms: row.get(3)?,
    })
}

/// All channels, by name; of one repo only when it is given.
pub(crate) fn list(db: &Db, repo: Option<&str>) -> Result<Vec<Channel>, Trouble> {
    let sql = format!("SELECT {COLUMNS} FROM channels WHERE ?1 IS NULL OR repo = ?1 ORDER BY name");
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map([repo], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// One channel.
pub(crate) fn get(db: &Db, id: &ChannelId) -> Result<Channel, Trouble> {
    let sql = format!("SELECT {COLUMNS} FROM channels WHERE id = ?1");
    let found = db
        .prepare_cached(&sql)?
        .query_row([id.as_str()], read)
        .optional()?;
    found.ok_or(Trouble::Refused(Refusal::ChannelNotFound))
}

/// The channels of a repo.
pub(crate) fn of_repo(db: &Db, repo: &str) -> Result<Vec<ChannelId>, Trouble> {
    let mut statement = db.prepare_cached("SELECT id FROM channels WHERE repo = ?1 ORDER BY id")?;
    let rows = statement.query_map([repo], |row| row.get::<_, String>(0))?;
    let ids = rows.map(|id| id.map(ChannelId::new));
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Makes a channel for a repo; a taken name is refused.
pub(crate) fn create(db: &Db, repo: &str, wanted: &str) -> Result<Channel, Trouble> {
    let name = channel_name(wanted);
    let taken: bool = db
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM channels WHERE name = ?1)")?
        .query_row([&name], |row| row.get(0))?;
    if taken {
        return refuse(Refusal::NameTaken);
    }
    let id = ChannelId::new(id_of('C', &["channel", repo, &name]));
    db.execute(
        "INSERT INTO channels (id, name, repo, created_ms) VALUES (?1, ?2, ?3, ?4)",
        params![id.as_str(), name, repo, db.now_ms()],
    )?;
    get(db, &id)
}

/// A channel in Slack's shape.
pub(crate) fn shown(channel: &Channel) -> Value {
    json!({
        "id": channel.id, "name": channel.name, "name_normalized": channel.name,
        "created": channel.created_ms / 1000, "creator": BOT_USER,
        "is_channel": true, "is_group": false, "is_im": false, "is_mpim": false,
        "is_private": false, "is_archived": false, "is_general": false, "is_member": true,
        "is_shared": false, "context_team_id": TEAM,
        "topic": {"value": "", "creator": "", "last_set": 0},
        "purpose": {"value": channel.repo, "creator": "", "last_set": 0},
    })
}

/// Everybody: the people and the app's own user.
pub(crate) fn users(db: &Db) -> Result<Vec<Value>, Trouble> {
    let mut statement = db.prepare_cached("SELECT id, name FROM people ORDER BY name")?;
    let rows = statement.query_map([], |row| {
        Ok(person(&row.get::<_, String>(0)?, &row.get::<_, String>(1)?))
    })?;
    let mut found: Vec<Value> = rows.collect::<Result<_, _>>()?;
    found.push(bot_user());
    Ok(found)
}

/// One user in Slack's shape.
pub(crate) fn user(db: &Db, id: &UserId) -> Result<Value, Trouble> {
    if id.as_str() == BOT_USER {
        return Ok(bot_user());
    }
    let name: Option<String> = db
        .prepare_cached("SELECT name FROM people WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    match name {
        Some(name) => Ok(person(id.as_str(), &name)),
        None => refuse(Refusal::UserNotFound),
    }
}

fn person(id: &str, name: &str) -> Value {
    json!({
        "id": id, "team_id": TEAM, "name": name, "real_name": name, "deleted": false,
        "is_bot": false, "is_app_user": false, "tz": "Etc/UTC", "tz_offset": 0, "updated": 0,
        "profile": {"real_name": name, "display_name": name, "team": TEAM},
    })
}

fn bot_user() -> Value {
    json!({
        "id": BOT_USER, "team_id": TEAM, "name": BOT_NAME, "real_name": "CodeButler",
        "deleted": false, "is_bot": true, "is_app_user": false, "tz": "Etc/UTC",
        "tz_offset": 0, "updated": 0,
        "profile": {"real_name": "CodeButler", "display_name": BOT_NAME, "team": TEAM,
            "bot_id": BOT, "api_app_id": APP},
    })
}
