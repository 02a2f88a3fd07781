//! What an app says about a thread with a person: what it does right now, what the
//! thread is about, and what may be asked.

use butler_protocol::{Activity, ActivityState, ChannelId, Role, ThreadId};
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

async fn change(
    call: Call,
    work: impl FnOnce(&mut Tx<'_>, &ThreadId) -> Result<()> + Send + 'static,
) -> Result<Value> {
    let channel = ChannelId::new(call.args.need("channel_id", Refusal::ChannelNotFound)?);
    const BAD: Refusal = Refusal::InvalidThreadTs;
    let (place, ts) = (channel.clone(), call.args.need_ts("thread_ts", BAD, BAD)?);
    call.write_in(&channel, move |tx, _| {
        let root = message::root_of(tx.db(), &place, &ts)?;
        let thread = ThreadId::new(place, root);
        work(tx, &thread)?;
        tx.say(Notice::Page(thread));
        Ok(json!({}))
    })
    .await
}

/// Shown where people see who works on what; nothing takes it away.
pub(super) async fn set_status(call: Call) -> Result<Value> {
    let mut status = call.args.text("status").unwrap_or_default();
    gate::clean_text(&call.app.redactor, &mut status);
    let role = call.agent.role;
    change(call, move |tx, thread| {
        let step = (!status.is_empty()).then_some(status);
        let state = match &step {
            None => ActivityState::Idle,
            Some(_) => ActivityState::Working,
        };
        does(tx, role, thread, state, step)
    })
    .await
}

/// Notes what the app does in a thread, for as long as Slack would show it.
fn does(
    tx: &Tx<'_>,
    role: Role,
    thread: &ThreadId,
    state: ActivityState,
    step: Option<String>,
) -> Result<()> {
    let said = Activity {
        thread: thread.clone(),
        state,
        step,
        lease_seconds: STATUS_SECONDS,
    };
    activity::note(tx.db(), role, &said, tx.db().now_ms()).map(drop)
}

/// How it stands with a session of an agent: what it is called, and whether it works.
pub(super) async fn set_session(call: Call) -> Result<Value> {
    let status = call.args.need("status", Refusal::InvalidArguments)?;
    let state = match status.as_str() {
        "processing" => ActivityState::Working,
        "active" | "suspended" | "closed" => ActivityState::Idle,
        _ => return refuse(Refusal::InvalidArguments),
    };
    let mut title = call.args.text("title");
    if let Some(title) = &mut title {
        gate::clean_text(&call.app.redactor, title);
    }
    let role = call.agent.role;
    change(call, move |tx, thread| {
        if let Some(title) = title {
            note(tx, thread, "title", &title)?;
        }
        does(tx, role, thread, state, None)
    })
    .await
}

fn note(tx: &Tx<'_>, thread: &ThreadId, column: &str, value: &str) -> Result<()> {
    let sql = format!(
        "INSERT INTO assistant_threads (channel, root, {column}) VALUES (?1, ?2, ?3)
         ON CONFLICT (channel, root) DO UPDATE SET {column} = excluded.{column}"
    );
    let key = params![thread, value];
    tx.db().run(&sql, key)
}

pub(super) async fn set_title(call: Call) -> Result<Value> {
    let mut title = call.args.need("title", Refusal::InvalidArguments)?;
    gate::clean_text(&call.app.redactor, &mut title);
    change(call, move |tx, thread| note(tx, thread, "title", &title)).await
}

pub(super) async fn set_prompts(call: Call) -> Result<Value> {
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
    change(call, move |tx, thread| {
        note(tx, thread, "prompts", &prompts)
    })
    .await
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
