//! What agents post. A post with a key is written once: message parts, card and
//! the answer to the key are one transaction, so there is no state between
//! "not posted" and "posted and answered".

use butler_protocol::{ChannelId, MessageTs, PostTag, Role, StampKind, ThreadId, fault};
use serde_json::{Value, json};

use super::{
    channels,
    decide::Rules,
    files,
    message::{self, Author, Draft},
    parts::{self, Part},
    runs,
};
use crate::{
    error::{Refusal, Result, refuse},
    identity::{Agent, BOT_USER, Fence},
    store::{Tx, params},
    workspace::stops,
};

/// A post as an agent asked for it, after the gate.
#[derive(Debug, Clone)]
pub(crate) struct AgentPost {
    pub(crate) channel: ChannelId,
    pub(crate) thread_ts: Option<MessageTs>,
    pub(crate) broadcast: bool,
    pub(crate) text: String,
    pub(crate) blocks: Option<Value>,
    pub(crate) attachments: Option<Value>,
    pub(crate) files: Vec<Value>,
    /// What a card has no room for: the name of a file and its text.
    pub(crate) attached: Option<(String, String)>,
    pub(crate) username: Option<String>,
    pub(crate) icon_emoji: Option<String>,
    pub(crate) icon_url: Option<String>,
    pub(crate) metadata: Option<Value>,
    /// How the caller reaches us, for the addresses of snippets.
    pub(crate) base: String,
}

impl AgentPost {
    /// Plain text, everything else left out.
    pub(crate) fn new(channel: ChannelId, text: String, base: String) -> Self {
        Self {
            channel,
            thread_ts: None,
            broadcast: false,
            text,
            blocks: None,
            attachments: None,
            files: Vec::new(),
            attached: None,
            username: None,
            icon_emoji: None,
            icon_url: None,
            metadata: None,
            base,
        }
    }

    /// Refuses a post that has neither words nor anything else.
    pub(crate) fn says_something(&self) -> Result<()> {
        match self.text.is_empty() && self.blocks.is_none() && self.attachments.is_none() {
            true => refuse(Refusal::NoText),
            false => Ok(()),
        }
    }
}

/// The tag of a post, with its sender set from the token.
pub(crate) fn tag_of(agent: &Agent, post: &AgentPost) -> Result<Option<PostTag>> {
    let Some(metadata) = &post.metadata else {
        return Ok(None);
    };
    let tag = PostTag::from_metadata(metadata).map_err(|_| Refusal::InvalidMetadataFormat)?;
    Ok(tag.map(|tag| PostTag {
        from: Some(agent.role),
        ..tag
    }))
}

/// Posts, or gives the first answer again. The answer is Slack's.
pub(crate) fn post(
    tx: &mut Tx<'_>,
    agent: &Agent,
    fence: Option<&Fence>,
    post: &AgentPost,
    rules: &Rules,
) -> Result<Value> {
    agent.check_fence(tx.db(), fence)?;
    agent.may_use(tx.db(), &post.channel)?;
    channels::writable(tx.db(), &post.channel)?;
    let tag = tag_of(agent, post)?;
    if let Some(tag) = &tag
        && let Some(answer) = first_answer(tx, agent, tag)?
    {
        return Ok(answer);
    }
    check_name(agent, post.username.as_deref())?;
    check_tag(tx, agent, post, tag.as_ref())?;
    if let Some(ts) = &post.thread_ts {
        let root = message::root_of(tx.db(), &post.channel, ts)?;
        let thread = ThreadId::new(post.channel.clone(), root);
        stops::check(tx.db(), &thread, tag.as_ref().and_then(|tag| tag.heard))?;
    }
    fault("hub.before-post");
    let answer = write_parts(tx, agent, post, tag.as_ref())?;
    if let Some(tag) = &tag {
        fault("hub.before-outbox");
        let mut kept = answer.clone();
        // It is among the messages already.
        kept["message"].take();
        tx.db().execute(
            "INSERT INTO outbox (agent, idem, state, parts, answer)
                 VALUES (?1, ?2, 'done', ?3, ?4)",
            params![
                agent.key,
                tag.idem,
                answer["codebutler"]["parts"].to_string(),
                kept.to_string()
            ],
        )?;
        fault("hub.after-outbox");
    }
    if let Some(card) = tag.as_ref().and_then(|tag| tag.card.as_ref()) {
        runs::decide_plan(tx, rules, agent, &card.request)?;
    }
    fault("hub.after-post");
    Ok(answer)
}

fn first_answer(tx: &Tx<'_>, agent: &Agent, tag: &PostTag) -> Result<Option<Value>> {
    let answer: Option<String> = tx.db().first(
        "SELECT answer FROM outbox WHERE agent = ?1 AND idem = ?2",
        params![agent.key, tag.idem],
    )?;
    let answer = answer.map(|text| serde_json::from_str::<Value>(&text));
    let Some(mut answer) = answer.transpose()? else {
        return Ok(None);
    };
    let place = (answer["channel"].as_str(), answer["ts"].as_str());
    if let (true, (Some(channel), Some(ts))) = (answer["message"].is_null(), place)
        && let Ok(ts) = ts.parse()
        && let Some(said) = message::find(tx.db(), &ChannelId::new(channel), &ts)?
    {
        answer["message"] = said.body;
    }
    Ok(Some(answer))
}

/// A role may use any name but another role's.
pub(crate) fn check_name(agent: &Agent, username: Option<&str>) -> Result<()> {
    let claimed: Option<Role> = username
        .map(|name| name.trim_start_matches('@').to_ascii_lowercase())
        .and_then(|name| name.strip_prefix("codebutler.")?.parse().ok());
    match claimed {
        Some(role) if role != agent.role => refuse(Refusal::RestrictedAction),
        _ => Ok(()),
    }
}

/// A hand-over needs its body; a card needs an id that is not taken; the thread of an
/// item needs a place in its run, which it gets here.
pub(crate) fn check_tag(
    tx: &Tx<'_>,
    agent: &Agent,
    post: &AgentPost,
    tag: Option<&PostTag>,
) -> Result<()> {
    let exists =
        |sql: &str, key: &str| -> Result<bool> { Ok(tx.db().one(sql, params![agent.repo, key])?) };
    if let Some(hand_over) = tag.and_then(|tag| tag.hand_over.as_ref())
        && !exists(
            "SELECT EXISTS (SELECT 1 FROM bodies WHERE repo = ?1 AND sha256 = ?2)",
            hand_over.body.as_str(),
        )?
    {
        return refuse(Refusal::UnknownBody);
    }
    if let Some(card) = tag.and_then(|tag| tag.card.as_ref())
        && exists(
            "SELECT EXISTS (SELECT 1 FROM cards WHERE repo = ?1 AND request = ?2)",
            card.request.as_str(),
        )?
    {
        return refuse(Refusal::RequestTaken);
    }
    match tag.and_then(|tag| tag.item.as_ref()) {
        Some(item) => runs::begin_item(tx, agent, post, item),
        None => Ok(()),
    }
}

fn write_parts(
    tx: &mut Tx<'_>,
    agent: &Agent,
    post: &AgentPost,
    tag: Option<&PostTag>,
) -> Result<Value> {
    // What carries its own text is one message; only plain text is cut into parts.
    let whole = post.blocks.is_some() || post.attachments.is_some() || !post.files.is_empty();
    let parts = if whole {
        vec![Part::Text(post.text.clone())]
    } else {
        parts::of(&post.text)
    };
    let mut first: Option<(MessageTs, Value)> = None;
    let mut written = Vec::new();
    for part in parts {
        let mut draft = draft_of(agent, post, first.as_ref().map(|(ts, _)| ts));
        match part {
            Part::Text(text) => draft.text = text,
            Part::Snippet { name, code } => {
                draft.files = vec![snippet(tx, agent, post, name, &code)?];
            }
        }
        if whole {
            draft.blocks.clone_from(&post.blocks);
            draft.attachments.clone_from(&post.attachments);
            draft.files.clone_from(&post.files);
        }
        if let Some((name, text)) = &post.attached {
            draft.files = vec![snippet(tx, agent, post, name.clone(), text)?];
        }
        stamp(&mut draft, tag);
        fault("hub.before-part");
        let message = message::write(tx, draft)?;
        fault("hub.after-part");
        written.push(message.0.clone());
        first.get_or_insert(message);
    }
    let (ts, message) = first.ok_or(Refusal::NoText)?;
    if let Some(tag) = tag {
        register_card(tx, agent, &post.channel, &ts, &message, tag)?;
        runs::item_stands(tx, agent, &ts, tag)?;
    }
    Ok(
        json!({"ok": true, "channel": post.channel, "ts": ts, "message": message,
        "codebutler": {"parts": written}}),
    )
}

/// A message of this post; the parts of a new thread's root reply to the first.
pub(crate) fn draft_of(agent: &Agent, post: &AgentPost, first: Option<&MessageTs>) -> Draft {
    let root = post.thread_ts.as_ref().or(first).cloned();
    let author = Author::Role {
        role: agent.role,
        username: post.username.clone(),
        icon_emoji: post.icon_emoji.clone(),
        icon_url: post.icon_url.clone(),
    };
    let mut draft = Draft::new(post.channel.clone(), root, author);
    draft.broadcast = post.broadcast;
    draft.metadata.clone_from(&post.metadata);
    draft
}

fn snippet(
    tx: &Tx<'_>,
    agent: &Agent,
    post: &AgentPost,
    name: String,
    code: &str,
) -> Result<Value> {
    let new = files::NewFile {
        owner: agent.repo.clone(),
        user: BOT_USER.to_owned(),
        name,
        length: code.len() as u64,
    };
    let (id, key) = files::announce(tx.db(), &new)?;
    files::fill(tx.db(), &id, &key, code.as_bytes())?;
    let file = files::settle(tx.db(), &agent.repo, &id, None, Some(&post.channel))?;
    Ok(files::shown(&file, &post.base))
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

pub(crate) fn register_card(
    tx: &Tx<'_>,
    agent: &Agent,
    channel: &ChannelId,
    ts: &MessageTs,
    message: &Value,
    tag: &PostTag,
) -> Result<()> {
    let Some(card) = &tag.card else { return Ok(()) };
    let root = message["thread_ts"].as_str().unwrap_or(ts.as_str());
    fault("hub.before-card");
    tx.db().execute(
        "INSERT INTO cards
               (repo, request, kind, sha256, channel, root, message, from_role, asked_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            agent.repo,
            card.request,
            json!(card.kind).as_str(),
            card.sha256,
            channel,
            root,
            ts,
            agent.role,
            tx.db().now_ms()
        ],
    )?;
    if let Some(body) = &card.body {
        tx.db().execute(
            "INSERT INTO card_bodies (repo, request, body) VALUES (?1, ?2, ?3)",
            params![agent.repo, card.request, body],
        )?;
    }
    fault("hub.after-card");
    Ok(())
}
