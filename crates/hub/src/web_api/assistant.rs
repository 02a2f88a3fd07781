//! What an app says about a thread with a person: what it does right now, what the
//! thread is about, and what may be asked.

use butler_protocol::{Activity, ActivityState, ChannelId, ThreadId};
use serde_json::{Value, json};

use super::Call;
use crate::{
    error::{Refusal, Result, When, refuse},
    log::Notice,
    presence::activity,
    store::{Db, Tx, params},
    workspace::{gate, message},
};

/// A status goes after two minutes, as at Slack.
const STATUS_SECONDS: u32 = 120;
/// What may be offered at once.
const PROMPTS: usize = 4;

/// The thread that a call names; people's pages show what is changed about it.
fn thread_of(tx: &mut Tx<'_>, call: &Call) -> Result<ThreadId> {
    const BAD: Refusal = Refusal::InvalidThreadTs;
    let channel = ChannelId::new(call.args.need("channel_id", Refusal::ChannelNotFound)?);
    let ts = call.args.need_ts("thread_ts", BAD, BAD)?;
    call.agent.may_use(tx.db(), &channel)?;
    let root = message::root_of(tx.db(), &channel, &ts)?;
    let thread = ThreadId::new(channel, root);
    tx.say(Notice::Page(thread.clone()));
    Ok(thread)
}

/// Shown where people see who works on what; nothing takes it away.
pub(super) fn set_status(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let mut status = call.args.text("status").unwrap_or_default();
    gate::clean_text(&call.app.redactor, &mut status);
    let thread = thread_of(tx, call)?;
    match status.is_empty() {
        true => does(tx, call, thread, ActivityState::Idle, None),
        false => does(tx, call, thread, ActivityState::Working, Some(status)),
    }
}

/// Notes what the app does in a thread, for as long as Slack would show it.
fn does(
    tx: &Tx<'_>,
    call: &Call,
    thread: ThreadId,
    state: ActivityState,
    step: Option<String>,
) -> Result<Value> {
    let said = Activity {
        thread,
        state,
        step,
        lease_seconds: STATUS_SECONDS,
    };
    activity::note(tx.db(), call.agent.role, &said, tx.db().now_ms())?;
    Ok(json!({}))
}

/// How it stands with a session of an agent: what it is called, and whether it works.
pub(super) fn set_session(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let status = call.args.need("status", Refusal::InvalidArguments)?;
    let state = match status.as_str() {
        "processing" => ActivityState::Working,
        "active" | "suspended" | "closed" => ActivityState::Idle,
        _ => return refuse(Refusal::InvalidArguments),
    };
    let thread = thread_of(tx, call)?;
    if let Some(mut title) = call.args.text("title") {
        gate::clean_text(&call.app.redactor, &mut title);
        note(tx, &thread, "title", &title)?;
    }
    does(tx, call, thread, state, None)
}

fn note(tx: &Tx<'_>, thread: &ThreadId, column: &str, value: &str) -> Result<Value> {
    let sql = format!(
        "INSERT INTO assistant_threads (channel, root, {column}) VALUES (?1, ?2, ?3)
         ON CONFLICT (channel, root) DO UPDATE SET {column} = excluded.{column}"
    );
    tx.db().execute(&sql, params![thread, value])?;
    Ok(json!({}))
}

pub(super) fn set_title(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let mut title = call.args.need("title", Refusal::InvalidArguments)?;
    gate::clean_text(&call.app.redactor, &mut title);
    let thread = thread_of(tx, call)?;
    note(tx, &thread, "title", &title)
}

pub(super) fn set_prompts(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let given = call.args.json("prompts", Refusal::InvalidArguments)?;
    let Some(Value::Array(mut prompts)) = given else {
        return refuse(Refusal::InvalidArguments);
    };
    let whole = |prompt: &Value| prompt["title"].is_string() && prompt["message"].is_string();
    Refusal::InvalidArguments
        .when(prompts.is_empty() || prompts.len() > PROMPTS || !prompts.iter().all(whole))?;
    for prompt in &mut prompts {
        gate::clean_value(&call.app.redactor, prompt);
    }
    let prompts = Value::Array(prompts).to_string();
    let thread = thread_of(tx, call)?;
    note(tx, &thread, "prompts", &prompts)
}

/// The title and the prompts of a thread, where an app gave it some.
pub(crate) fn of(db: &Db, thread: &ThreadId) -> Result<Value> {
    let sql = "SELECT title, prompts FROM assistant_threads WHERE channel = ?1 AND root = ?2";
    let found = db.first::<(Option<String>, Option<Value>)>(sql, [thread])?;
    Ok(found.map_or(
        Value::Null,
        |(title, prompts)| json!({"title": title, "prompts": prompts.unwrap_or_else(|| json!([]))}),
    ))
}
