//! Carries out what a person's exact words set in motion, before any model is
//! asked. Every post has a key made from the message, so a message that is
//! delivered again starts nothing again.

use crate::tell::joining::by_runtime;
use butler_playbook::{ONE_ITEM, Playbook, Shortcut};
use butler_protocol::{
    CallId, EventId, EventKind, HandOver, Idem, MessageTs, Plan, RequestId, Role, Speaker, Task,
    fault,
};
use butler_slack::{Message, mrkdwn};
use butler_turn::Heard;
use tracing::info;

use crate::{
    AgentError, ThreadContext, decide::roadmap, develop::item, listen::buttons, tell::render,
    thread::prepare,
};

/// How the approval of a plan begins that a skill's exact words stand for.
const BY_WORDS: &str = "skill-";

/// What is left for the model to do.
pub(crate) enum Left {
    /// Read the message.
    Message,
    /// Read it, and this beside it.
    WithNote(Box<Heard>),
    /// Nothing: the runtime has done it.
    Nothing,
}

impl Left {
    /// The text that says which tools this work needs: the runtime's note, or
    /// what another role passes on. A person's words are no recipe.
    pub(crate) fn skill<'a>(&'a self, heard: &'a Heard) -> &'a str {
        match (self, &heard.speaker) {
            (Left::WithNote(note), _) => &note.text,
            (Left::Message, Speaker::Agent { .. }) => &heard.text,
            _ => "",
        }
    }
}

/// Starts what a message asks for word for word. Call it only when no
/// activation of this role is open in the thread: an answer is no command.
pub(crate) async fn start(context: &ThreadContext, heard: &Heard) -> Result<Left, AgentError> {
    if !matches!(heard.speaker, Speaker::Person { .. }) {
        return Ok(Left::Message);
    }
    let playbook = context.agent.playbook().await;
    // The runtime gives the item of a run; what it is called starts nothing else.
    if let Some(EventKind::Item(number)) = heard.event.kind() {
        let values = [format!("item {number}")];
        let steps = playbook.shortcut_named(context.role(), ONE_ITEM, &values);
        return Ok(match steps {
            Ok(Shortcut::Own { note }) => Left::WithNote(Box::new(aside(heard, note))),
            _ => Left::Message,
        });
    }
    let Some(ts) = &heard.ts else {
        return pressed(context, &playbook, heard).await;
    };
    let shortcut = match playbook.shortcut(context.role(), &heard.text) {
        Shortcut::Open => chosen(context, &playbook, heard, ts).await?,
        shortcut => shortcut,
    };
    match shortcut {
        Shortcut::Open => Ok(Left::Message),
        Shortcut::Own { note } => {
            let note = with_item(context, &playbook, heard, note).await?;
            Ok(Left::WithNote(Box::new(note)))
        }
        Shortcut::PassOn { to, text } => {
            pass_on(context, idem(context, "skill", ts), to, text).await
        }
        Shortcut::Menu { text, names } => {
            let poster = &context.poster;
            let buttons = buttons::menu(&names);
            poster
                .offer(&context.thread, idem(context, "menu", ts), &text, &buttons)
                .await?;
            Ok(Left::Nothing)
        }
        Shortcut::Build { plan } => build(context, heard, ts, *plan).await,
    }
}

/// The remark of a workflow. One that builds an item of the roadmap brings the item, and
/// the log says from then on which one the thread builds.
async fn with_item(
    context: &ThreadContext,
    playbook: &Playbook,
    heard: &Heard,
    note: String,
) -> Result<Heard, AgentError> {
    if playbook.item_asked(&heard.text).is_none() {
        let note = match roadmap::brought(context, &note).await? {
            Some(text) => format!("{note}\n\n{text}"),
            None => note,
        };
        return Ok(aside(heard, note));
    }
    let roadmap = roadmap::now(context).await?;
    let Some((number, text)) = item::asked(playbook, &heard.text, &roadmap) else {
        return Ok(aside(heard, note));
    };
    let mut aside = aside(heard, format!("{note}\n\n{text}"));
    if let Some(number) = number {
        aside.event = EventId::item(number, heard.event.as_str());
    }
    Ok(aside)
}

/// A remark of the runtime beside a message.
fn aside(heard: &Heard, text: String) -> Heard {
    by_runtime(EventId::new(format!("shortcut:{}", heard.event)), text)
}

async fn pass_on(
    context: &ThreadContext,
    key: Idem,
    to: Role,
    text: String,
) -> Result<Left, AgentError> {
    info!(%to, "a skill was started by its words");
    let body = HandOver::Question { to, text };
    hand_over(context, key, &body).await
}

/// A press on a button of the newest menu in the thread; the button says the
/// name. Pressed again it starts nothing again.
async fn pressed(
    context: &ThreadContext,
    playbook: &Playbook,
    heard: &Heard,
) -> Result<Left, AgentError> {
    let messages = context.poster.web.replies(&context.thread).await?;
    let mut newest = messages.iter().rev();
    let menu = newest.find_map(|menu| Some((menu, asked_by(context, &messages, menu)?)));
    let Some((menu, asked)) = menu else {
        return Ok(Left::Message);
    };
    match from_menu(context, playbook, asked, &heard.text) {
        Shortcut::Own { note } => Ok(Left::WithNote(Box::new(aside(heard, note)))),
        Shortcut::PassOn { to, text } => {
            let key = idem(context, &format!("skill-{}", heard.text), &menu.ts);
            pass_on(context, key, to, text).await
        }
        _ => Ok(Left::Message),
    }
}

/// The branch is made and the Coder gets the plan. In a thread that has a branch
/// already somebody has to think about how the two go together.
async fn build(
    context: &ThreadContext,
    heard: &Heard,
    ts: &MessageTs,
    plan: Plan,
) -> Result<Left, AgentError> {
    let repo = &context.agent.repo;
    let key = idem(context, "task", ts);
    if repo.find(&context.thread).await?.is_some() && !posted(context, &key).await? {
        let note = "The message above starts a skill that changes code, but this thread has work of its own. Propose a plan that holds both, or say that a new thread is the place for it.";
        return Ok(Left::WithNote(Box::new(aside(heard, note.to_owned()))));
    }
    info!(
        plan = plan.title,
        "a skill that changes code was started by its words"
    );
    let worktree = repo
        .create(&context.thread, &plan.title, &context.cancel)
        .await?;
    prepare::begin(
        &context.agent,
        &context.thread,
        &worktree.path,
        prepare::Place::Worktree,
    );
    let body = HandOver::Task(Box::new(Task {
        request: heard.text.clone(),
        plan,
        branch: worktree.branch,
        approval: RequestId::new(format!("{BY_WORDS}{ts}")),
    }));
    hand_over(context, key, &body).await
}

async fn hand_over(
    context: &ThreadContext,
    key: Idem,
    body: &HandOver,
) -> Result<Left, AgentError> {
    fault("agent.before-shortcut");
    context.poster.hand_over(&context.thread, key, body).await?;
    fault("agent.after-shortcut");
    Ok(Left::Nothing)
}

/// Whether an approval is a person's words, not a card.
pub(crate) fn is_by_words(approval: &RequestId) -> bool {
    approval.as_str().starts_with(BY_WORDS)
}

/// Whether a person's own words in this thread stand for exactly this plan: the
/// message that the approval names is theirs, and the skill on the default
/// branch makes this plan of it. `None` when the approval is a card.
pub(crate) async fn covers(
    context: &ThreadContext,
    approval: &RequestId,
    plan: &Plan,
) -> Result<Option<bool>, AgentError> {
    let Some(ts) = approval.as_str().strip_prefix(BY_WORDS) else {
        return Ok(None);
    };
    let messages = context.poster.web.replies(&context.thread).await?;
    let playbook = context.agent.playbook().await;
    Ok(Some(stands_for(&playbook, &messages, ts, plan)))
}

/// Whether the message at `ts` is a person's, and exactly what starts this plan.
fn stands_for(playbook: &Playbook, messages: &[Message], ts: &str, plan: &Plan) -> bool {
    let mut theirs = messages.iter().filter(|message| is_persons(message));
    let said = theirs.find(|message| message.ts.as_str() == ts);
    let made = said.and_then(|said| playbook.plan_of(&mrkdwn::plain(&said.text)));
    made.as_ref() == Some(plan)
}

/// What is started by a message that answers a menu. A choice among things that
/// fit is no exact trigger: a skill that changes code gets a plan to approve.
async fn chosen(
    context: &ThreadContext,
    playbook: &Playbook,
    heard: &Heard,
    ts: &MessageTs,
) -> Result<Shortcut, AgentError> {
    // Only a short answer can be one; the others need no look at the thread.
    if heard.text.split_whitespace().count() > 3 || *ts == context.thread.root {
        return Ok(Shortcut::Open);
    }
    let messages = context.poster.web.replies(&context.thread).await?;
    let before = messages.iter().rfind(|message| message.ts < *ts);
    let asked = before.and_then(|menu| asked_by(context, &messages, menu));
    Ok(asked.map_or(Shortcut::Open, |asked| {
        from_menu(context, playbook, asked, &heard.text)
    }))
}

/// The person's message that got this menu, if it is one.
fn asked_by<'a>(
    context: &ThreadContext,
    messages: &'a [Message],
    menu: &Message,
) -> Option<&'a Message> {
    let mut theirs = messages.iter().filter(|message| is_persons(message));
    theirs.find(|message| {
        let start = idem(context, "menu", &message.ts);
        let tag = menu.tag();
        tag.is_some_and(|tag| tag.idem.as_str().starts_with(start.as_str()))
    })
}

/// The key of a menu that a call of the model posts: a press must find the person's
/// message that it answers, which is the last one.
pub(crate) fn menu_key(
    context: &ThreadContext,
    messages: &[Message],
    call: &CallId,
) -> Option<Idem> {
    let last = messages.iter().rfind(|message| is_persons(message))?;
    let key = idem(context, "menu", &last.ts);
    Some(Idem::new(format!("{key}-{call}")))
}

fn from_menu(
    context: &ThreadContext,
    playbook: &Playbook,
    asked: &Message,
    answer: &str,
) -> Shortcut {
    let words = mrkdwn::plain(&asked.text);
    match playbook.shortcut_chosen(context.role(), &words, answer) {
        None => Shortcut::Open,
        Some(Shortcut::Build { plan }) => Shortcut::Own {
            note: to_propose(&plan),
        },
        Some(shortcut) => shortcut,
    }
}

/// What the model is told of a skill that changes code and that no exact words of a
/// person started.
pub(crate) fn to_propose(plan: &Plan) -> String {
    format!(
        "This skill changes code. Propose it as a plan, with the places that you find:\n\n{}",
        render::plan(plan)
    )
}

async fn posted(context: &ThreadContext, key: &Idem) -> Result<bool, AgentError> {
    let messages = context.poster.web.replies(&context.thread).await?;
    Ok(messages.iter().any(|message| is_post(message, key)))
}

fn is_post(message: &Message, key: &Idem) -> bool {
    message.tag().is_some_and(|tag| tag.idem == *key)
}

/// Written by somebody of the workspace, not by an app.
fn is_persons(message: &Message) -> bool {
    message.user.is_some() && message.bot_id.is_none() && message.metadata.is_none()
}

fn idem(context: &ThreadContext, what: &str, ts: &MessageTs) -> Idem {
    context.key(format_args!("{what}-{ts}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TS: &str = "1700000001.000100";

    fn said(text: &str, by: &serde_json::Value) -> Message {
        let mut message = json!({"ts": TS, "text": text});
        for (name, value) in by.as_object().unwrap() {
            message[name] = value.clone();
        }
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn a_plan_needs_a_persons_own_exact_words() {
        let playbook = Playbook::new([]);
        let words = "please write tests for `notes.sh`";
        let plan = playbook.plan_of(words).unwrap();
        let person = json!({"user": "U1"});
        let check = |message: &Message, ts: &str, plan: &Plan| {
            stands_for(&playbook, std::slice::from_ref(message), ts, plan)
        };
        assert!(check(&said(words, &person), TS, &plan));
        for (what, by) in [
            ("a bot", json!({"user": "U1", "bot_id": "B1"})),
            ("an app under a name", json!({"username": "codebutler.pm"})),
            (
                "one of us",
                json!({"user": "U1", "metadata": {"event_type": "x", "event_payload": {}}}),
            ),
        ] {
            assert!(!check(&said(words, &by), TS, &plan), "{what}");
        }
        assert!(!check(
            &said("please write some tests for notes.sh", &person),
            TS,
            &plan
        ));
        assert!(!check(
            &said("write tests for other.sh", &person),
            TS,
            &plan
        ));
        assert!(!check(&said(words, &person), "1700000009.000100", &plan));
        let mut more = plan;
        more.steps.truncate(1);
        assert!(!check(&said(words, &person), TS, &more), "another plan");
    }
}
