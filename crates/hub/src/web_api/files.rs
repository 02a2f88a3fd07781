//! Upload in three steps, as Slack has it now: ask for an address, put the bytes
//! there, say what to do with them.

use butler_protocol::{ChannelId, ThreadId};
use serde_json::{Value, json};

use super::{Call, args::Args, chat};
use crate::{
    budget::limits,
    error::{Refusal, Result, When},
    hub::App,
    identity::BOT_USER,
    log::{self, Happening},
    store::{Db, Tx},
    workspace::{
        AgentPost,
        files::{self, File, NewFile},
        gate, outbox,
    },
};

pub(super) fn get_upload_url(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let mut name = call.args.need("filename", Refusal::InvalidArguments)?;
    gate::clean_text(&call.app.redactor, &mut name);
    let length = call.args.number("length");
    let length = length.ok_or(Refusal::InvalidArguments)?;
    let repo = &call.agent.repo;
    limits::may_keep(tx.db(), &call.app.rules.limits, repo, length)?;
    let file = NewFile {
        owner: repo.clone(),
        user: BOT_USER.to_owned(),
        name,
        length,
    };
    announced(tx.db(), &file, &call.base())
}

/// Where the bytes of a file are to be put.
pub(super) fn announced(db: &Db, file: &NewFile, base: &str) -> Result<Value> {
    let (id, key) = files::announce(db, file)?;
    Ok(json!({"upload_url": format!("{base}/upload/{id}?key={key}"), "file_id": id}))
}

pub(super) fn complete_upload(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let Upload { wanted, mut post } = upload_of(call, call.base())?;
    let channel = post.as_ref().map(|post| &post.channel);
    let shown = settled(tx.db(), &call.agent.repo, &wanted, channel, &call.base())?;
    let mut answer = json!({"files": shown});
    if let Some(post) = &mut post {
        post.files = shown;
        let (fence, rules) = (call.fence.as_ref(), &call.app.rules);
        let posted = outbox::post(tx, &call.agent, fence, post, rules)?;
        answer["codebutler"] = json!({"ts": posted["ts"]});
    }
    Ok(answer)
}

/// Files that an agent brings, and the message that shares them.
pub(crate) struct Upload {
    pub(crate) wanted: Vec<(String, Option<String>)>,
    pub(crate) post: Option<AgentPost>,
}

/// Reads what an agent says of its files and passes it through the gate.
pub(crate) fn upload_of(call: &Call, base: String) -> Result<Upload> {
    let (args, wanted) = (&call.args, wanted_of(&call.app, &call.args)?);
    let thread_ts = args.ts("thread_ts", Refusal::InvalidThreadTs)?;
    let mut text = args.text("initial_comment").unwrap_or_default();
    gate::clean_text(&call.app.redactor, &mut text);
    let metadata = chat::own_metadata(call)?;
    let post = channel_of(args).map(|channel| AgentPost {
        thread_ts,
        username: args.text("username"),
        icon_emoji: args.text("icon_emoji"),
        metadata,
        ..AgentPost::new(channel, text, base)
    });
    Ok(Upload { wanted, post })
}

/// Settles the files that a call names, and shows them as Slack would.
pub(crate) fn settled(
    db: &Db,
    owner: &str,
    wanted: &[(String, Option<String>)],
    channel: Option<&ChannelId>,
    base: &str,
) -> Result<Vec<Value>> {
    let settle = |(id, title): &(String, Option<String>)| {
        let file = files::settle(db, owner, id, title.as_deref(), channel)?;
        Ok(files::shown(&file, base))
    };
    wanted.iter().map(settle).collect()
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
pub(super) fn list(db: &Db, call: &Call) -> Result<Value> {
    let (channel, user) = (call.args.text("channel"), call.args.text("user"));
    let count = call.args.number("count").unwrap_or(100).clamp(1, 1000);
    let page = call.args.number("page").unwrap_or(1).max(1);
    let all = files::of_repo(db, &call.agent.repo)?;
    let wanted = |file: &&File| {
        let there = file.channel.as_ref().map(ChannelId::as_str);
        channel.is_none() || there == channel.as_deref()
    };
    let by_user = |file: &&File| user.as_ref().is_none_or(|wanted| file.user == *wanted);
    let found: Vec<_> = all.iter().filter(wanted).filter(by_user).collect();
    let total = found.len() as u64;
    let first = usize::try_from((page - 1).saturating_mul(count)).unwrap_or(usize::MAX);
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let (found, base) = (found.into_iter().skip(first).take(most), call.base());
    let shown = found.map(|file| Ok(files::shown(&files::get(db, &file.id)?, &base)));
    let shown: Vec<Value> = shown.collect::<Result<_>>()?;
    Ok(
        json!({"files": shown, "paging": {"count": count, "total": total, "page": page,
        "pages": total.div_ceil(count)}}),
    )
}

/// The file that a call names: one of the repo, or of a channel that the caller may use.
fn file_of(db: &Db, call: &Call) -> Result<File> {
    let file = files::get(db, &call.args.need("file", Refusal::FileNotFound)?)?;
    let uses = |channel| call.agent.may_use(db, channel).is_ok();
    let shared = file.channel.as_ref().is_some_and(uses);
    Refusal::FileNotFound.when(file.owner != call.agent.repo && !shared)?;
    Ok(file)
}

/// Deletes a file that the app itself brought.
pub(super) fn delete(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let file = file_of(tx.db(), call)?;
    Refusal::CantDeleteFile.when(file.owner != call.agent.repo)?;
    tx.db()
        .execute("DELETE FROM files WHERE id = ?1", [&file.id])?;
    if let Some(channel) = file.channel {
        let event_ts = tx.next_ts();
        let event = json!({"type": "file_deleted", "file_id": file.id, "channel_ids": [channel],
            "event_ts": event_ts});
        let thread = ThreadId::new(channel, event_ts);
        log::append(tx, Happening::new(thread, Some(call.agent.role), event))?;
    }
    Ok(json!({}))
}

pub(super) fn info(db: &Db, call: &Call) -> Result<Value> {
    let file = file_of(db, call)?;
    let mut shown = files::shown(&file, &call.base());
    shown["shares"] = files::shares(db, &file)?;
    Ok(json!({"file": shown, "comments": [], "response_metadata": {"next_cursor": ""}}))
}
