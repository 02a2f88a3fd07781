//! Posting, changing and deleting by agents. Everything that leaves passes the
//! gate first.

use butler_vocab::{PostTag, UserId};
use serde_json::{Value, json};

use super::Call;
use crate::{
    error::{Trouble, refuse},
    gate::{self, Outbound},
    workspace::{
        channels, ephemeral, message,
        outbox::{self, AgentPost},
    },
};

pub(super) async fn post_message(call: Call) -> Result<Value, Trouble> {
    let post = post_of(&call)?;
    let (agent, epoch) = (call.agent.clone(), call.epoch);
    call.app
        .store
        .change(move |desk| outbox::post(desk, &agent, epoch, &post))
        .await
}

/// Reads a post from the arguments and passes it through the gate.
fn post_of(call: &Call) -> Result<AgentPost, Trouble> {
    let args = &call.args;
    let mut post = AgentPost {
        channel: args.channel()?,
        thread_ts: args.ts("thread_ts", "invalid_thread_ts")?,
        broadcast: args.flag("reply_broadcast"),
        text: text_of(call),
        blocks: checked_blocks(args.json("blocks", "invalid_blocks_format")?)?,
        files: Vec::new(),
        username: args.text("username"),
        icon_emoji: args.text("icon_emoji"),
        icon_url: args.text("icon_url"),
        metadata: args.json("metadata", "invalid_metadata_format")?,
        base: format!("http://{}", call.host()),
    };
    let tag = post.metadata.as_ref().map(PostTag::from_metadata);
    let is_card = matches!(tag, Some(Ok(Some(PostTag { card: Some(_), .. }))));
    let outbound = Outbound {
        text: &mut post.text,
        blocks: post.blocks.as_mut(),
        metadata: post.metadata.as_mut(),
        names: post.username.iter_mut().chain(&mut post.icon_url).collect(),
    };
    gate::pass(&call.app.redactor, outbound, is_card)?;
    Ok(post)
}

/// `text`, or `markdown_text` turned into mrkdwn.
fn text_of(call: &Call) -> String {
    let markdown = call.args.text("markdown_text");
    call.args
        .text("text")
        .or_else(|| markdown.map(|text| butler_slack::mrkdwn::from_markdown(&text)))
        .unwrap_or_default()
}

/// Slack's limits on blocks that we rely on ourselves.
fn checked_blocks(blocks: Option<Value>) -> Result<Option<Value>, Trouble> {
    match blocks {
        None => Ok(None),
        Some(Value::Array(blocks)) if blocks.len() > 50 => refuse("msg_blocks_too_many"),
        Some(Value::Array(blocks)) if blocks.is_empty() => Ok(None),
        Some(Value::Array(blocks)) if blocks.iter().all(|block| block["type"].is_string()) => {
            Ok(Some(Value::Array(blocks)))
        }
        Some(_) => refuse("invalid_blocks"),
    }
}

/// Shown to one person on their page, and gone after a day.
pub(super) async fn post_ephemeral(call: Call) -> Result<Value, Trouble> {
    let (agent, channel) = (call.agent.clone(), call.args.channel()?);
    let user = UserId::new(call.args.need("user", "user_not_in_channel")?);
    let post = post_of(&call)?;
    let ts = call
        .app
        .store
        .change(move |desk| {
            agent.may_use(desk.db(), &channel)?;
            channels::user(desk.db(), &user)?;
            let mut draft = outbox::draft_of(&agent, &post, None);
            draft.text.clone_from(&post.text);
            draft.blocks.clone_from(&post.blocks);
            ephemeral::keep(desk, &user, &draft)
        })
        .await?;
    Ok(json!({"message_ts": ts}))
}

pub(super) async fn update(call: Call) -> Result<Value, Trouble> {
    let channel = call.args.channel()?;
    let Some(ts) = call.args.ts("ts", "message_not_found")? else {
        return refuse("message_not_found");
    };
    let mut text = text_of(&call);
    let mut blocks = checked_blocks(call.args.json("blocks", "invalid_blocks_format")?)?;
    let metadata = own_metadata(&call)?;
    if text.is_empty() && blocks.is_none() {
        return refuse("no_text");
    }
    if text.len() > 4_000 {
        return refuse("msg_too_long");
    }
    let outbound = Outbound {
        text: &mut text,
        blocks: blocks.as_mut(),
        metadata: None,
        names: Vec::new(),
    };
    gate::pass(&call.app.redactor, outbound, false)?;
    let (agent, epoch) = (call.agent.clone(), call.epoch);
    call.app
        .store
        .change(move |desk| {
            agent.check_epoch(desk.db(), epoch)?;
            agent.may_use(desk.db(), &channel)?;
            let Some(old) = message::find(desk.db(), &channel, &ts)? else {
                return refuse("message_not_found");
            };
            if old.role != Some(agent.role) {
                return refuse("cant_update_message");
            }
            let edit_ts = desk.next_ts();
            let body = message::edited(
                old.body.clone(),
                &text,
                blocks,
                metadata,
                &edit_ts.to_string(),
            );
            message::replace(desk, &channel, &old, &body)?;
            Ok(json!({"channel": channel, "ts": ts, "text": body["text"], "message": body}))
        })
        .await
}

/// Metadata of an update; like a post's it names the sender by the token.
fn own_metadata(call: &Call) -> Result<Option<Value>, Trouble> {
    const BAD: &str = "invalid_metadata_format";
    let Some(mut metadata) = call.args.json("metadata", BAD)? else {
        return Ok(None);
    };
    gate::clean_value(&call.app.redactor, &mut metadata);
    let tag = PostTag::from_metadata(&metadata).map_err(|_| Trouble::Refused(BAD))?;
    let from = Some(call.agent.role);
    Ok(Some(tag.map_or(metadata, |tag| {
        PostTag { from, ..tag }.to_metadata()
    })))
}

pub(super) async fn delete(call: Call) -> Result<Value, Trouble> {
    let channel = call.args.channel()?;
    let Some(ts) = call.args.ts("ts", "message_not_found")? else {
        return refuse("message_not_found");
    };
    let (agent, epoch) = (call.agent.clone(), call.epoch);
    call.app
        .store
        .change(move |desk| {
            agent.check_epoch(desk.db(), epoch)?;
            agent.may_use(desk.db(), &channel)?;
            let Some(old) = message::find(desk.db(), &channel, &ts)? else {
                return refuse("message_not_found");
            };
            if old.role != Some(agent.role) {
                return refuse("cant_delete_message");
            }
            message::delete(desk, &channel, &old)?;
            Ok(json!({"channel": channel, "ts": ts}))
        })
        .await
}

pub(super) async fn get_permalink(call: Call) -> Result<Value, Trouble> {
    let (agent, channel) = (call.agent.clone(), call.args.channel()?);
    let Some(ts) = call.args.ts("message_ts", "message_not_found")? else {
        return refuse("message_not_found");
    };
    let base = format!("http://{}", call.host());
    call.app
        .store
        .look(move |db| {
            agent.may_use(db, &channel)?;
            let Some(found) = message::find(db, &channel, &ts)? else {
                return refuse("message_not_found");
            };
            let link = format!("{base}/c/{channel}/{}#m{}", found.root, found.ts);
            Ok(json!({"channel": channel, "permalink": link}))
        })
        .await
}
