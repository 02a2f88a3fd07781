//! Posting, changing and deleting by agents. Everything that leaves passes the
//! gate first.

pub(crate) mod schedule;
pub(super) mod streams;
pub(super) mod unfurl;

use butler_protocol::{CardTag, ChannelId, MessageTs, PostTag, UserId};
use serde_json::{Value, json};

use super::{Call, blocks};
use crate::{
    agent_api,
    error::{Refusal, Result, When, refuse},
    identity::Agent,
    person_api::guard,
    store::{Db, Tx},
    workspace::{
        AgentPost, card,
        channels::{self, members},
        decide, ephemeral,
        gate::{self, Outbound},
        message, outbox,
    },
};

pub(super) async fn post_message(call: Call) -> Result<Value> {
    let post = post_or_card_of(&call).await?;
    let (agent, fence) = (call.agent.clone(), call.fence.clone());
    let rules = call.app.rules.clone();
    let work = move |tx: &mut Tx<'_>| outbox::post(tx, &agent, fence.as_ref(), &post, &rules);
    match call.as_owner {
        true => call.app.write_as_owner(work).await,
        false => call.app.write(work).await,
    }
}

/// A post, or a card: drawn here, from what would happen and from nothing that
/// the agent says about its looks.
pub(crate) async fn post_or_card_of(call: &Call) -> Result<AgentPost> {
    let (mut post, tag) = read_post(call)?;
    let Some(tag) = tag else {
        return Ok(post);
    };
    Refusal::CardHasText
        .when(!post.text.is_empty() || post.blocks.is_some() || post.attachments.is_some())?;
    let place = tag.body.clone().ok_or(Refusal::UnknownBody)?;
    let repo = call.agent.repo.clone();
    let bytes = call
        .app
        .read(move |db| agent_api::body(db, &repo, place.as_str()))
        .await?;
    let body = card::read(&tag, &bytes)?;
    let drawn = card::draw(&call.app.redactor, &tag, &body)?;
    post.blocks = blocks::checked(Some(drawn.blocks))?;
    post.text = drawn.text;
    post.attached = drawn.attached;
    Ok(post)
}

/// A post that is no card.
pub(crate) fn post_of(call: &Call) -> Result<AgentPost> {
    match read_post(call)? {
        (post, None) => Ok(post),
        (_, Some(_)) => refuse(Refusal::InvalidMetadataFormat),
    }
}

/// Reads a post from the arguments and passes it through the gate.
fn read_post(call: &Call) -> Result<(AgentPost, Option<CardTag>)> {
    let args = &call.args;
    let mut post = AgentPost {
        thread_ts: args.ts("thread_ts", Refusal::InvalidThreadTs)?,
        broadcast: args.flag("reply_broadcast"),
        blocks: blocks::checked(args.json("blocks", Refusal::InvalidBlocksFormat)?)?,
        attachments: checked_attachments(args.json("attachments", Refusal::InvalidAttachments)?)?,
        username: args.text("username"),
        icon_emoji: args.text("icon_emoji"),
        icon_url: args.text("icon_url"),
        metadata: checked_metadata(args.json("metadata", Refusal::InvalidMetadataFormat)?)?,
        ..AgentPost::new(args.channel()?, text_of(call)?, call.base())
    };
    let tag = post.metadata.as_ref().map(PostTag::from_metadata);
    let card = tag.and_then(|tag| tag.ok().flatten()?.card);
    let outbound = Outbound {
        text: &mut post.text,
        blocks: post.blocks.as_mut(),
        attachments: post.attachments.as_mut(),
        metadata: post.metadata.as_mut(),
        names: post.username.iter_mut().chain(&mut post.icon_url).collect(),
    };
    gate::pass(&call.app.redactor, outbound);
    Ok((post, card))
}

/// `text`, or `markdown_text` turned into mrkdwn; it stands alone.
pub(crate) fn text_of(call: &Call) -> Result<String> {
    let (text, markdown) = (call.args.text("text"), call.args.text("markdown_text"));
    let blocks = call.args.json("blocks", Refusal::InvalidBlocksFormat)?;
    match (text, markdown) {
        (Some(_), Some(_)) => refuse(Refusal::MarkdownTextConflict),
        (None, Some(_)) if blocks.is_some() => refuse(Refusal::MarkdownTextConflict),
        (None, Some(markdown)) => Ok(butler_slack::mrkdwn::from_markdown(&markdown)),
        (text, None) => Ok(text.unwrap_or_default()),
    }
}

/// Slack's older way to say something beside the text; at most a hundred.
fn checked_attachments(given: Option<Value>) -> Result<Option<Value>> {
    match given {
        None => Ok(None),
        Some(Value::Array(all)) if all.is_empty() => Ok(None),
        Some(Value::Array(all)) if all.len() > 100 => refuse(Refusal::TooManyAttachments),
        Some(Value::Array(all)) if all.iter().all(Value::is_object) => Ok(Some(Value::Array(all))),
        Some(_) => refuse(Refusal::InvalidAttachments),
    }
}

/// Metadata has a type and a payload, or is nothing.
fn checked_metadata(given: Option<Value>) -> Result<Option<Value>> {
    match given {
        Some(metadata)
            if !metadata["event_type"].is_string() || !metadata["event_payload"].is_object() =>
        {
            refuse(Refusal::InvalidMetadataFormat)
        }
        given => Ok(given),
    }
}

/// Shown to one person on their page, and gone after a day.
pub(super) fn post_ephemeral(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let user = UserId::new(call.args.need("user", Refusal::UserNotInChannel)?);
    let post = post_of(call)?;
    post.says_something()?;
    let channel = call.channel(tx.db())?;
    let there = channels::get(tx.db(), &channel)?;
    let known = channels::user(tx.db(), &user).is_ok();
    Refusal::UserNotInChannel.when(!known || !members::is_in(tx.db(), &there, user.as_str())?)?;
    let mut draft = outbox::draft_of(&call.agent, &post, None);
    draft.text = post.text;
    draft.blocks = post.blocks;
    draft.attachments = post.attachments;
    Ok(json!({"message_ts": ephemeral::keep(tx, &user, &draft)?}))
}

pub(super) fn update(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    apply(tx, &call.agent, change_of(call)?)
}

/// A change of an agent's own message, after the gate.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) channel: ChannelId,
    pub(crate) ts: MessageTs,
    pub(crate) text: String,
    pub(crate) blocks: Option<Value>,
    /// None leaves them as they are, an empty list takes them away.
    pub(crate) attachments: Option<Value>,
    pub(crate) metadata: Option<Value>,
}

/// Reads a change from the arguments and passes it through the gate.
pub(crate) fn change_of(call: &Call) -> Result<Change> {
    let channel = call.args.channel()?;
    let ts = call.args.message()?;
    let mut text = text_of(call)?;
    let mut blocks = blocks::checked(call.args.json("blocks", Refusal::InvalidBlocksFormat)?)?;
    let metadata = own_metadata(call)?;
    let given = call.args.json("attachments", Refusal::InvalidAttachments)?;
    let empties = given == Some(json!([]));
    let mut attachments = checked_attachments(given)?.or(empties.then(|| json!([])));
    Refusal::NoText.when(text.is_empty() && blocks.is_none() && attachments.is_none())?;
    Refusal::MsgTooLong.when(text.len() > 4_000)?;
    let outbound = Outbound {
        text: &mut text,
        blocks: blocks.as_mut(),
        attachments: attachments.as_mut(),
        metadata: None,
        names: Vec::new(),
    };
    gate::pass(&call.app.redactor, outbound);
    Ok(Change {
        channel,
        ts,
        text,
        blocks,
        attachments,
        metadata,
    })
}

/// An agent's own message; another's is refused with `not_own`, and so is a
/// card: what a person decides about, and what they decided, stays as it was.
pub(crate) fn own_message(
    db: &Db,
    agent: &Agent,
    channel: &ChannelId,
    ts: &MessageTs,
    not_own: Refusal,
) -> Result<message::Stored> {
    agent.may_use(db, channel)?;
    match message::find(db, channel, ts)? {
        None => refuse(Refusal::MessageNotFound),
        Some(old) if old.role != Some(agent.role) => refuse(not_own),
        Some(_) if decide::is_card(db, channel, ts)? => refuse(not_own),
        Some(old) => Ok(old),
    }
}

/// Changes an agent's own message.
pub(crate) fn apply(tx: &mut Tx<'_>, agent: &Agent, change: Change) -> Result<Value> {
    let Change {
        channel,
        ts,
        text,
        blocks,
        attachments,
        metadata,
    } = change;
    let old = own_message(tx.db(), agent, &channel, &ts, Refusal::CantUpdateMessage)?;
    Refusal::StreamingStateConflict.when(streams::so_far(tx.db(), &channel, &ts)?.is_some())?;
    let edit_ts = tx.next_ts().to_string();
    let mut body = message::edited(old.body.clone(), &text, blocks, metadata, &edit_ts);
    if let (Some(fields), Some(given)) = (body.as_object_mut(), attachments) {
        fields.remove("attachments");
        if given != json!([]) {
            fields.insert("attachments".to_owned(), given);
        }
    }
    message::replace(tx, &channel, &old, &body)?;
    Ok(json!({"channel": channel, "ts": ts, "text": body["text"], "message": body}))
}

/// Metadata of an update; like a post's it names the sender by the token.
pub(crate) fn own_metadata(call: &Call) -> Result<Option<Value>> {
    const BAD: Refusal = Refusal::InvalidMetadataFormat;
    let Some(mut metadata) = call.args.json("metadata", BAD)? else {
        return Ok(None);
    };
    gate::clean_value(&call.app.redactor, &mut metadata);
    let tag = PostTag::from_metadata(&metadata).map_err(|_| BAD)?;
    let from = Some(call.agent.role);
    Ok(Some(tag.map_or(metadata, |tag| {
        PostTag { from, ..tag }.to_metadata()
    })))
}

pub(super) fn delete(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let (channel, ts) = (call.args.channel()?, call.args.message()?);
    let not_own = Refusal::CantDeleteMessage;
    let old = own_message(tx.db(), &call.agent, &channel, &ts, not_own)?;
    message::delete(tx, &channel, &old)?;
    Ok(json!({"channel": channel, "ts": ts}))
}

pub(super) fn get_permalink(db: &Db, call: &Call) -> Result<Value> {
    const BAD: Refusal = Refusal::MessageNotFound;
    let ts = call.args.need_ts("message_ts", BAD, BAD)?;
    let channel = call.channel(db)?;
    let found = message::get(db, &channel, &ts)?;
    let base = guard::link_for_people(&call.app, &call.headers, "");
    let digits = found.ts.as_str().replace('.', "");
    let mut link = format!("{base}/archives/{channel}/p{digits}");
    if found.ts != found.root {
        link.push_str(&format!("?thread_ts={}&cid={channel}", found.root));
    }
    Ok(json!({"channel": channel, "permalink": link}))
}
