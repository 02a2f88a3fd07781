//! Channels and their messages. A token sees the channels of its own repo.

pub(crate) mod changes;

use butler_protocol::ChannelId;
use serde_json::{Value, json};

use super::Call;
use crate::{
    error::{Refusal, Result, Trouble, When, refuse},
    identity::{BOT_USER, channel_name, tokens::random_text},
    store::{Db, Tx},
    workspace::{
        Channel,
        channels::{self, Kind, members},
        read,
    },
};

/// Posts may name their channel as people do, `#name` or `name`, or a person by their id.
pub(super) async fn by_name(call: &mut Call) -> Result<()> {
    let wanted = call.args.text("channel").unwrap_or_default();
    // Ids begin with a capital, which no name of a channel has.
    let bare = wanted.starts_with(|first: char| first.is_ascii_lowercase());
    let name = wanted.strip_prefix('#').or(bare.then_some(wanted.as_str()));
    let id = match name.map(str::to_owned) {
        Some(name) => {
            let repo = call.agent.repo.clone();
            let look = move |db: &Db| channels::list(db, Some(&repo));
            let all = call.app.read(look).await?;
            let found = all.into_iter().find(|channel| channel.name == name);
            let found = found.ok_or(Refusal::ChannelNotFound)?;
            found.id
        }
        None if wanted.starts_with('U') && call.app.relay.is_none() => {
            let agent = call.agent.clone();
            let open = call.app.write(move |tx| {
                let opened = changes::direct(tx, &agent.repo, &[wanted]);
                opened.map_err(|_| Trouble::Refused(Refusal::ChannelNotFound))
            });
            open.await?.0.id
        }
        None => return Ok(()),
    };
    call.args.set("channel", id.as_str());
    Ok(())
}

/// The channels of a repo that are of the wanted `types`. What is private is seen by who
/// is in it.
fn wanted(db: &Db, call: &Call, member: Option<&str>) -> Result<Value> {
    let kinds = call.args.text("types");
    let kinds = kinds.as_deref().unwrap_or("public_channel");
    let without_old = call.args.flag("exclude_archived");
    let mut shown = Vec::new();
    for channel in channels::list(db, Some(&call.agent.repo))? {
        let kind = channel.kind.type_word();
        let is_wanted = kinds.split(',').any(|wanted| wanted.trim() == kind);
        let sees = channel.kind == Kind::Public || members::is_in(db, &channel, BOT_USER)?;
        let listed = match member {
            Some(user) => members::is_in(db, &channel, user)?,
            None => true,
        };
        if is_wanted && sees && listed && !(without_old && channel.archived) {
            shown.push(channels::shown(db, &channel)?);
        }
    }
    page(call, shown, "channels")
}

pub(super) fn list(db: &Db, call: &Call) -> Result<Value> {
    wanted(db, call, None)
}

/// `users.conversations`: those that somebody is in, or the app itself.
pub(super) fn of_user(db: &Db, call: &Call) -> Result<Value> {
    let user = call.args.text("user");
    wanted(db, call, Some(user.as_deref().unwrap_or(BOT_USER)))
}

pub(super) fn info(db: &Db, call: &Call) -> Result<Value> {
    let found = channels::get(db, &call.channel(db)?)?;
    Ok(json!({"channel": channels::shown(db, &found)?}))
}

/// A name that Slack would take for a channel.
fn named(call: &Call) -> Result<String> {
    let name = call.args.need("name", Refusal::InvalidNameRequired)?;
    Refusal::InvalidNameMaxlength.when(name.chars().count() > 80)?;
    match channel_name(&name) == name {
        true => Ok(name),
        false => refuse(Refusal::InvalidNameSpecials),
    }
}

pub(super) fn create(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let (name, repo) = (named(call)?, &call.agent.repo);
    let made: Channel = if call.args.flag("is_private") {
        let id = ChannelId::new(format!("C{}", &random_text()[..10]));
        let made = channels::add(tx.db(), &id, repo, &name, Kind::Private)?;
        members::set(tx.db(), &made, BOT_USER, true)?;
        made
    } else {
        let made = channels::create(tx.db(), repo, &name)?;
        let event = json!({"type": "channel_created", "channel": {"id": made.id,
            "name": made.name, "created": made.created_ms / 1000, "creator": BOT_USER}});
        changes::tell(tx, &call.agent, &made.id, event)?;
        made
    };
    Ok(json!({"channel": channels::shown(tx.db(), &made)?}))
}

pub(super) fn members(db: &Db, call: &Call) -> Result<Value> {
    let users = members::of(db, &channels::get(db, &call.channel(db)?)?)?;
    page(
        call,
        users.into_iter().map(Value::from).collect(),
        "members",
    )
}

/// Lists that are short enough to be cut in memory; the cursor is an offset.
pub(super) fn page(call: &Call, all: Vec<Value>, field: &str) -> Result<Value> {
    let start: usize = match call.args.text("cursor") {
        None => 0,
        Some(cursor) => match cursor.strip_prefix("at:").map(str::parse) {
            Some(Ok(start)) => start,
            _ => return refuse(Refusal::InvalidCursor),
        },
    };
    let limit = call.args.limit(100);
    let end = start.saturating_add(limit);
    let next = if all.len() > end {
        format!("at:{end}")
    } else {
        String::new()
    };
    let items: Vec<Value> = all.into_iter().skip(start).take(limit).collect();
    Ok(json!({field: items, "response_metadata": {"next_cursor": next}}))
}

pub(super) fn history(db: &Db, call: &Call) -> Result<Value> {
    let range = range_of(call)?;
    let found = read::history(db, &call.channel(db)?, &range)?;
    Ok(answer(&found))
}

pub(super) fn replies(db: &Db, call: &Call) -> Result<Value> {
    let range = range_of(call)?;
    let missing = Refusal::InvalidArguments;
    let ts = call.args.need_ts("ts", Refusal::ThreadNotFound, missing)?;
    let found = read::replies(db, &call.channel(db)?, &ts, &range)?;
    Ok(answer(&found))
}

fn answer(page: &read::Page) -> Value {
    json!({"messages": page.messages, "has_more": !page.next_cursor.is_empty(),
        "pin_count": 0, "response_metadata": {"next_cursor": page.next_cursor}})
}

fn range_of(call: &Call) -> Result<read::Range> {
    let edge = |name: &str, bad| -> Result<Option<String>> {
        match call.args.text(name) {
            None => Ok(None),
            // `0` and whole seconds are common for "from the beginning".
            Some(text) if text.bytes().all(|b| b.is_ascii_digit() || b == b'.') => {
                let (seconds, micros) = text.split_once('.').unwrap_or((&text, ""));
                Ok(Some(format!("{seconds:0>10}.{micros:0<6}")))
            }
            Some(_) => refuse(bad),
        }
    };
    Ok(read::Range {
        oldest: edge("oldest", Refusal::InvalidTsOldest)?,
        latest: edge("latest", Refusal::InvalidTsLatest)?,
        inclusive: call.args.flag("inclusive"),
        limit: call.args.limit(100),
        cursor: call.args.text("cursor"),
        all_metadata: call.args.flag("include_all_metadata"),
    })
}
