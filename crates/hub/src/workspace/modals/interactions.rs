//! What people do with modals, home tabs and shortcuts, as the app is told of it, and
//! what the app's answer to a sent modal does.

use butler_protocol::{ChannelId, MessageTs, ThreadId};
use serde_json::{Value, json};

use super::{View, add, clear, close, get, keep, trigger, update};
use crate::{
    error::{Refusal, Result, refuse},
    identity::{APP, Agent, Person, TEAM},
    log::{self, Happening},
    person_api::{Press, person_actions::pressed_element},
    store::{Db, Tx},
    web_api::{changes, response_url},
    workspace::{
        Rules, channels, message,
        pressed::{self, fields, tell},
        read,
    },
};

/// The name under which a modal's errors say that no answer came; no block has it.
pub(crate) const UNANSWERED: &str = "";

/// What every payload of a person begins with.
fn payload(tx: &mut Tx<'_>, kind: &str, person: &Person, thread: &ThreadId) -> Result<Value> {
    Ok(json!({
        "type": kind, "team": {"id": TEAM, "domain": "codebutler"},
        "user": {"id": person.id, "username": person.name, "name": person.name, "team_id": TEAM},
        "api_app_id": APP, "token": "", "is_enterprise_install": false, "enterprise": null,
        "trigger_id": trigger(tx, thread, &person.id)?,
    }))
}

/// A view that this person sees.
fn own(db: &Db, person: &Person, id: &str) -> Result<View> {
    let view = get(db, id)?;
    match view.person == person.id {
        true => Ok(view),
        false => refuse(Refusal::NotFound),
    }
}

/// A person sends a modal, filled in. It stays until the app has answered.
pub(crate) fn submit(
    tx: &mut Tx<'_>,
    person: &Person,
    id: &str,
    state: Option<&Value>,
) -> Result<()> {
    let mut view = own(tx.db(), person, id)?;
    fill_in(&mut view, state);
    keep(tx, &view.thread, &view.body, None)?;
    let mut sent = payload(tx, "view_submission", person, &view.thread)?;
    sent["view"] = view.body;
    sent["response_urls"] = json!([]);
    tell(tx, view.thread, sent).map(drop)
}

/// What is in the fields of a view: what was said before, what is said now, and what the
/// app filled in.
fn fill_in(view: &mut View, now: Option<&Value>) {
    let mut known = view.body["state"]["values"].take();
    for (block, chosen) in now.and_then(Value::as_object).into_iter().flatten() {
        known[block] = chosen.clone();
    }
    let values = fields::state(&view.body["blocks"], Some(&known));
    view.body["state"] = json!({"values": values});
}

/// A person types into a field of a view whose options the app knows.
pub(crate) fn ask_options(
    tx: &mut Tx<'_>,
    person: &Person,
    id: &str,
    element: (Option<&str>, &str),
    typed: &str,
) -> Result<u64> {
    let view = own(tx.db(), person, id)?;
    let mut asked = pressed::suggestion(&view.body["blocks"], person, element, typed)?;
    asked["container"] = json!({"type": "view", "view_id": view.id()});
    asked["view"] = view.body;
    tell(tx, view.thread, asked)
}

/// A person closes a modal, or all of them where the app wants it so.
pub(crate) fn put_away(tx: &mut Tx<'_>, person: &Person, id: &str) -> Result<()> {
    let view = own(tx.db(), person, id)?;
    let all = view.body["clear_on_close"] == true;
    if all {
        clear(tx, &person.id)?;
    }
    close(tx, &view)?;
    if view.body["notify_on_close"] != true {
        return Ok(());
    }
    let mut closed = payload(tx, "view_closed", person, &view.thread)?;
    if let Some(fields) = closed.as_object_mut() {
        fields.remove("trigger_id");
    }
    closed["view"] = view.body;
    closed["is_cleared"] = json!(all);
    tell(tx, view.thread, closed).map(drop)
}

/// A person uses an element of a view.
pub(crate) fn press(tx: &mut Tx<'_>, person: &Person, id: &str, press: Press) -> Result<()> {
    let mut view = own(tx.db(), person, id)?;
    let state = press.state.clone();
    let mut element = pressed_element(&view.body["blocks"], press).ok_or(Refusal::UnknownAction)?;
    fill_in(&mut view, state.as_ref());
    fields::used(&mut view.body["state"]["values"], &element);
    keep(tx, &view.thread, &view.body, None)?;
    element["action_ts"] = json!(tx.next_ts());
    let mut pressed = payload(tx, "block_actions", person, &view.thread)?;
    pressed["container"] = json!({"type": "view", "view_id": view.id()});
    pressed["actions"] = json!([element]);
    pressed["view"] = view.body;
    tell(tx, view.thread, pressed).map(drop)
}

/// What an app made of a modal that was sent to it.
pub(crate) fn answered(tx: &mut Tx<'_>, agent: &Agent, sent: &Value, answer: &Value) -> Result<()> {
    let id = sent["view"]["id"].as_str().unwrap_or_default();
    let view = get(tx.db(), id)?;
    match answer["response_action"].as_str() {
        None => close(tx, &view),
        Some("clear") => {
            clear(tx, &view.person)?;
            close(tx, &view)
        }
        Some("errors") => keep(tx, &view.thread, &view.body, Some(&answer["errors"])),
        Some("update") => update(tx, agent, id, None, &answer["view"]).map(drop),
        Some("push") => {
            let place = (view.thread.clone(), view.person.clone());
            add(tx, agent, place, "modal", &answer["view"]).map(drop)
        }
        Some(_) => refuse(Refusal::InvalidArguments),
    }
}

/// The app has not answered in time: the modal stays, and says so.
pub(crate) fn unanswered(tx: &mut Tx<'_>, sent: &Value) -> Result<()> {
    let id = sent["view"]["id"].as_str().unwrap_or_default();
    let Ok(view) = get(tx.db(), id) else {
        return Ok(());
    };
    let errors = json!({ UNANSWERED: "The app did not answer. Try again." });
    keep(tx, &view.thread, &view.body, Some(&errors))
}

/// A person uses a shortcut: of the app, or on a message.
pub(crate) fn shortcut(
    tx: &mut Tx<'_>,
    rules: &Rules,
    person: &Person,
    name: &str,
    channel: &ChannelId,
    ts: Option<&MessageTs>,
) -> Result<()> {
    let channel = channels::get(tx.db(), channel)?;
    let action_ts = tx.next_ts();
    let Some(ts) = ts else {
        let thread = ThreadId::new(channel.id, action_ts.clone());
        let mut used = payload(tx, "shortcut", person, &thread)?;
        used["callback_id"] = json!(name);
        used["action_ts"] = json!(action_ts);
        return tell(tx, thread, used).map(drop);
    };
    let found = message::find(tx.db(), &channel.id, ts)?.ok_or(Refusal::MessageNotFound)?;
    let thread = ThreadId::new(channel.id.clone(), found.root.clone());
    let key = response_url::issue(tx.db(), &channel.id, ts, &person.id)?;
    let mut used = payload(tx, "message_action", person, &thread)?;
    used["callback_id"] = json!(name);
    used["action_ts"] = json!(action_ts);
    used["message_ts"] = json!(ts);
    used["channel"] = json!({"id": channel.id, "name": channel.name});
    used["message"] = read::shown(tx.db(), &channel.id, found, false)?;
    used["response_url"] = json!(format!("{}/respond/{key}", rules.base));
    tell(tx, thread, used).map(drop)
}

/// A person opens the home tab of the app; the app may publish what is to be seen there.
pub(crate) fn open_home(tx: &mut Tx<'_>, person: &Person, channel: &ChannelId) -> Result<()> {
    let repo = channels::get(tx.db(), channel)?.repo;
    // It is opened in the conversation with the app.
    let (channel, _) = changes::direct(tx, &repo, &[person.id.to_string()])?;
    let event_ts = tx.next_ts();
    let mut event = json!({"type": "app_home_opened", "user": person.id, "channel": channel.id,
        "tab": "home", "event_ts": event_ts});
    if let Some(view) = super::stack(tx.db(), &person.id, "home")?.pop() {
        event["view"] = view.body;
    }
    let thread = ThreadId::new(channel.id, event_ts);
    log::append(tx, Happening::new(thread, None, event)).map(drop)
}
