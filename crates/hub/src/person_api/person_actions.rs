//! What people do, whichever way they do it (page, script): say, click, react.

pub(crate) mod thread_actions;
pub(crate) mod words;

use std::sync::Arc;

use butler_policy::is_stop;
use butler_protocol::{
    ChannelId, Choice, Decision, MessageTs, PersonAct, RequestId, StampKind, ThreadId, UserId,
    mentions,
};
use butler_slack::{EnvelopeKind, mrkdwn};
use serde_json::{Map, Value, json};
use words::Said;

use crate::{
    budget::limits,
    error::{Refusal, Result, Trouble, When, refuse},
    hub::App,
    identity::{BOT_USER, Person},
    log::{self, Happening},
    store::Tx,
    workspace::{
        Author, Click, Draft, Rules, access, channels,
        decide::{
            self, Thumb,
            edited::{self, PlanEdit},
        },
        files, message,
        pressed::{
            self, Pressed, Target,
            fields::{self, SET_BY_HAND},
        },
        react::{self, Reactor},
    },
};

/// The most that a person can say at once.
const TEXT_LIMIT: usize = 40_000;

/// What a person wants to say.
#[derive(Debug)]
pub(crate) struct MessageForm {
    pub(crate) channel: ChannelId,
    pub(crate) thread: Option<MessageTs>,
    pub(crate) text: String,
    pub(crate) uploads: Vec<Upload>,
    /// Files that are here already, in Slack's shape.
    pub(crate) brought: Vec<Value>,
    /// Whether it is for people and roles to read and answers no card, whatever it says.
    pub(crate) only_words: bool,
    /// How the caller reaches us, for the addresses of files.
    pub(crate) base: String,
}

impl MessageForm {
    /// Words in a thread, or that begin one; nothing comes along.
    pub(crate) fn words(channel: ChannelId, thread: Option<MessageTs>, text: String) -> Self {
        Self {
            channel,
            thread,
            text,
            uploads: Vec::new(),
            brought: Vec::new(),
            only_words: false,
            base: String::new(),
        }
    }
}

/// A file that comes along.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// A person says something; some words also decide.
pub(crate) async fn say(
    app: &Arc<App>,
    person: Person,
    form: MessageForm,
) -> Result<(MessageTs, Value)> {
    only_here(app)?;
    let text = match checked(&form.text) {
        Err(Trouble::Refused(Refusal::NoText)) if !form.uploads.is_empty() => String::new(),
        other => other?,
    };
    let rules = app.rules.clone();
    let channel = form.channel.clone();
    let said = app
        .write(move |tx| spoken(tx, &rules, &person, form, &text))
        .await;
    if let Err(Trouble::Refused(refusal)) = &said
        && let Some(limit) = limits::name_of(*refusal)
    {
        let repo = app.read(move |db| channels::get(db, &channel)).await?;
        app.watched.counters.refused(&repo.repo, limit);
    }
    said
}

/// Writes down what a person said, and does what it means.
pub(crate) fn spoken(
    tx: &mut Tx<'_>,
    rules: &Rules,
    person: &Person,
    form: MessageForm,
    text: &str,
) -> Result<(MessageTs, Value)> {
    let channel = form.channel;
    let place = channels::get(tx.db(), &channel)?;
    Refusal::IsArchived.when(place.archived)?;
    let repo = place.repo;
    // Who wants something stopped is never kept waiting.
    if !is_stop(text, Some(&UserId::new(BOT_USER))) {
        let allowed = (&rules.limits, rules.pace.as_ref());
        limits::may_say(tx.db(), allowed, &repo, &person.id, form.thread.as_ref())?;
    }
    let coming = form.uploads.iter().map(|upload| upload.bytes.len() as u64);
    limits::may_keep(tx.db(), &rules.limits, &repo, coming.sum())?;
    let author = Author::Person(person.id.clone());
    let mut draft = Draft::new(channel.clone(), form.thread, author);
    draft.text = written(text);
    draft.to = mentions(&draft.text, Some(&UserId::new(BOT_USER)));
    draft.files = form.brought;
    for upload in &form.uploads {
        let file = keep(tx, person, &channel, upload)?;
        draft.files.push(files::shown(&file, &form.base));
    }
    let root = match &draft.root {
        Some(ts) => Some(message::root_of(tx.db(), &channel, ts)?),
        None => None,
    };
    let words = Said {
        person,
        channel: &channel,
        root: root.as_ref(),
        ts: None,
        text,
    };
    let bot = UserId::new(BOT_USER);
    draft.stamp = match form.only_words {
        true if is_stop(text, Some(&bot)) => StampKind::Stop,
        true => StampKind::Message,
        false => words::kind_of(tx, rules, &words, &bot)?,
    };
    if draft.stamp == StampKind::Message
        && !form.only_words
        && let Some(act) = thread_actions::meant(tx, rules, &words)?
    {
        draft.stamp = StampKind::Act;
        draft.reference = Some(act.to_string());
        draft.to = vec![act.role()];
    }
    let said = message::write(tx, draft)?;
    if !form.only_words {
        words::apply(tx, rules, &words, &repo)?;
    }
    if said.1["text"]
        .as_str()
        .is_some_and(|text| text.contains(MENTION))
    {
        mention(tx, &channel, &said.1)?;
    }
    Ok(said)
}

/// A person's text that can be said.
pub(crate) fn checked(text: &str) -> Result<String> {
    let text = text.trim_end();
    Refusal::NoText.when(text.is_empty())?;
    Refusal::MsgTooLong.when(text.len() > TEXT_LIMIT)?;
    Ok(text.to_owned())
}

/// How the app is mentioned.
const MENTION: &str = "<@U0BUTLER>";

/// A person's text as Slack would keep it: escaped, the app's name a mention.
pub(crate) fn written(text: &str) -> String {
    let text = mrkdwn::escape(text).replace("&lt;@U0BUTLER&gt;", MENTION);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("@codebutler") {
        let (before, after) = (&rest[..at], &rest[at + "@codebutler".len()..]);
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let starts = !before.ends_with(|c: char| inside(c) || c == '`');
        // `@codebutler.coder` names a role and stays as it was typed.
        let role = after
            .strip_prefix('.')
            .is_some_and(|tail| tail.starts_with(inside));
        let ends = !after.starts_with(inside) && !role;
        out.push_str(before);
        out.push_str(if starts && ends {
            MENTION
        } else {
            "@codebutler"
        });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The second event of a message that mentions the app, as Slack has it. Agents
/// go by the message; this one is for other apps.
fn mention(tx: &mut Tx<'_>, channel: &ChannelId, message: &Value) -> Result<()> {
    let root = message["thread_ts"].as_str().or(message["ts"].as_str());
    let Some(Ok(root)) = root.map(str::parse) else {
        return Ok(());
    };
    let mut event = message.clone();
    event["type"] = json!("app_mention");
    event["channel"] = json!(channel);
    event["event_ts"] = message["ts"].clone();
    let thread = ThreadId::new(channel.clone(), root);
    log::append(tx, Happening::new(thread, None, event))?;
    Ok(())
}

fn keep(tx: &Tx<'_>, person: &Person, channel: &ChannelId, upload: &Upload) -> Result<files::File> {
    let owner = person.id.as_str();
    let new = files::NewFile {
        owner: owner.to_owned(),
        user: owner.to_owned(),
        name: upload.name.clone(),
        length: upload.bytes.len() as u64,
    };
    let (id, key) = files::announce(tx.db(), &new)?;
    files::fill(tx.db(), &id, &key, &upload.bytes)?;
    files::settle(tx.db(), owner, &id, None, Some(channel))
}

/// What a person did to an element of a message.
#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct Press {
    pub(crate) action_id: String,
    /// Needed only where two blocks have an element of this name.
    pub(crate) block_id: Option<String>,
    /// The state of all inputs, as Slack sends it under `state.values`.
    pub(crate) state: Option<Value>,
    /// The hash of the card that was seen: one of another content is not decided.
    #[serde(default)]
    pub(crate) sha256: Option<String>,
    /// What was chosen or typed, in Slack's own fields of the action.
    #[serde(flatten)]
    pub(crate) fields: Map<String, Value>,
}

/// How the buttons of an agent begin that act on the thread.
const ACT: &str = "cb-act-";

/// What such a button does.
pub(crate) fn act_of(action: &str) -> Option<PersonAct> {
    action.strip_prefix(ACT)?.parse().ok()
}

/// A person uses a button or another element. On one of our cards this is a
/// decision; on anything else the agents of the channel are told.
pub(crate) async fn press(
    app: &Arc<App>,
    person: Person,
    channel: ChannelId,
    ts: MessageTs,
    press: Press,
) -> Result<Option<Decision>> {
    only_here(app)?;
    let rules = app.rules.clone();
    app.write(move |tx| {
        if press.action_id.starts_with("cb:") {
            let action = press
                .action_id
                .parse()
                .map_err(|_| Refusal::UnknownAction)?;
            let card = decide::on_message(tx.db(), &channel, &ts)?;
            let shown = card.map(|card| card.asked.sha256.to_string());
            Refusal::NotTheCard.when(press.sha256.is_some() && press.sha256 != shown)?;
            let click = Click {
                channel,
                message: ts,
                action,
            };
            return decide::decide(tx, &rules, &person, &click).map(Some);
        }
        press_other(tx, &rules, &person, &channel, &ts, press)?;
        Ok(None)
    })
    .await
}

/// A person approves a plan as they changed it on its card.
pub(crate) async fn approve_edited(
    app: &Arc<App>,
    person: Person,
    (channel, ts): (ChannelId, MessageTs),
    request: RequestId,
    edit: PlanEdit,
) -> Result<Decision> {
    only_here(app)?;
    let (rules, redactor) = (app.rules.clone(), app.redactor.clone());
    if let Some(model) = &edit.model
        && !app.presence.facts.knows_model(model)
    {
        return refuse(Refusal::UnknownModel);
    }
    let click = Click::new(channel, ts, request, Choice::Approve);
    app.write(move |tx| edited::approve(tx, (&rules, &redactor), &person, &click, &edit))
        .await
}

pub(crate) fn press_other(
    tx: &mut Tx<'_>,
    rules: &Rules,
    person: &Person,
    channel: &ChannelId,
    ts: &MessageTs,
    press: Press,
) -> Result<()> {
    let target = Target::find(tx.db(), channel, ts, person)?;
    Refusal::UnknownAction.when(target.role.is_none() && !target.whispered)?;
    if let Some(act) = act_of(&press.action_id) {
        access::may(tx.db(), rules, person, act.right())?;
    }
    let state = press.state.clone();
    let element = pressed_element(&target.blocks(), press).ok_or(Refusal::UnknownAction)?;
    let (thread, to) = (target.thread.clone(), target.role);
    let pressed = Pressed {
        target,
        ts,
        element,
        state,
    };
    let payload = pressed::block_actions(tx, rules, person, pressed)?;
    let pressed = Happening {
        to: to.into_iter().collect(),
        kind: EnvelopeKind::Interactive,
        ..Happening::new(thread, None, payload)
    };
    log::append(tx, pressed)?;
    Ok(())
}

/// The element that a person used, with what they chose or typed.
pub(crate) fn pressed_element(blocks: &Value, press: Press) -> Option<Value> {
    let mut element = element_of(blocks, &press)?;
    for (field, value) in press.fields {
        if SET_BY_HAND.split(' ').any(|one| one == field) {
            element[field] = value;
        }
    }
    Some(element)
}

/// The element with this id anywhere in the blocks, with the id of its block.
fn element_of(blocks: &Value, press: &Press) -> Option<Value> {
    let (block, element) = fields::elements(blocks).find(|(block, element)| {
        let there = press.block_id.as_deref();
        there.is_none_or(|id| block["block_id"] == id)
            && element["action_id"] == press.action_id.as_str()
    })?;
    let mut element = element.clone();
    element["block_id"] = block["block_id"].clone();
    Some(element)
}

/// A person reacts; 👍 on an open card approves where that is unambiguous.
pub(crate) async fn react(
    app: &Arc<App>,
    person: Person,
    channel: ChannelId,
    ts: MessageTs,
    name: String,
    add: bool,
) -> Result<()> {
    only_here(app)?;
    react::check_name(&name)?;
    let rules = app.rules.clone();
    app.write(move |tx| {
        let what = Reacted {
            channel,
            ts,
            name,
            add,
        };
        reacted(tx, &rules, &person, what)
    })
    .await
}

/// A reaction of a person.
#[derive(Debug, Clone)]
pub(crate) struct Reacted {
    pub(crate) channel: ChannelId,
    pub(crate) ts: MessageTs,
    pub(crate) name: String,
    pub(crate) add: bool,
}

/// Keeps a person's reaction, and what it decides.
pub(crate) fn reacted(
    tx: &mut Tx<'_>,
    rules: &Rules,
    person: &Person,
    what: Reacted,
) -> Result<()> {
    let Reacted {
        channel,
        ts,
        name,
        add,
    } = what;
    channels::get(tx.db(), &channel)?;
    let reactor = Reactor::Person(person.id.clone());
    react::react(tx, &reactor, &channel, &ts, &name, add)?;
    let Some(thumb) = Thumb::of_emoji(&name).filter(|_| add) else {
        return Ok(());
    };
    let Some((request, kind)) = decide::open_card(tx.db(), &channel, &ts)? else {
        return Ok(());
    };
    let Some(choice) = thumb.choice(kind) else {
        return Ok(());
    };
    let click = Click::new(channel, ts, request, choice);
    words::decided(tx, rules, person, &click).map(drop)
}

/// With real Slack behind us people act there: somebody on the page is nobody
/// that Slack knows.
pub(crate) fn only_here(app: &App) -> Result<()> {
    Refusal::UseSlack.when(app.relay.is_some())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_apps_name_becomes_a_mention_and_a_roles_does_not() {
        for (typed, kept) in [
            ("@codebutler help", "<@U0BUTLER> help"),
            ("hey @codebutler", "hey <@U0BUTLER>"),
            ("ask @codebutler.", "ask <@U0BUTLER>."),
            ("<@U0BUTLER> & you", "<@U0BUTLER> &amp; you"),
            ("@codebutler.coder go", "@codebutler.coder go"),
            ("`@codebutler`", "`@codebutler`"),
            ("me@codebutler x", "me@codebutler x"),
            ("@codebutlers", "@codebutlers"),
            ("<!channel>", "&lt;!channel&gt;"),
        ] {
            assert_eq!(written(typed), kept);
        }
    }
}
