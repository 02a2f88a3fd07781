//! Upload in three steps, as Slack has it now: ask for an address, put the bytes
//! there, say what to do with them.

use butler_protocol::{ChannelId, MessageTs, ThreadId};
use serde_json::{Value, json};

use super::{Call, args::Args, chat};
use crate::{
    budget::limits,
    error::{Refusal, Result, When, refuse},
    hub::App,
    identity::BOT_USER,
    log::{self, Happening},
    workspace::{
        AgentPost,
        files::{self, NewFile},
        gate, outbox,
    },
};

pub(super) async fn get_upload_url(call: Call) -> Result<Value> {
    let mut name = call.args.need("filename", Refusal::InvalidArguments)?;
    gate::clean_text(&call.app.redactor, &mut name);
    let length = call
        .args
        .number("length")
        .ok_or(Refusal::InvalidArguments)?;
    let file = NewFile {
        owner: call.agent.repo.clone(),
        user: BOT_USER.to_owned(),
        name,
        length,
    };
    let allowed = call.app.rules.limits.clone();
    let write = call.write(move |tx, agent| {
        limits::may_keep(tx.db(), &allowed, &agent.repo, file.length)?;
        files::announce(tx.db(), &file)
    });
    let (id, key) = write.await?;
    let url = format!("{}/upload/{id}?key={key}", call.base());
    Ok(json!({"upload_url": url, "file_id": id}))
}

pub(super) async fn complete_upload(call: Call) -> Result<Value> {
    let wanted = wanted_of(&call.app, &call.args)?;
    let channel = channel_of(&call.args);
    let thread: Option<MessageTs> = call.args.ts("thread_ts", Refusal::InvalidThreadTs)?;
    let mut text = call.args.text("initial_comment").unwrap_or_default();
    gate::clean_text(&call.app.redactor, &mut text);
    let (username, icon_emoji) = (call.args.text("username"), call.args.text("icon_emoji"));
    let metadata = chat::own_metadata(&call)?;
    let base = call.base();
    let (fence, rules) = (call.fence.clone(), call.app.rules.clone());
    call.write(move |tx, agent| {
        let mut shown = Vec::new();
        for (id, title) in &wanted {
            let file = files::settle(tx.db(), &agent.repo, id, title.as_deref(), channel.as_ref())?;
            shown.push(files::shown(&file, &base));
        }
        let mut answer = json!({"files": shown});
        if let Some(channel) = channel {
            let post = AgentPost {
                thread_ts: thread,
                files: shown,
                username,
                icon_emoji,
                metadata,
                ..AgentPost::new(channel, text, base)
            };
            let posted = outbox::post(tx, agent, fence.as_ref(), &post, &rules)?;
            answer["codebutler"] = json!({"ts": posted["ts"]});
        }
        Ok(answer)
    })
    .await
}

/// The files that a call names, with their titles.
pub(crate) fn wanted_of(app: &App, args: &Args) -> Result<Vec<(String, Option<String>)>> {
    let listed = args.json("files", Refusal::InvalidArguments)?;
    let mut wanted = Vec::new();
    for item in listed
        .as_ref()
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let id = item["id"].as_str().ok_or(Refusal::InvalidArguments)?;
        let mut title = item["title"].as_str().unwrap_or_default().to_owned();
        gate::clean_text(&app.redactor, &mut title);
        wanted.push((id.to_owned(), Some(title).filter(|title| !title.is_empty())));
    }
    Refusal::InvalidArguments.when(wanted.is_empty())?;
    Ok(wanted)
}

/// Where a call shares its files.
pub(crate) fn channel_of(args: &Args) -> Option<ChannelId> {
    let named = args.text("channel_id");
    let named = named.or_else(|| args.text("channels"));
    named.map(ChannelId::new)
}

/// The files of the repo and of its channels, newest first, in pages by number.
pub(super) async fn list(call: Call) -> Result<Value> {
    let (agent, base) = (call.agent.clone(), call.base());
    let (channel, user) = (call.args.text("channel"), call.args.text("user"));
    let count = call.args.number("count").unwrap_or(100).clamp(1, 1000);
    let page = call.args.number("page").unwrap_or(1).max(1);
    let look = call.app.read(move |db| {
        let all = files::of_repo(db, &agent.repo)?;
        let wanted = |file: &&files::File| {
            let there = file.channel.as_ref().map(ChannelId::as_str);
            channel
                .as_deref()
                .is_none_or(|wanted| there == Some(wanted))
                && user.as_deref().is_none_or(|wanted| file.user == wanted)
        };
        let found: Vec<&files::File> = all.iter().filter(wanted).collect();
        let total = found.len() as u64;
        let first = usize::try_from((page - 1).saturating_mul(count)).unwrap_or(usize::MAX);
        let shown: Vec<Value> = found
            .into_iter()
            .skip(first)
            .take(usize::try_from(count).unwrap_or(usize::MAX))
            .map(|file| Ok(files::shown(&files::get(db, &file.id)?, &base)))
            .collect::<Result<_>>()?;
        Ok(
            json!({"files": shown, "paging": {"count": count, "total": total, "page": page,
            "pages": total.div_ceil(count)}}),
        )
    });
    look.await
}

/// Deletes a file that the app itself brought.
pub(super) async fn delete(call: Call) -> Result<Value> {
    let id = call.args.need("file", Refusal::FileNotFound)?;
    let write = call.write(move |tx, agent| {
        let file = files::get(tx.db(), &id)?;
        let shared = match &file.channel {
            Some(channel) => agent.may_use(tx.db(), channel).is_ok(),
            None => false,
        };
        if file.owner != agent.repo {
            return refuse(match shared {
                true => Refusal::CantDeleteFile,
                false => Refusal::FileNotFound,
            });
        }
        tx.db().execute("DELETE FROM files WHERE id = ?1", [&id])?;
        if let Some(channel) = file.channel {
            let event_ts = tx.next_ts();
            let event = json!({"type": "file_deleted", "file_id": id, "channel_ids": [channel],
                "event_ts": event_ts});
            let thread = ThreadId::new(channel, event_ts);
            log::append(tx, Happening::new(thread, Some(agent.role), event))?;
        }
        Ok(json!({}))
    });
    write.await
}

pub(super) async fn info(call: Call) -> Result<Value> {
    let id = call.args.need("file", Refusal::FileNotFound)?;
    let agent = call.agent.clone();
    let base = call.base();
    call.app
        .read(move |db| {
            let file = files::get(db, &id)?;
            let own = file.owner == agent.repo;
            let shared = match &file.channel {
                Some(channel) => agent.may_use(db, channel).is_ok(),
                None => false,
            };
            Refusal::FileNotFound.when(!own && !shared)?;
            let mut shown = files::shown(&file, &base);
            shown["shares"] = files::shares(db, &file)?;
            Ok(json!({"file": shown, "comments": [], "response_metadata": {"next_cursor": ""}}))
        })
        .await
}
