//! What the page and `/v1` show about threads and agents.

use butler_vocab::{DecisionView, Role, ThreadId, Usd};
use rusqlite::{Connection, params};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    activity::{self, Standing},
    desk::now_ms,
    error::Trouble,
    purse::{self, Caps},
    workspace::{channels, decide, message, read},
};

/// Everything about one thread.
#[derive(Debug, Serialize)]
pub(crate) struct ThreadView {
    pub(crate) thread: ThreadId,
    pub(crate) messages: Vec<Value>,
    pub(crate) activity: Vec<Standing>,
    /// Who owns the next unaddressed message.
    pub(crate) active: Option<Role>,
    pub(crate) cost: Cost,
    /// Cards of the thread with what was decided.
    pub(crate) decisions: Vec<DecisionView>,
    pub(crate) records: Vec<Value>,
}

/// What a thread cost so far.
#[derive(Debug, Serialize)]
pub(crate) struct Cost {
    /// Settled and set aside.
    pub(crate) used: Usd,
    pub(crate) cap: Usd,
    /// By role and model.
    pub(crate) calls: Vec<Value>,
}

pub(crate) fn thread(
    db: &Connection,
    thread: &ThreadId,
    caps: &Caps,
) -> Result<ThreadView, Trouble> {
    channels::get(db, &thread.channel)?;
    let root = message::root_of(db, &thread.channel, &thread.root)?;
    let thread = ThreadId::new(thread.channel.clone(), root);
    let range = read::Range {
        limit: 999,
        all_metadata: true,
        ..read::Range::default()
    };
    let mut messages = Vec::new();
    let mut cursor = None;
    loop {
        let range = read::Range {
            cursor,
            ..range.clone()
        };
        let page = read::replies(db, &thread.channel, &thread.root, &range)?;
        messages.extend(page.messages);
        if page.next_cursor.is_empty() {
            break;
        }
        cursor = Some(page.next_cursor);
    }
    let standings = activity::standings(db, &thread)?;
    Ok(ThreadView {
        messages,
        active: activity::active_of(&standings, now_ms()),
        activity: standings,
        cost: Cost {
            used: purse::spent_in_thread(db, &thread)?,
            cap: purse::thread_cap(db, &thread, caps)?,
            calls: calls(db, &thread)?,
        },
        decisions: decide::of_thread(db, &thread)?,
        records: records(db, &thread)?,
        thread,
    })
}

fn calls(db: &Connection, thread: &ThreadId) -> Result<Vec<Value>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT role, coalesce(model, ''), count(*), sum(coalesce(cost, 0)),
                sum(CASE WHEN cost IS NULL THEN amount ELSE 0 END)
         FROM reservations WHERE channel = ?1 AND root = ?2 GROUP BY role, model ORDER BY role, model",
    )?;
    let rows = statement.query_map(
        params![thread.channel.as_str(), thread.root.as_str()],
        |row| {
            Ok(
                json!({"role": row.get::<_, String>(0)?, "model": row.get::<_, String>(1)?,
                "calls": row.get::<_, i64>(2)?, "cost": row.get::<_, i64>(3)?,
                "reserved": row.get::<_, i64>(4)?}),
            )
        },
    )?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn records(db: &Connection, thread: &ThreadId) -> Result<Vec<Value>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT role, entry FROM records WHERE channel = ?1 AND root = ?2
         ORDER BY json_extract(entry, '$.at_ms'), role, seq",
    )?;
    let rows = statement.query_map(
        params![thread.channel.as_str(), thread.root.as_str()],
        |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)),
    )?;
    let mut found = Vec::new();
    for row in rows {
        let (role, entry) = row?;
        let entry: Value = serde_json::from_str(&entry)?;
        found.push(json!({"role": role, "entry": entry}));
    }
    Ok(found)
}

/// Every agent with its queue.
pub(crate) fn agents(db: &Connection) -> Result<Vec<Value>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT repo, role, epoch, seen_ms,
                (SELECT count(*) FROM deliveries WHERE deliveries.agent = agents.id)
         FROM agents ORDER BY repo, id",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(
            json!({"repo": row.get::<_, String>(0)?, "role": row.get::<_, String>(1)?,
            "epoch": row.get::<_, i64>(2)?, "connected_ms": row.get::<_, Option<i64>>(3)?,
            "queue": row.get::<_, i64>(4)?}),
        )
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
