//! What an app says about a thread with a person: what it does right now, what the
//! thread is about, and what may be asked.

use butler_protocol::{Activity, ActivityState, ChannelId, Role, ThreadId};
use serde_json::{Value, json};

use super::Call;
use crate::{
    error::{Refusal, Trouble, refuse},
    log::notice::Notice,
    presence::activity,
    store::{
        db::Db,
        sql::{OptionalExtension, params},
        tx::Tx,
    },
    workspace::{gate, message},
};

/// A status goes after two minutes, as at Slack.
const STATUS_SECONDS: u32 = 120;
/// What may be offered at once.
const PROMPTS: usize = 4;

async fn change(
    call: Call,
    work: impl FnOnce(&mut Tx<'_>, &ThreadId) -> Result<(), Trouble> + Send + 'static,
) -> Result<Value, Trouble> {
    let channel = ChannelId::new(call.args.need("channel_id", Refusal::ChannelNotFound)?);
    let Some(ts) = call.args.ts("thread_ts", Refusal::InvalidThreadTs)? else {
        return refuse(Refusal::InvalidThreadTs);
    };
    let (agent, fence) = (call.agent.clone(), call.fence.clone());
    let write = call.app.store.write(move |tx| {
        agent.check_fence(tx.db(), fence.as_ref())?;
        agent.may_use(tx.db(), &channel)?;
        let root = message::root_of(tx.db(), &channel, &ts)?;
        let thread = ThreadId::new(channel, root);
        work(tx, &thread)?;
        tx.say(Notice::Page {
            channel: thread.channel,
            root: thread.root,
        });
        Ok(json!({}))
    });
    write.await
}

/// Shown where people see who works on what; nothing takes it away.
pub(super) async fn set_status(call: Call) -> Result<Value, Trouble> {
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
) -> Result<(), Trouble> {
    let said = Activity {
        thread: thread.clone(),
        state,
        step,
        lease_seconds: STATUS_SECONDS,
    };
    activity::note(tx.db(), role, &said, tx.db().now_ms()).map(drop)
}

/// How it stands with a session of an agent: what it is called, and whether it works.
pub(super) async fn set_session(call: Call) -> Result<Value, Trouble> {
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

fn note(tx: &Tx<'_>, thread: &ThreadId, column: &str, value: &str) -> Result<(), Trouble> {
    let sql = format!(
        "INSERT INTO assistant_threads (channel, root, {column}) VALUES (?1, ?2, ?3)
         ON CONFLICT (channel, root) DO UPDATE SET {column} = excluded.{column}"
    );
    let key = params![thread.channel.as_str(), thread.root.as_str(), value];
    tx.db().execute(&sql, key)?;
    Ok(())
}

pub(super) async fn set_title(call: Call) -> Result<Value, Trouble> {
    let mut title = call.args.need("title", Refusal::InvalidArguments)?;
    gate::clean_text(&call.app.redactor, &mut title);
    change(call, move |tx, thread| note(tx, thread, "title", &title)).await
}

pub(super) async fn set_prompts(call: Call) -> Result<Value, Trouble> {
    let given = call.args.json("prompts", Refusal::InvalidArguments)?;
    let Some(Value::Array(mut prompts)) = given else {
        return refuse(Refusal::InvalidArguments);
    };
    let whole = |prompt: &Value| prompt["title"].is_string() && prompt["message"].is_string();
    if prompts.is_empty() || prompts.len() > PROMPTS || !prompts.iter().all(whole) {
        return refuse(Refusal::InvalidArguments);
    }
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
pub(crate) fn of(db: &Db, thread: &ThreadId) -> Result<Value, Trouble> {
    let found: Option<(Option<String>, Option<String>)> = db
        .prepare_cached(
            "SELECT title, prompts FROM assistant_threads WHERE channel = ?1 AND root = ?2",
        )?
        .query_row([thread.channel.as_str(), thread.root.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((title, prompts)) = found else {
        return Ok(Value::Null);
    };
    let prompts: Value = match prompts {
        Some(prompts) => serde_json::from_str(&prompts)?,
        None => json!([]),
    };
    Ok(json!({"title": title, "prompts": prompts}))
}
