//! What changes a channel: who is in it, its name, topic and purpose, whether it is kept.
//! Everybody who listens is told, as by Slack.

use butler_protocol::{ChannelId, ThreadId, UserId};
use serde_json::{Value, json};

use super::named;
use crate::{
    error::{Refusal, Result, When, refuse},
    identity::{Agent, BOT_USER, TEAM, id_of},
    log::{self, Happening},
    store::{Tx, params},
    web_api::Call,
    workspace::{
        Channel,
        channels::{self, Kind, members},
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

/// Does something with the channel that a call names.
async fn in_channel<T: Send + 'static>(
    call: &Call,
    work: impl FnOnce(&mut Tx<'_>, &Agent, &Channel) -> Result<T> + Send + 'static,
) -> Result<T> {
    let channel = call.args.channel()?;
    let id = channel.clone();
    call.write_in(&channel, move |tx, agent| {
        let channel = channels::get(tx.db(), &id)?;
        work(tx, agent, &channel)
    })
    .await
}

/// Changes the channel that a call names, and answers with it.
async fn change(
    call: Call,
    work: impl FnOnce(&mut Tx<'_>, &Agent, &Channel) -> Result<()> + Send + 'static,
) -> Result<Value> {
    let write = in_channel(&call, move |tx, agent, channel| {
        work(tx, agent, channel)?;
        let channel = channels::get(tx.db(), &channel.id)?;
        Ok(json!({"channel": channels::shown(tx.db(), &channel)?}))
    });
    write.await
}

/// Direct messages have neither name nor topic, and nobody can be asked into them.
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

pub(crate) async fn join(call: Call) -> Result<Value> {
    let write = in_channel(&call, |tx, agent, channel| {
        let is_in = members::is_in(tx.db(), channel, BOT_USER)?;
        Refusal::MethodNotSupportedForChannelType.when(channel.kind != Kind::Public && !is_in)?;
        Refusal::IsArchived.when(channel.archived)?;
        if !is_in {
            came(tx, agent, channel, BOT_USER)?;
        }
        let mut answer = json!({"channel": channels::shown(tx.db(), channel)?});
        if is_in {
            answer["warning"] = json!("already_in_channel");
            answer["response_metadata"] = json!({"warnings": ["already_in_channel"]});
        }
        Ok(answer)
    });
    write.await
}

pub(crate) async fn leave(call: Call) -> Result<Value> {
    let write = in_channel(&call, |tx, agent, channel| {
        not_direct(channel)?;
        if !members::is_in(tx.db(), channel, BOT_USER)? {
            return Ok(json!({"not_in_channel": true}));
        }
        went(tx, agent, channel, BOT_USER)?;
        Ok(json!({}))
    });
    write.await
}

pub(crate) async fn invite(call: Call) -> Result<Value> {
    let users = users_of(&call);
    Refusal::NoUser.when(users.is_empty())?;
    change(call, move |tx, agent, channel| {
        not_direct(channel)?;
        channels::writable(tx.db(), &channel.id)?;
        for user in &users {
            Refusal::CantInviteSelf.when(user == BOT_USER)?;
            channels::user(tx.db(), &UserId::new(user.as_str()))?;
            Refusal::AlreadyInChannel.when(members::is_in(tx.db(), channel, user)?)?;
            came(tx, agent, channel, user)?;
        }
        Ok(())
    })
    .await
}

pub(crate) async fn kick(call: Call) -> Result<Value> {
    let user = call.args.need("user", Refusal::NoUser)?;
    change(call, move |tx, agent, channel| {
        not_direct(channel)?;
        channels::writable(tx.db(), &channel.id)?;
        Refusal::CantKickSelf.when(user == BOT_USER)?;
        channels::user(tx.db(), &UserId::new(user.as_str()))?;
        Refusal::NotInChannel.when(!members::is_in(tx.db(), channel, &user)?)?;
        went(tx, agent, channel, &user)
    })
    .await?;
    Ok(json!({"errors": {}}))
}

/// Sets the topic or the purpose; they are told of as messages.
pub(crate) async fn describe(call: Call, field: &'static str) -> Result<Value> {
    let words = call.args.text(field).unwrap_or_default();
    Refusal::TooLong.when(words.chars().count() > 250)?;
    let mut kept = words.clone();
    crate::workspace::gate::clean_text(&call.app.redactor, &mut kept);
    let set = kept.clone();
    let mut answer = change(call, move |tx, agent, channel| {
        channels::writable(tx.db(), &channel.id)?;
        let sql = format!("UPDATE channels SET {field} = ?2 WHERE id = ?1");
        tx.db().execute(&sql, params![channel.id, set])?;
        let event = json!({"type": "message", "subtype": format!("channel_{field}"),
            "user": BOT_USER, "channel": channel.id, "ts": tx.next_ts(), field: set,
            "channel_type": channel.kind.channel_type(),
            "text": format!("set the channel {field}: {set}")});
        tell(tx, agent, &channel.id, event)
    })
    .await?;
    answer[field] = json!(kept);
    Ok(answer)
}

/// Puts a channel away, or takes it out again.
pub(crate) async fn put_away(call: Call, away: bool) -> Result<Value> {
    change(call, move |tx, agent, channel| {
        not_direct(channel)?;
        if channel.archived == away {
            return refuse(match away {
                true => Refusal::AlreadyArchived,
                false => Refusal::NotArchived,
            });
        }
        tx.db().execute(
            "UPDATE channels SET archived = ?2 WHERE id = ?1",
            params![channel.id, away],
        )?;
        let kind = if away {
            "channel_archive"
        } else {
            "channel_unarchive"
        };
        let event = json!({"type": kind, "channel": channel.id, "user": BOT_USER});
        tell(tx, agent, &channel.id, event)
    })
    .await?;
    Ok(json!({}))
}

pub(crate) async fn rename(call: Call) -> Result<Value> {
    let name = named(&call)?;
    change(call, move |tx, agent, channel| {
        not_direct(channel)?;
        channels::writable(tx.db(), &channel.id)?;
        Refusal::NameTaken.when(channel.name != name && channels::is_taken(tx.db(), &name)?)?;
        tx.db().execute(
            "UPDATE channels SET name = ?2 WHERE id = ?1",
            params![channel.id, name],
        )?;
        let event = json!({"type": "channel_rename", "channel": {"id": channel.id, "name": name,
            "name_normalized": name, "created": channel.created_ms / 1000}});
        tell(tx, agent, &channel.id, event)
    })
    .await
}

/// How far the app has read; nobody here asks it.
pub(crate) async fn mark(call: Call) -> Result<Value> {
    const BAD: Refusal = Refusal::BadTimestamp;
    call.args.need_ts("ts", BAD, BAD)?;
    super::info(call).await?;
    Ok(json!({}))
}

/// A conversation of the app with one person or with several.
pub(crate) async fn open(call: Call) -> Result<Value> {
    if call.args.text("channel").is_some() {
        let mut answer = super::info(call).await?;
        answer["no_op"] = json!(true);
        answer["already_open"] = json!(true);
        return Ok(answer);
    }
    let users = users_of(&call);
    let whole = call.args.flag("return_im");
    let agent = call.agent.clone();
    let write = call.app.write(move |tx| {
        let (channel, known) = direct(tx, &agent.repo, &users)?;
        let mut shown = channels::shown(tx.db(), &channel)?;
        if !whole {
            shown = json!({"id": channel.id});
        }
        let mut answer = json!({"channel": shown});
        if known {
            answer["no_op"] = json!(true);
            answer["already_open"] = json!(true);
        }
        Ok(answer)
    });
    write.await
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

pub(crate) async fn close(call: Call) -> Result<Value> {
    super::info(call).await?;
    Ok(json!({"no_op": true, "already_closed": true}))
}
