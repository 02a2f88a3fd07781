//! Channels and their messages. A token sees the channels of its own repo.

use serde_json::{Value, json};

use super::Call;
use crate::{
    error::{Refusal, Trouble, refuse},
    workspace::{channels, read},
};

/// Posts may name their channel as people do, `#name`.
pub(super) async fn by_name(call: &mut Call) -> Result<(), Trouble> {
    let wanted = call.args.text("channel").unwrap_or_default();
    let Some(name) = wanted.strip_prefix('#').map(str::to_owned) else {
        return Ok(());
    };
    let repo = call.agent.repo.clone();
    let all = call
        .app
        .store
        .read(move |db| channels::list(db, Some(&repo)))
        .await?;
    match all.iter().find(|channel| channel.name == name) {
        Some(channel) => {
            call.args.set("channel", channel.id.as_str());
            Ok(())
        }
        None => refuse(Refusal::ChannelNotFound),
    }
}

/// Every channel here is a public one.
pub(super) async fn list(call: Call) -> Result<Value, Trouble> {
    let kinds = call.args.text("types").unwrap_or_default();
    if !kinds.is_empty() && !kinds.split(',').any(|kind| kind.trim() == "public_channel") {
        return page(&call, Vec::new(), "channels");
    }
    let repo = call.agent.repo.clone();
    let all = call
        .app
        .store
        .read(move |db| channels::list(db, Some(&repo)))
        .await?;
    let shown: Vec<Value> = all.iter().map(channels::shown).collect();
    page(&call, shown, "channels")
}

pub(super) async fn info(call: Call) -> Result<Value, Trouble> {
    let (agent, channel) = (call.agent.clone(), call.args.channel()?);
    let found = call
        .app
        .store
        .read(move |db| {
            agent.may_use(db, &channel)?;
            channels::get(db, &channel)
        })
        .await?;
    Ok(json!({"channel": channels::shown(&found)}))
}

pub(super) async fn create(call: Call) -> Result<Value, Trouble> {
    let name = call.args.need("name", Refusal::InvalidNameRequired)?;
    if crate::identity::names::channel_name(&name) != name {
        return refuse(Refusal::InvalidNameSpecials);
    }
    let repo = call.agent.repo.clone();
    let made = call
        .app
        .store
        .write(move |tx| channels::create(tx.db(), &repo, &name))
        .await?;
    Ok(json!({"channel": channels::shown(&made)}))
}

pub(super) async fn join(call: Call) -> Result<Value, Trouble> {
    let mut answer = info(call).await?;
    answer["warning"] = json!("already_in_channel");
    answer["response_metadata"] = json!({"warnings": ["already_in_channel"]});
    Ok(answer)
}

pub(super) async fn members(call: Call) -> Result<Value, Trouble> {
    let (agent, channel) = (call.agent.clone(), call.args.channel()?);
    let users = call
        .app
        .store
        .read(move |db| {
            agent.may_use(db, &channel)?;
            channels::users(db)
        })
        .await?;
    let ids: Vec<Value> = users.into_iter().map(|user| user["id"].clone()).collect();
    page(&call, ids, "members")
}

/// Lists that are short enough to be cut in memory; the cursor is an offset.
pub(super) fn page(call: &Call, all: Vec<Value>, field: &str) -> Result<Value, Trouble> {
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

pub(super) async fn history(call: Call) -> Result<Value, Trouble> {
    let (agent, channel, range) = (call.agent.clone(), call.args.channel()?, range_of(&call)?);
    let page = call
        .app
        .store
        .read(move |db| {
            agent.may_use(db, &channel)?;
            read::history(db, &channel, &range)
        })
        .await?;
    Ok(answer(&page))
}

pub(super) async fn replies(call: Call) -> Result<Value, Trouble> {
    let (agent, channel, range) = (call.agent.clone(), call.args.channel()?, range_of(&call)?);
    let Some(ts) = call.args.ts("ts", Refusal::ThreadNotFound)? else {
        return refuse(Refusal::InvalidArguments);
    };
    let page = call
        .app
        .store
        .read(move |db| {
            agent.may_use(db, &channel)?;
            read::replies(db, &channel, &ts, &range)
        })
        .await?;
    Ok(answer(&page))
}

fn answer(page: &read::Page) -> Value {
    json!({"messages": page.messages, "has_more": !page.next_cursor.is_empty(),
        "pin_count": 0, "response_metadata": {"next_cursor": page.next_cursor}})
}

fn range_of(call: &Call) -> Result<read::Range, Trouble> {
    let edge = |name: &str, bad| -> Result<Option<String>, Trouble> {
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
