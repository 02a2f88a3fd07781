//! What agents post. A post with a key is written once: message parts, card and
//! the answer to the key are one transaction, so there is no state between
//! "not posted" and "posted and answered".

use butler_slack::mrkdwn;
use butler_vocab::{ChannelId, Epoch, MessageTs, PostTag, Role, StampKind, fault};
use rusqlite::{OptionalExtension, params};
use serde_json::{Value, json};

use super::message::{self, Author, Draft};
use crate::{
    desk::{Desk, now_ms},
    error::{Trouble, refuse},
    identity::Agent,
};

/// A post as an agent asked for it, after the gate.
#[derive(Debug, Clone)]
pub(crate) struct AgentPost {
    pub(crate) channel: ChannelId,
    pub(crate) thread_ts: Option<MessageTs>,
    pub(crate) broadcast: bool,
    pub(crate) text: String,
    pub(crate) blocks: Option<Value>,
    pub(crate) files: Vec<Value>,
    pub(crate) username: Option<String>,
    pub(crate) icon_emoji: Option<String>,
    pub(crate) icon_url: Option<String>,
    pub(crate) metadata: Option<Value>,
}

/// Posts, or gives the first answer again. The answer is Slack's.
pub(crate) fn post(
    desk: &mut Desk<'_>,
    agent: &Agent,
    epoch: Option<Epoch>,
    post: AgentPost,
) -> Result<Value, Trouble> {
    agent.check_epoch(desk.db(), epoch)?;
    agent.may_use(desk.db(), &post.channel)?;
    let tag = match &post.metadata {
        Some(metadata) => PostTag::from_metadata(metadata)
            .map_err(|_| Trouble::Refused("invalid_metadata_format"))?,
        None => None,
    };
    if let Some(tag) = &tag
        && let Some(answer) = first_answer(desk, agent, tag)?
    {
        return Ok(answer);
    }
    check_name(agent, post.username.as_deref())?;
    let tag = tag.map(|tag| PostTag {
        from: Some(agent.role),
        ..tag
    });
    check_tag(desk, agent, tag.as_ref())?;
    fault("hub.before-post");
    let answer = write_parts(desk, agent, post, tag.as_ref())?;
    if let Some(tag) = &tag {
        desk.db()
            .prepare_cached(
                "INSERT INTO outbox (agent, idem, state, parts, answer)
                 VALUES (?1, ?2, 'done', ?3, ?4)",
            )?
            .execute(params![
                agent.key,
                tag.idem.as_str(),
                answer["codebutler"]["parts"].to_string(),
                answer.to_string()
            ])?;
    }
    fault("hub.after-post");
    Ok(answer)
}

fn first_answer(desk: &Desk<'_>, agent: &Agent, tag: &PostTag) -> Result<Option<Value>, Trouble> {
    let answer: Option<String> = desk
        .db()
        .prepare_cached("SELECT answer FROM outbox WHERE agent = ?1 AND idem = ?2")?
        .query_row(params![agent.key, tag.idem.as_str()], |row| row.get(0))
        .optional()?;
    Ok(answer.map(|text| serde_json::from_str(&text)).transpose()?)
}

/// A role may use any name but another role's.
fn check_name(agent: &Agent, username: Option<&str>) -> Result<(), Trouble> {
    let claimed: Option<Role> = username
        .map(|name| name.trim_start_matches('@').to_ascii_lowercase())
        .and_then(|name| name.strip_prefix("codebutler.")?.parse().ok());
    match claimed {
        Some(role) if role != agent.role => refuse("restricted_action"),
        _ => Ok(()),
    }
}

/// A hand-over needs its body; a card needs an id that is not taken.
fn check_tag(desk: &Desk<'_>, agent: &Agent, tag: Option<&PostTag>) -> Result<(), Trouble> {
    let exists = |sql: &str, key: &str| -> Result<bool, Trouble> {
        Ok(desk
            .db()
            .prepare_cached(sql)?
            .query_row(params![agent.repo, key], |row| row.get(0))?)
    };
    if let Some(hand_over) = tag.and_then(|tag| tag.hand_over.as_ref())
        && !exists(
            "SELECT EXISTS (SELECT 1 FROM bodies WHERE repo = ?1 AND sha256 = ?2)",
            hand_over.body.as_str(),
        )?
    {
        return refuse("unknown_body");
    }
    if let Some(card) = tag.and_then(|tag| tag.card.as_ref())
        && exists(
            "SELECT EXISTS (SELECT 1 FROM cards WHERE repo = ?1 AND request = ?2)",
            card.request.as_str(),
        )?
    {
        return refuse("request_taken");
    }
    Ok(())
}

fn write_parts(
    desk: &mut Desk<'_>,
    agent: &Agent,
    post: AgentPost,
    tag: Option<&PostTag>,
) -> Result<Value, Trouble> {
    if post.text.is_empty() && post.blocks.is_none() && post.files.is_empty() {
        return refuse("no_text");
    }
    // Blocks carry their own text; only plain text is cut into parts.
    let texts = if post.blocks.is_some() {
        vec![post.text]
    } else {
        mrkdwn::split(&post.text, mrkdwn::LIMIT)
    };
    let mut first: Option<(MessageTs, Value)> = None;
    let mut parts = Vec::new();
    for text in texts {
        let root = post
            .thread_ts
            .clone()
            .or_else(|| first.as_ref().map(|(ts, _)| ts.clone()));
        let author = Author::Role {
            role: agent.role,
            username: post.username.clone(),
            icon_emoji: post.icon_emoji.clone(),
            icon_url: post.icon_url.clone(),
        };
        let mut draft = Draft::new(post.channel.clone(), root, author);
        draft.text = text;
        draft.broadcast = post.broadcast;
        draft.metadata = post.metadata.clone();
        if first.is_none() {
            draft.blocks = post.blocks.clone();
            draft.files = post.files.clone();
        }
        stamp(&mut draft, tag);
        let written = message::write(desk, draft)?;
        parts.push(written.0.clone());
        first.get_or_insert(written);
    }
    let Some((ts, message)) = first else {
        return refuse("no_text");
    };
    if let Some(tag) = tag {
        register_card(desk, agent, &post.channel, &ts, &message, tag)?;
    }
    Ok(
        json!({"ok": true, "channel": post.channel, "ts": ts, "message": message,
        "codebutler": {"parts": parts}}),
    )
}

/// What the other roles are told about the post; the sender comes from the token.
fn stamp(draft: &mut Draft, tag: Option<&PostTag>) {
    let Some(tag) = tag else { return };
    draft.metadata = Some(tag.to_metadata());
    draft.to.clone_from(&tag.to);
    if let Some(hand_over) = &tag.hand_over {
        draft.stamp = StampKind::HandOver;
        draft.reference = Some(hand_over.body.as_str().to_owned());
    }
}

fn register_card(
    desk: &Desk<'_>,
    agent: &Agent,
    channel: &ChannelId,
    ts: &MessageTs,
    message: &Value,
    tag: &PostTag,
) -> Result<(), Trouble> {
    let Some(card) = &tag.card else { return Ok(()) };
    let root = message["thread_ts"].as_str().unwrap_or(ts.as_str());
    desk.db()
        .prepare_cached(
            "INSERT INTO cards
               (repo, request, kind, sha256, channel, root, message, from_role, asked_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            agent.repo,
            card.request.as_str(),
            json!(card.kind).as_str(),
            card.sha256.as_str(),
            channel.as_str(),
            root,
            ts.as_str(),
            agent.role.as_str(),
            now_ms()
        ])?;
    Ok(())
}
