//! Channels and people. What is private is marked so for apps, not hidden from the
//! people here: everybody of this workspace shares one page.

pub(crate) mod members;

use butler_protocol::{ChannelId, UserId};
use serde_json::{Value, json};

use crate::{
    error::{Refusal, Result, Trouble, When, refuse},
    identity::{APP, BOT, BOT_NAME, BOT_USER, TEAM, channel_name, id_of, tokens::random_text},
    store::{Db, FromSql, from_row, params, sql},
};

/// What a channel is to Slack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Public,
    Private,
    /// The app and one person.
    Direct,
    /// The app and several people.
    Group,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Public, Kind::Private, Kind::Direct, Kind::Group];

    /// As the store has it.
    fn word(self) -> &'static str {
        match self {
            Kind::Public => "channel",
            Kind::Private => "private",
            Kind::Direct => "im",
            Kind::Group => "mpim",
        }
    }

    /// `channel_type` of an event.
    pub(crate) fn channel_type(self) -> &'static str {
        match self {
            Kind::Private => "group",
            other => other.word(),
        }
    }

    /// One of the `types` of a list.
    pub(crate) fn type_word(self) -> &'static str {
        match self {
            Kind::Public => "public_channel",
            Kind::Private => "private_channel",
            other => other.word(),
        }
    }
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Channel {
    pub(crate) id: ChannelId,
    pub(crate) name: String,
    pub(crate) repo: String,
    pub(crate) created_ms: i64,
    pub(crate) kind: Kind,
    pub(crate) archived: bool,
    pub(crate) topic: String,
    /// Its repository, unless somebody said something else.
    pub(crate) purpose: String,
}

const COLUMNS: &str = "id, name, repo, created_ms, kind, archived, topic, coalesce(purpose, repo)";

impl FromSql for Kind {
    const NAME: &'static str = "a kind of channel";
    fn from_value(value: sql::Value<'_>) -> Option<Self> {
        let kind = String::from_value(value)?;
        let found = Self::ALL.into_iter().find(|one| one.word() == kind);
        Some(found.unwrap_or(Kind::Public))
    }
}

from_row! { Channel: id, name, repo, created_ms, kind, archived, topic, purpose }

/// All channels, by name; of one repo only when it is given.
pub(crate) fn list(db: &Db, repo: Option<&str>) -> Result<Vec<Channel>> {
    let sql = format!("SELECT {COLUMNS} FROM channels WHERE ?1 IS NULL OR repo = ?1 ORDER BY name");
    Ok(db.rows(&sql, [repo])?)
}

/// One channel.
pub(crate) fn get(db: &Db, id: &ChannelId) -> Result<Channel> {
    let sql = format!("SELECT {COLUMNS} FROM channels WHERE id = ?1");
    let found = db.first(&sql, [id])?;
    found.ok_or(Trouble::Refused(Refusal::ChannelNotFound))
}

/// The channels of a repo.
pub(crate) fn of_repo(db: &Db, repo: &str) -> Result<Vec<ChannelId>> {
    Ok(db.rows(
        "SELECT id FROM channels WHERE repo = ?1 ORDER BY id",
        [repo],
    )?)
}

/// Refuses to write where the app is not, or where nobody writes any more.
pub(crate) fn writable(db: &Db, id: &ChannelId) -> Result<()> {
    let channel = get(db, id)?;
    Refusal::IsArchived.when(channel.archived)?;
    match members::is_in(db, &channel, BOT_USER)? {
        true => Ok(()),
        false => refuse(Refusal::NotInChannel),
    }
}

/// `channel_type` of the events of a channel.
pub(crate) fn channel_type(db: &Db, id: &ChannelId) -> &'static str {
    get(db, id).map_or("channel", |channel| channel.kind.channel_type())
}

/// Makes a public channel for a repo; a taken name is refused.
pub(crate) fn create(db: &Db, repo: &str, wanted: &str) -> Result<Channel> {
    let name = channel_name(wanted);
    let mut id = ChannelId::new(id_of('C', &["channel", repo, &name]));
    // Whoever was made under this name may have another by now.
    if get(db, &id).is_ok() {
        id = ChannelId::new(format!("C{}", &random_text()[..10]));
    }
    add(db, &id, repo, &name, Kind::Public)
}

/// Makes a channel; a taken name is refused.
pub(crate) fn add(db: &Db, id: &ChannelId, repo: &str, name: &str, kind: Kind) -> Result<Channel> {
    Refusal::NameTaken.when(is_taken(db, name)?)?;
    db.execute(
        "INSERT INTO channels (id, name, repo, created_ms, kind) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![id, name, repo, db.now_ms(), kind.word()],
    )?;
    get(db, id)
}

/// Whether a channel has this name.
pub(crate) fn is_taken(db: &Db, name: &str) -> Result<bool> {
    Ok(db.one(
        "SELECT EXISTS (SELECT 1 FROM channels WHERE name = ?1)",
        [name],
    )?)
}

/// A channel in Slack's shape, as the app sees it.
pub(crate) fn shown(db: &Db, channel: &Channel) -> Result<Value> {
    let is = |kind| channel.kind == kind;
    let members = members::of(db, channel)?;
    let is_member = members.iter().any(|user| user == BOT_USER);
    let topic = |value: &str| json!({"value": value, "creator": "", "last_set": 0});
    let mut shown = json!({
        "id": channel.id, "created": channel.created_ms / 1000, "creator": BOT_USER,
        "is_channel": is(Kind::Public), "is_group": is(Kind::Private),
        "is_im": is(Kind::Direct), "is_mpim": is(Kind::Group),
        "is_private": !is(Kind::Public), "is_archived": channel.archived,
        "is_general": false, "is_member": is_member, "is_shared": false,
        "is_ext_shared": false, "is_org_shared": false, "is_pending_ext_shared": false,
        "context_team_id": TEAM, "shared_team_ids": [TEAM], "pending_shared": [],
        "pending_connected_team_ids": [], "parent_conversation": null, "previous_names": [],
        "unlinked": 0, "updated": channel.created_ms, "num_members": members.len(),
        "topic": topic(&channel.topic), "purpose": topic(&channel.purpose),
    });
    if is(Kind::Direct) {
        let other = members.iter().find(|user| *user != BOT_USER);
        shown["user"] = json!(other);
        shown["is_open"] = json!(true);
    } else {
        shown["name"] = json!(channel.name);
        shown["name_normalized"] = json!(channel.name);
    }
    Ok(shown)
}

/// Everybody: the people and the app's own user.
pub(crate) fn users(db: &Db) -> Result<Vec<Value>> {
    let people = db.rows::<[String; 2]>("SELECT id, name FROM people ORDER BY name", [])?;
    let people = people.iter().map(|[id, name]| person(id, name));
    Ok(people.chain([bot_user()]).collect())
}

/// One user in Slack's shape.
pub(crate) fn user(db: &Db, id: &UserId) -> Result<Value> {
    if id.as_str() == BOT_USER {
        return Ok(bot_user());
    }
    let name: Option<String> = db.first("SELECT name FROM people WHERE id = ?1", [&id])?;
    match name {
        Some(name) => Ok(person(id.as_str(), &name)),
        None => refuse(Refusal::UserNotFound),
    }
}

fn person(id: &str, name: &str) -> Value {
    let mut user = shape(id, name, name);
    user["profile"]["email"] = json!(email(name));
    user
}

/// Everything that Slack says of a user, for apps that read it.
fn shape(id: &str, name: &str, real_name: &str) -> Value {
    json!({
        "id": id, "team_id": TEAM, "name": name, "real_name": real_name, "deleted": false,
        "color": "4bbe2e", "is_admin": false, "is_owner": false, "is_primary_owner": false,
        "is_restricted": false, "is_ultra_restricted": false, "is_bot": false,
        "is_app_user": false, "is_email_confirmed": true, "tz": "Etc/UTC", "tz_label": "UTC",
        "tz_offset": 0, "updated": 0, "who_can_share_contact_card": "EVERYONE",
        "profile": {"real_name": real_name, "real_name_normalized": real_name,
            "display_name": name, "display_name_normalized": name, "first_name": real_name,
            "last_name": "", "title": "", "phone": "", "skype": "", "avatar_hash": "",
            "status_text": "", "status_emoji": "", "status_expiration": 0, "image_24": "",
            "image_32": "", "image_48": "", "image_72": "", "image_192": "", "image_512": "",
            "team": TEAM},
    })
}

/// An address that leads nowhere: apps look people up by theirs.
fn email(name: &str) -> String {
    format!("{}@codebutler.localhost", channel_name(name))
}

fn bot_user() -> Value {
    let mut user = shape(BOT_USER, BOT_NAME, "CodeButler");
    user["is_bot"] = json!(true);
    user["profile"]["bot_id"] = json!(BOT);
    user["profile"]["api_app_id"] = json!(APP);
    user
}
