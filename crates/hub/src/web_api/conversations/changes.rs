//! What changes a channel: who is in it, its name, topic and purpose, whether it is kept.
//! Everybody who listens is told, as by Slack.

use butler_protocol::{ChannelId, ThreadId, UserId};
use serde_json::{Value, json};

use super::named;
use crate::{
    error::{Refusal, Result, When, refuse},
    identity::{Agent, BOT_USER, TEAM, id_of},
    log::{self, Happening},
    store::{Db, Tx, params},
    web_api::Call,
    workspace::{
        Channel,
        channels::{self, Kind, members},
        gate,
    },
};

/// Logs something that happened to a channel.
pub(super) fn tell(
    tx: &mut Tx<'_>,
    agent: &Agent,
    channel: &ChannelId,
    mut event: Value,
) -> Result<()> {
    let place = tx.next_ts();
    event["event_ts"] = json!(place);
    let thread = ThreadId::new(channel.clone(), place);
    log::append(tx, Happening::new(thread, Some(agent.role), event)).map(drop)
}

/// The channel that a call names.
fn channel_of(db: &Db, call: &Call) -> Result<Channel> {
    channels::get(db, &call.channel(db)?)
}

/// The same for calls that direct messages have no answer for: they have neither name nor
/// topic, and nobody can be asked into them.
fn room_of(db: &Db, call: &Call) -> Result<Channel> {
    let channel = channel_of(db, call)?;
    not_direct(&channel)?;
    Ok(channel)
}

/// The same where the channel has to be open.
fn open_room_of(db: &Db, call: &Call) -> Result<Channel> {
    let channel = room_of(db, call)?;
    channels::writable(db, &channel.id)?;
    Ok(channel)
}

/// A channel as it is now.
fn shown(db: &Db, channel: &Channel) -> Result<Value> {
    let channel = channels::get(db, &channel.id)?;
    Ok(json!({"channel": channels::shown(db, &channel)?}))
}

fn not_direct(channel: &Channel) -> Result<()> {
    match channel.kind {
        Kind::Public | Kind::Private => Ok(()),
        _ => refuse(Refusal::MethodNotSupportedForChannelType),
    }
}

fn users_of(call: &Call) -> Vec<String> {
    let given = call.args.text("users").unwrap_or_default();
    let names = given.split(',').map(|user| user.trim().to_owned());
    names.filter(|user| !user.is_empty()).collect()
}

fn came(tx: &mut Tx<'_>, agent: &Agent, channel: &Channel, user: &str) -> Result<()> {
    members::set(tx.db(), channel, user, true)?;
    let event = json!({"type": "member_joined_channel", "user": user, "channel": channel.id,
        "channel_type": moved(channel), "team": TEAM, "inviter": BOT_USER});
    tell(tx, agent, &channel.id, event)
}

fn went(tx: &mut Tx<'_>, agent: &Agent, channel: &Channel, user: &str) -> Result<()> {
    let event = json!({"type": "member_left_channel", "user": user, "channel": channel.id,
        "channel_type": moved(channel), "team": TEAM});
    tell(tx, agent, &channel.id, event)?;
    members::set(tx.db(), channel, user, false)
}

/// `channel_type` of who came and went, which has words of its own.
fn moved(channel: &Channel) -> &'static str {
    match channel.kind {
        Kind::Public => "C",
        _ => "G",
    }
}

pub(crate) fn join(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let channel = channel_of(tx.db(), call)?;
    let is_in = members::is_in(tx.db(), &channel, BOT_USER)?;
    Refusal::MethodNotSupportedForChannelType.when(channel.kind != Kind::Public && !is_in)?;
    Refusal::IsArchived.when(channel.archived)?;
    if !is_in {
        came(tx, &call.agent, &channel, BOT_USER)?;
    }
    let mut answer = json!({"channel": channels::shown(tx.db(), &channel)?});
    if is_in {
        answer["warning"] = json!("already_in_channel");
        answer["response_metadata"] = json!({"warnings": ["already_in_channel"]});
    }
    Ok(answer)
}

pub(crate) fn leave(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let channel = room_of(tx.db(), call)?;
    if !members::is_in(tx.db(), &channel, BOT_USER)? {
        return Ok(json!({"not_in_channel": true}));
    }
    went(tx, &call.agent, &channel, BOT_USER)?;
    Ok(json!({}))
}

pub(crate) fn invite(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let users = users_of(call);
    Refusal::NoUser.when(users.is_empty())?;
    let channel = open_room_of(tx.db(), call)?;
    for user in &users {
        Refusal::CantInviteSelf.when(user == BOT_USER)?;
        channels::user(tx.db(), &UserId::new(user.as_str()))?;
        Refusal::AlreadyInChannel.when(members::is_in(tx.db(), &channel, user)?)?;
        came(tx, &call.agent, &channel, user)?;
    }
    shown(tx.db(), &channel)
}

pub(crate) fn kick(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let user = call.args.need("user", Refusal::NoUser)?;
    let channel = open_room_of(tx.db(), call)?;
    Refusal::CantKickSelf.when(user == BOT_USER)?;
    channels::user(tx.db(), &UserId::new(user.as_str()))?;
    Refusal::NotInChannel.when(!members::is_in(tx.db(), &channel, &user)?)?;
    went(tx, &call.agent, &channel, &user)?;
    Ok(json!({"errors": {}}))
}

/// Sets the topic or the purpose; they are told of as messages.
pub(crate) fn describe(tx: &mut Tx<'_>, call: &Call, field: &str) -> Result<Value> {
    let mut words = call.args.text(field).unwrap_or_default();
    Refusal::TooLong.when(words.chars().count() > 250)?;
    gate::clean_text(&call.app.redactor, &mut words);
    let channel = channel_of(tx.db(), call)?;
    channels::writable(tx.db(), &channel.id)?;
    let sql = format!("UPDATE channels SET {field} = ?2 WHERE id = ?1");
    tx.db().execute(&sql, params![channel.id, words])?;
    let event = json!({"type": "message", "subtype": format!("channel_{field}"),
        "user": BOT_USER, "channel": channel.id, "ts": tx.next_ts(), field: words,
        "channel_type": channel.kind.channel_type(),
        "text": format!("set the channel {field}: {words}")});
    tell(tx, &call.agent, &channel.id, event)?;
    let mut answer = shown(tx.db(), &channel)?;
    answer[field] = json!(words);
    Ok(answer)
}

/// Puts a channel away, or takes it out again.
pub(crate) fn put_away(tx: &mut Tx<'_>, call: &Call, away: bool) -> Result<Value> {
    let channel = room_of(tx.db(), call)?;
    let (already, kind) = match away {
        true => (Refusal::AlreadyArchived, "channel_archive"),
        false => (Refusal::NotArchived, "channel_unarchive"),
    };
    already.when(channel.archived == away)?;
    tx.db().execute(
        "UPDATE channels SET archived = ?2 WHERE id = ?1",
        params![channel.id, away],
    )?;
    let event = json!({"type": kind, "channel": channel.id, "user": BOT_USER});
    tell(tx, &call.agent, &channel.id, event)?;
    Ok(json!({}))
}

pub(crate) fn rename(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let name = named(call)?;
    let channel = open_room_of(tx.db(), call)?;
    Refusal::NameTaken.when(channel.name != name && channels::is_taken(tx.db(), &name)?)?;
    tx.db().execute(
        "UPDATE channels SET name = ?2 WHERE id = ?1",
        params![channel.id, name],
    )?;
    let event = json!({"type": "channel_rename", "channel": {"id": channel.id, "name": name,
        "name_normalized": name, "created": channel.created_ms / 1000}});
    tell(tx, &call.agent, &channel.id, event)?;
    shown(tx.db(), &channel)
}

/// How far the app has read; nobody here asks it.
pub(crate) fn mark(db: &Db, call: &Call) -> Result<Value> {
    const BAD: Refusal = Refusal::BadTimestamp;
    call.args.need_ts("ts", BAD, BAD)?;
    channel_of(db, call)?;
    Ok(json!({}))
}

/// A conversation of the app with one person or with several.
pub(crate) fn open(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let (mut answer, known) = if call.args.text("channel").is_some() {
        (super::info(tx.db(), call)?, true)
    } else {
        let (channel, known) = direct(tx, &call.agent.repo, &users_of(call))?;
        let shown = match call.args.flag("return_im") {
            true => channels::shown(tx.db(), &channel)?,
            false => json!({"id": channel.id}),
        };
        (json!({"channel": shown}), known)
    };
    if known {
        answer["no_op"] = json!(true);
        answer["already_open"] = json!(true);
    }
    Ok(answer)
}

/// The conversation with these people, and whether there was one already.
pub(crate) fn direct(tx: &Tx<'_>, repo: &str, users: &[String]) -> Result<(Channel, bool)> {
    // Who asks is there anyway.
    let users: Vec<&String> = users.iter().filter(|user| *user != BOT_USER).collect();
    Refusal::UsersListNotSupplied.when(users.is_empty())?;
    let mut names = Vec::new();
    for user in &users {
        let found = channels::user(tx.db(), &UserId::new(user.as_str()))?;
        names.push(found["name"].as_str().unwrap_or_default().to_owned());
    }
    names.sort();
    names.dedup();
    let (kind, prefix) = match names.len() {
        1 => (Kind::Direct, 'D'),
        2..=8 => (Kind::Group, 'G'),
        _ => return refuse(Refusal::InvalidArguments),
    };
    let together = names.join("--");
    let id = ChannelId::new(id_of(prefix, &["direct", repo, &together]));
    if let Ok(known) = channels::get(tx.db(), &id) {
        return Ok((known, true));
    }
    // The name is for the page; another repository's team may have one like it.
    let name = match channels::is_taken(tx.db(), &format!("dm-{together}"))? {
        true => format!("dm-{together}-{}", id.as_str().to_ascii_lowercase()),
        false => format!("dm-{together}"),
    };
    let channel = channels::add(tx.db(), &id, repo, &name, kind)?;
    members::set(tx.db(), &channel, BOT_USER, true)?;
    for user in users {
        members::set(tx.db(), &channel, user, true)?;
    }
    Ok((channel, false))
}

pub(crate) fn close(db: &Db, call: &Call) -> Result<Value> {
    channel_of(db, call)?;
    Ok(json!({"no_op": true, "already_closed": true}))
}
