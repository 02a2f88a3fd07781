//! Files in both directions. Out: Slack's three steps, and then waiting for the
//! message that shares the file, which is in no answer. In: fetched with the
//! token that agents do not have.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use butler_protocol::{ChannelId, MessageTs};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    error::{Refusal, Result, Trouble, refuse},
    hub::App,
    identity::Agent,
    relay::{
        Relay, add,
        send::{
            fallback,
            post::{Noted, Sending},
        },
    },
    store::{Db, from_row},
    workspace::files::{self, File, SIZE_LIMIT},
};

/// How often we look whether a file has been shared, with growing pauses.
const LOOKS: u32 = 12;
/// A file that was begun before a kill may still be shared by itself.
const LOOKS_AFTER_KILL: u32 = 4;
const PAUSE: Duration = Duration::from_millis(100);

/// The name and bytes of a file that an agent put into the hub.
pub(crate) async fn of_hub(app: &Arc<App>, id: String) -> Result<(String, Vec<u8>)> {
    app.read(move |db| Ok((files::get(db, &id)?.name, files::bytes(db, &id)?)))
        .await
}

/// Shares a file as one part of a post.
pub(crate) async fn share(
    sending: &Sending<'_>,
    name: &str,
    bytes: Vec<u8>,
    comment: &str,
    noted: Noted,
) -> Result<(MessageTs, Value)> {
    if let Noted::Begun { file: Some(file) } = noted
        && let Some(message) = shared(sending, &file, comment, LOOKS_AFTER_KILL).await?
    {
        return sending.keep(message).await;
    }
    let upstream = &sending.relay.upstream;
    let mut args = json!({"filename": name, "length": bytes.len()});
    if let Some(kind) = files::snippet_type(name) {
        args["snippet_type"] = json!(kind);
    }
    let asked = upstream.call("files.getUploadURLExternal", &args).await?;
    let text = |field: &str| asked[field].as_str().unwrap_or_default().to_owned();
    let (url, file) = (text("upload_url"), text("file_id"));
    sending.note(Some(file.clone())).await?;
    upstream.web.put_bytes(&url, bytes).await?;
    let mut args = json!({"files": [{"id": file, "title": name}],
        "channel_id": sending.channel()});
    let post = &sending.order.post;
    add(&mut args, "thread_ts", &sending.root);
    add(&mut args, "username", &post.username);
    add(&mut args, "icon_emoji", &post.icon_emoji);
    let comment_there = (!comment.is_empty()).then_some(comment);
    add(&mut args, "initial_comment", &comment_there);
    if sending.relay.plain.load(Ordering::Relaxed) {
        without_name(&mut args);
    }
    let mut completed = upstream.once("files.completeUploadExternal", &args).await;
    if let Err(error) = &completed
        && fallback::names_refused(error)
    {
        sending.relay.plain.store(true, Ordering::Relaxed);
        without_name(&mut args);
        completed = upstream.once("files.completeUploadExternal", &args).await;
    }
    if let Err(error) = completed
        && !error.is_unclear()
    {
        return Err(error.into());
    }
    match shared(sending, &file, comment, LOOKS).await? {
        Some(message) => sending.keep(message).await,
        None => Err(Trouble::Away),
    }
}

/// Under the app's own name; a comment says whose file it is.
fn without_name(args: &mut Value) {
    let Some(fields) = args.as_object_mut() else {
        return;
    };
    fields.remove("icon_emoji");
    if let Some(name) = fields.remove("username").as_ref().and_then(Value::as_str) {
        let comment = fields.get("initial_comment").and_then(Value::as_str);
        let comment = format!("*{name}*: {}", comment.unwrap_or_default());
        fields.insert("initial_comment".to_owned(), json!(comment.trim_end()));
    }
}

/// The message that shares a file, once there is one.
async fn shared(
    sending: &Sending<'_>,
    file: &str,
    comment: &str,
    looks: u32,
) -> Result<Option<Value>> {
    for look in 0..looks {
        sleep(PAUSE * look).await;
        let args = json!({"file": file});
        let info = sending.relay.upstream.call("files.info", &args).await?;
        let shares = &info["file"]["shares"];
        let channel = sending.channel().as_str();
        let places = [&shares["public"][channel], &shares["private"][channel]];
        let ts = places.into_iter().find_map(|place| place[0]["ts"].as_str());
        if let Some(ts) = ts {
            return Ok(Some(message(sending, &info["file"], ts, comment)));
        }
    }
    Ok(None)
}

fn message(sending: &Sending<'_>, file: &Value, ts: &str, comment: &str) -> Value {
    let mut message = json!({"type": "message", "subtype": "file_share", "ts": ts,
        "text": comment, "files": [file], "bot_id": sending.relay.us.bot});
    match &sending.order.post.username {
        Some(name) => message["username"] = json!(name),
        None => message["user"] = json!(sending.relay.us.user),
    }
    if let Some(root) = &sending.root {
        message["thread_ts"] = json!(root);
    }
    message
}

/// A file of Slack, for an agent of its channel or a person; nothing when Slack
/// never told us of it.
pub(crate) async fn download(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    reader: Option<&Agent>,
    id: &str,
) -> Result<Option<(File, Vec<u8>)>> {
    let (wanted, reader) = (id.to_owned(), reader.cloned());
    let found = app
        .read(move |db| {
            let found = known(db, &wanted)?;
            if let (Some(known), Some(agent)) = (&found, &reader)
                && agent.may_use(db, &known.channel).is_err()
            {
                return refuse(Refusal::FileNotFound);
            }
            Ok(found)
        })
        .await?;
    let Some(known) = found else {
        return Ok(None);
    };
    let limit = usize::try_from(SIZE_LIMIT).unwrap_or(usize::MAX);
    let fetched = relay.upstream.web.fetch(&known.url, limit).await;
    let (_, bytes) = fetched.map_err(|error| {
        tracing::warn!(%error, "a file of Slack cannot be had");
        Trouble::Refused(match error.refusal() {
            Some(too_big @ Refusal::FileUploadSizeRestricted) => too_big,
            _ => Refusal::FileNotFound,
        })
    })?;
    let file = File {
        id: id.to_owned(),
        channel: Some(known.channel),
        owner: String::new(),
        user: String::new(),
        mimetype: files::mimetype_of(&known.name, &bytes),
        title: known.name.clone(),
        name: known.name,
        length: bytes.len() as u64,
        filled: true,
        created_ms: 0,
    };
    Ok(Some((file, bytes)))
}

/// Where Slack has a file.
struct Known {
    channel: ChannelId,
    name: String,
    url: String,
}

from_row! { Known: channel, name, url }

fn known(db: &Db, id: &str) -> Result<Option<Known>> {
    let sql = "SELECT channel, name, url FROM upstream_files WHERE id = ?1";
    Ok(db.first(sql, [id])?)
}
