//! Upload in three steps, as Slack has it now: ask for an address, put the bytes
//! there, say what to do with them.

use butler_protocol::{ChannelId, MessageTs};
use serde_json::{Value, json};

use super::Call;
use crate::{
    error::{Refusal, Trouble, refuse},
    identity::names::BOT_USER,
    workspace::{
        files::{self, NewFile},
        gate,
        outbox::{self, AgentPost},
    },
};

pub(super) async fn get_upload_url(call: Call) -> Result<Value, Trouble> {
    let mut name = call.args.need("filename", Refusal::InvalidArguments)?;
    gate::clean_text(&call.app.redactor, &mut name);
    let Some(length) = call.args.number("length") else {
        return refuse(Refusal::InvalidArguments);
    };
    let file = NewFile {
        owner: call.agent.repo.clone(),
        user: BOT_USER.to_owned(),
        name,
        length,
    };
    let (agent, epoch) = (call.agent.clone(), call.epoch);
    let (id, key) = call
        .app
        .store
        .write(move |tx| {
            agent.check_epoch(tx.db(), epoch)?;
            files::announce(tx.db(), &file)
        })
        .await?;
    let url = format!("http://{}/upload/{id}?key={key}", call.host());
    Ok(json!({"upload_url": url, "file_id": id}))
}

pub(super) async fn complete_upload(call: Call) -> Result<Value, Trouble> {
    let wanted = wanted_of(&call)?;
    let channel = channel_of(&call);
    let thread: Option<MessageTs> = call.args.ts("thread_ts", Refusal::InvalidThreadTs)?;
    let mut text = call.args.text("initial_comment").unwrap_or_default();
    gate::clean_text(&call.app.redactor, &mut text);
    let (username, icon_emoji) = (call.args.text("username"), call.args.text("icon_emoji"));
    let base = format!("http://{}", call.host());
    let (agent, epoch, rules) = (call.agent.clone(), call.epoch, call.app.rules.clone());
    call.app
        .store
        .write(move |tx| {
            agent.check_epoch(tx.db(), epoch)?;
            let mut shown = Vec::new();
            for (id, title) in &wanted {
                let file =
                    files::settle(tx.db(), &agent.repo, id, title.as_deref(), channel.as_ref())?;
                shown.push(files::shown(&file, &base));
            }
            if let Some(channel) = channel {
                let post = AgentPost {
                    channel,
                    thread_ts: thread,
                    broadcast: false,
                    text,
                    blocks: None,
                    attachments: None,
                    files: shown.clone(),
                    attached: None,
                    username,
                    icon_emoji,
                    icon_url: None,
                    metadata: None,
                    base: base.clone(),
                };
                outbox::post(tx, &agent, epoch, &post, &rules)?;
            }
            Ok(json!({"files": shown}))
        })
        .await
}

/// The files that a call names, with their titles.
pub(crate) fn wanted_of(call: &Call) -> Result<Vec<(String, Option<String>)>, Trouble> {
    let listed = call.args.json("files", Refusal::InvalidArguments)?;
    let mut wanted = Vec::new();
    for item in listed
        .as_ref()
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let Some(id) = item["id"].as_str() else {
            return refuse(Refusal::InvalidArguments);
        };
        let mut title = item["title"].as_str().unwrap_or_default().to_owned();
        gate::clean_text(&call.app.redactor, &mut title);
        wanted.push((id.to_owned(), Some(title).filter(|title| !title.is_empty())));
    }
    if wanted.is_empty() {
        return refuse(Refusal::InvalidArguments);
    }
    Ok(wanted)
}

/// Where a call shares its files.
pub(crate) fn channel_of(call: &Call) -> Option<ChannelId> {
    let named = call.args.text("channel_id");
    let named = named.or_else(|| call.args.text("channels"));
    named.map(ChannelId::new)
}

pub(super) async fn info(call: Call) -> Result<Value, Trouble> {
    let id = call.args.need("file", Refusal::FileNotFound)?;
    let agent = call.agent.clone();
    let base = format!("http://{}", call.host());
    call.app
        .store
        .read(move |db| {
            let file = files::get(db, &id)?;
            let own = file.owner == agent.repo;
            let shared = match &file.channel {
                Some(channel) => agent.may_use(db, channel).is_ok(),
                None => false,
            };
            if !own && !shared {
                return refuse(Refusal::FileNotFound);
            }
            Ok(json!({"file": files::shown(&file, &base)}))
        })
        .await
}
