//! Several processes of one role, each on a machine of its own, share its threads. A
//! thread has one holder at a time: only it gets the thread's envelopes, and only its
//! writes count. Who has no connection for a few seconds has lost its threads: those with
//! work in them go to another process, which is woken and goes on from the log that the
//! hub has. A process that gives no name is alone, as every role was before.
//!
//! Safety does not hang on any clock: a process that was taken for dead and is not is
//! refused here, by its epoch and by the holder of the thread.

pub(crate) mod everybody;
pub(crate) mod holders;

use std::{sync::Arc, time::Duration};

use butler_protocol::{Epoch, Role, ThreadId};
use serde_json::json;
use tokio::time::sleep;
use tracing::{info, warn};

use self::holders::{give, holds_any};
use crate::{
    error::Result,
    hub::App,
    identity,
    log::{self, AgentKey, Happening, Notice},
    store::{Db, Tx, params},
};

/// How long a process may be without a connection before it has lost its threads.
const LEASE_MS: i64 = 3_000;
const LOOK: Duration = Duration::from_secs(1);
/// Stands for what only one process of a role does.
const DUTIES: &str = "";
/// The event that wakes the new holder of a thread.
const GIVEN: &str = "thread_given";

/// How a process stands among those of its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Standing {
    /// It does what only one of them does.
    pub(crate) first: bool,
    /// There are others.
    pub(crate) shared: bool,
}

/// A process has a new connection.
pub(crate) fn enter(
    tx: &mut Tx<'_>,
    agent: AgentKey,
    process: &str,
    hub: &str,
    epoch: Epoch,
) -> Result<Standing> {
    tx.db().execute(
        "INSERT INTO processes (agent, process, epoch, hub, gone_ms)
             VALUES (?1, ?2, ?3, ?4, NULL)
             ON CONFLICT (agent, process) DO UPDATE SET epoch = excluded.epoch,
               hub = excluded.hub, gone_ms = NULL",
        params![agent, process, epoch, hub],
    )?;
    share_out(tx, agent)?;
    standing(tx.db(), agent, process)
}

/// Its connection is over; nothing when it has a newer one.
pub(crate) fn left(db: &Db, agent: AgentKey, process: &str, epoch: Epoch) -> Result<()> {
    let now_ms = clock_ms(db)?;
    db.run(
        "UPDATE processes SET gone_ms = ?4
         WHERE agent = ?1 AND process = ?2 AND epoch = ?3 AND gone_ms IS NULL",
        params![agent, process, epoch, now_ms],
    )
}

/// Somebody without a name speaks for the role, alone.
pub(crate) fn forget(db: &Db, agent: AgentKey) -> Result<()> {
    for table in ["processes", "held_threads"] {
        db.execute(&format!("DELETE FROM {table} WHERE agent = ?1"), [agent])?;
    }
    Ok(())
}

/// Whether there is such a process.
pub(crate) fn is_known(db: &Db, agent: AgentKey, process: &str) -> Result<bool> {
    Ok(db.one(
        "SELECT EXISTS (SELECT 1 FROM processes WHERE agent = ?1 AND process = ?2)",
        params![agent, process],
    )?)
}

/// How a process stands now.
pub(crate) fn standing(db: &Db, agent: AgentKey, process: &str) -> Result<Standing> {
    let (first, processes): (bool, i64) = db.one(
        "SELECT EXISTS (SELECT 1 FROM held_threads
               WHERE agent = ?1 AND thread = ?2 AND process = ?3),
               (SELECT count(*) FROM processes WHERE agent = ?1)",
        params![agent, DUTIES, process],
    )?;
    let shared = processes > 1;
    Ok(Standing { first, shared })
}

/// Whether an epoch is that of a process; nothing where no process has a name.
pub(crate) fn knows(db: &Db, agent: AgentKey, epoch: Epoch) -> Result<Option<bool>> {
    let (named, known): (bool, bool) = db.one(
        "SELECT EXISTS (SELECT 1 FROM processes WHERE agent = ?1),
               EXISTS (SELECT 1 FROM processes WHERE agent = ?1 AND epoch = ?2)",
        params![agent, epoch],
    )?;
    Ok(named.then_some(known))
}

/// Gives out what nobody holds any more: what waits, and what is at work. A thread that
/// rests is given with its next event.
fn share_out(tx: &mut Tx<'_>, agent: AgentKey) -> Result<()> {
    let db = tx.db();
    let lost = db.execute(
        "DELETE FROM processes WHERE agent = ?1 AND gone_ms <= ?2",
        params![agent, clock_ms(db)? - LEASE_MS],
    )?;
    if lost > 0 {
        // Above every line that the lost ones wrote.
        db.execute("UPDATE agents SET epoch = epoch + 1 WHERE id = ?1", [agent])?;
    }
    let held = |sql: &str| -> Result<Vec<String>> { Ok(db.rows(sql, [agent])?) };
    let orphans = held(
        "SELECT thread FROM held_threads WHERE agent = ?1 AND process NOT IN
           (SELECT process FROM processes WHERE agent = ?1)",
    )?;
    let role = identity::agent_by_key(db, agent)?.role;
    db.execute(
        "DELETE FROM held_threads WHERE agent = ?1 AND process NOT IN
           (SELECT process FROM processes WHERE agent = ?1)",
        [agent],
    )?;
    if !holds_any(db, agent, DUTIES)? {
        give(db, agent, DUTIES)?;
    }
    let mut given = 0;
    for thread in &orphans {
        let Ok(thread_id) = thread.parse::<ThreadId>() else {
            continue;
        };
        if is_at_work(db, &thread_id, role)? {
            give(db, agent, thread)?;
            wake(tx, agent, thread_id)?;
            given += 1;
        }
    }
    let waiting = held(
        "SELECT DISTINCT thread FROM deliveries WHERE agent = ?1 AND NOT EXISTS
           (SELECT 1 FROM held_threads held WHERE held.agent = deliveries.agent
             AND held.thread = deliveries.thread)",
    )?;
    for thread in &waiting {
        give(db, agent, thread)?;
    }
    if lost > 0 {
        info!(%role, lost, given, "the threads of lost processes are given to others");
    }
    tx.say(Notice::Shared { agent });
    Ok(())
}

/// Whether a role's logs of a thread ask for something: an activation that is not over,
/// or a merge that waits for its forge.
fn is_at_work(db: &Db, thread: &ThreadId, role: Role) -> Result<bool> {
    let count = |kind: &str| -> Result<i64> {
        Ok(db.one(
            "SELECT count(*) FROM records WHERE channel = ?1 AND root = ?2 AND role = ?3
                 AND json_extract(entry, '$.record.t') = ?4",
            params![thread, role, kind],
        )?)
    };
    Ok(count("activation_started")? > count("activation_ended")?
        || count("merge_refused")? > count("merge_settled")?)
}

/// Wakes the new holder of a thread.
fn wake(tx: &mut Tx<'_>, agent: AgentKey, thread: ThreadId) -> Result<()> {
    let given = Happening {
        only: Some(agent),
        ..Happening::new(thread, None, json!({"type": GIVEN}))
    };
    log::append(tx, given)?;
    Ok(())
}

/// Looks each second for processes that are gone; only one hub of a store does.
pub(crate) async fn keep_sharing(app: Arc<App>) {
    loop {
        tokio::select! {
            () = app.cancel.cancelled() => return,
            () = sleep(LOOK) => {}
        }
        let hub = app.store.hub();
        let due = app.read(move |db| due(db, &hub)).await;
        if !matches!(due, Ok(false)) {
            let hub = app.store.hub();
            let swept = app.write(move |tx| sweep(tx, &hub)).await;
            if let Err(error) = swept {
                warn!(%error, "threads of lost processes are not given to others yet");
            }
        }
    }
}

/// Connections that went with their hub.
const ORPHANED: &str = "gone_ms IS NULL AND hub <> ?1";
/// The same where hubs come and go.
const ORPHANED_SHARED: &str = "gone_ms IS NULL AND hub <> ?1 AND hub NOT IN (SELECT hub FROM hubs)";

fn orphaned(db: &Db) -> &'static str {
    match db.shared() {
        Some(_) => ORPHANED_SHARED,
        None => ORPHANED,
    }
}

fn due(db: &Db, hub: &str) -> Result<bool> {
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM processes WHERE {}) OR EXISTS (SELECT 1 FROM processes lost
           WHERE gone_ms <= ?2 AND EXISTS (SELECT 1 FROM processes other
             WHERE other.agent = lost.agent AND other.gone_ms IS NULL))",
        orphaned(db)
    );
    let lost_by = clock_ms(db)? - LEASE_MS;
    Ok(db.one(&sql, params![hub, lost_by])?)
}

/// Gives out the threads of every process that is lost while others of its role are there.
fn sweep(tx: &mut Tx<'_>, hub: &str) -> Result<()> {
    let db = tx.db();
    let now_ms = clock_ms(db)?;
    let sql = format!("UPDATE processes SET gone_ms = ?2 WHERE {}", orphaned(db));
    db.execute(&sql, params![hub, now_ms])?;

    let agents: Vec<AgentKey> = db.rows(
        "SELECT DISTINCT agent FROM processes lost WHERE gone_ms <= ?1 AND EXISTS
           (SELECT 1 FROM processes other WHERE other.agent = lost.agent
             AND other.gone_ms IS NULL)",
        [now_ms - LEASE_MS],
    )?;
    for agent in agents {
        share_out(tx, agent)?;
    }
    Ok(())
}

/// The store's own clock, which all hubs share.
fn clock_ms(db: &Db) -> Result<i64> {
    let sql = match db.shared() {
        Some(_) => "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint",
        None => "SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)",
    };
    Ok(db.one(sql, [])?)
}
