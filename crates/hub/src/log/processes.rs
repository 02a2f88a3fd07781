//! Several processes of one role, each on a machine of its own, share its threads. A
//! thread has one holder at a time: only it gets the thread's envelopes, and only its
//! writes count. Who has no connection for a few seconds has lost its threads: those with
//! work in them go to another process, which is woken and goes on from the log that the
//! hub has. A process that gives no name is alone, as every role was before.
//!
//! Safety does not hang on any clock: a process that was taken for dead and is not is
//! refused here, by its epoch and by the holder of the thread.

use std::{sync::Arc, time::Duration};

use butler_policy::Duty;
use butler_protocol::{Epoch, Role, ThreadId};
use serde_json::json;
use tokio::time::sleep;
use tracing::{info, warn};

use crate::{
    error::{Refusal, Trouble, refuse},
    hub::app::App,
    identity,
    log::{
        self, Happening,
        notice::{AgentKey, Notice},
    },
    store::{
        db::Db,
        sql::{OptionalExtension, params},
        tx::Tx,
    },
};

/// How long a process may be without a connection before it has lost its threads.
pub(crate) const LEASE_MS: i64 = 3_000;
const LOOK: Duration = Duration::from_secs(1);
/// Threads that were given or worked on within this time count as load.
const RECENT_MS: i64 = 10 * 60 * 1000;
/// A thread at work is noted as such this often.
const TOUCH_MS: i64 = 60 * 1000;
/// Stands for what only one process of a role does.
const DUTIES: &str = "";
/// The event that wakes the new holder of a thread.
pub(crate) const GIVEN: &str = "thread_given";

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
) -> Result<Standing, Trouble> {
    tx.db()
        .prepare_cached(
            "INSERT INTO processes (agent, process, epoch, hub, gone_ms)
             VALUES (?1, ?2, ?3, ?4, NULL)
             ON CONFLICT (agent, process) DO UPDATE SET epoch = excluded.epoch,
               hub = excluded.hub, gone_ms = NULL",
        )?
        .execute(params![agent, process, number(epoch), hub])?;
    share_out(tx, agent)?;
    standing(tx.db(), agent, process)
}

/// Its connection is over; nothing when it has a newer one.
pub(crate) fn left(db: &Db, agent: AgentKey, process: &str, epoch: Epoch) -> Result<(), Trouble> {
    let now_ms = clock_ms(db)?;
    db.prepare_cached(
        "UPDATE processes SET gone_ms = ?4
         WHERE agent = ?1 AND process = ?2 AND epoch = ?3 AND gone_ms IS NULL",
    )?
    .execute(params![agent, process, number(epoch), now_ms])?;
    Ok(())
}

/// Somebody without a name speaks for the role, alone.
pub(crate) fn forget(db: &Db, agent: AgentKey) -> Result<(), Trouble> {
    for table in ["processes", "held_threads"] {
        db.prepare_cached(&format!("DELETE FROM {table} WHERE agent = ?1"))?
            .execute([agent])?;
    }
    Ok(())
}

/// How a process stands now.
pub(crate) fn standing(db: &Db, agent: AgentKey, process: &str) -> Result<Standing, Trouble> {
    let (first, processes): (bool, i64) = db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM held_threads
               WHERE agent = ?1 AND thread = ?2 AND process = ?3),
               (SELECT count(*) FROM processes WHERE agent = ?1)",
        )?
        .query_row(params![agent, DUTIES, process], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let shared = processes > 1;
    Ok(Standing { first, shared })
}

/// Whether an epoch is that of a process; nothing where no process has a name.
pub(crate) fn knows(db: &Db, agent: AgentKey, epoch: Epoch) -> Result<Option<bool>, Trouble> {
    let (named, known): (bool, bool) = db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM processes WHERE agent = ?1),
               EXISTS (SELECT 1 FROM processes WHERE agent = ?1 AND epoch = ?2)",
        )?
        .query_row(params![agent, number(epoch)], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    Ok(named.then_some(known))
}

/// Refuses a process while another one holds the thread.
pub(crate) fn check_holder(
    db: &Db,
    agent: AgentKey,
    epoch: Epoch,
    thread: &ThreadId,
) -> Result<(), Trouble> {
    let thread = thread.to_string();
    let found: Option<(String, Option<String>)> = db
        .prepare_cached(
            "SELECT process, (SELECT held.process FROM held_threads held
               WHERE held.agent = processes.agent AND held.thread = ?3)
             FROM processes WHERE agent = ?1 AND epoch = ?2",
        )?
        .query_row(params![agent, number(epoch), thread], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    match found {
        Some((process, Some(holder))) if process != holder => refuse(Refusal::ThreadTaken),
        // A process without a name is alone.
        _ => Ok(()),
    }
}

/// The epoch with which the holder of a thread writes its log: above that of every line
/// that others wrote. A thread that nobody holds becomes the caller's; zero for one that
/// is alone.
pub(crate) fn take_up(
    db: &Db,
    agent: AgentKey,
    epoch: Epoch,
    thread: &ThreadId,
) -> Result<Epoch, Trouble> {
    let key = thread.to_string();
    let process: Option<String> = db
        .prepare_cached("SELECT process FROM processes WHERE agent = ?1 AND epoch = ?2")?
        .query_row(params![agent, number(epoch)], |row| row.get(0))
        .optional()?;
    let Some(process) = process else {
        return Ok(Epoch(0));
    };
    if !holds_any(db, agent, &key)? {
        hold(db, agent, &key, &process)?;
    }
    let epoch: i64 = db
        .prepare_cached("SELECT epoch FROM held_threads WHERE agent = ?1 AND thread = ?2")?
        .query_row(params![agent, key], |row| row.get(0))?;
    Ok(Epoch(epoch.unsigned_abs()))
}

/// Whether a process holds a thread.
pub(crate) fn holds(
    db: &Db,
    agent: AgentKey,
    process: &str,
    thread: &str,
) -> Result<bool, Trouble> {
    Ok(db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM held_threads
             WHERE agent = ?1 AND thread = ?2 AND process = ?3)",
        )?
        .query_row(params![agent, thread, process], |row| row.get(0))?)
}

/// The thread is being worked on: it counts as load.
pub(crate) fn touch(db: &Db, agent: AgentKey, thread: &ThreadId) -> Result<(), Trouble> {
    let now_ms = clock_ms(db)?;
    db.prepare_cached(
        "UPDATE held_threads SET at_ms = ?3 WHERE agent = ?1 AND thread = ?2 AND at_ms < ?4",
    )?
    .execute(params![
        agent,
        thread.to_string(),
        now_ms,
        now_ms - TOUCH_MS
    ])?;
    Ok(())
}

/// An event of a thread is queued: whoever of its receivers shares threads gets a holder
/// for it.
pub(crate) fn hold_for(db: &Db, seq: i64, thread: &str) -> Result<(), Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT DISTINCT processes.agent FROM processes
         JOIN deliveries ON deliveries.agent = processes.agent AND deliveries.seq = ?1
         WHERE NOT EXISTS (SELECT 1 FROM held_threads held
           WHERE held.agent = processes.agent AND held.thread = ?2)",
    )?;
    let agents = statement.query_map(params![seq, thread], |row| row.get(0))?;
    let agents: Vec<AgentKey> = agents.collect::<Result<_, _>>()?;
    for agent in agents {
        give(db, agent, thread)?;
    }
    Ok(())
}

/// Gives a thread to the process that has the least to do, or where everything of the
/// role stays together. Who is away for a moment comes last.
fn give(db: &Db, agent: AgentKey, thread: &str) -> Result<(), Trouble> {
    let role = identity::agent_by_key(db, agent)?.role;
    let process: Option<String> = db
        .prepare_cached(
            "SELECT process FROM processes WHERE agent = ?1
             ORDER BY gone_ms IS NOT NULL,
               ?4 AND NOT EXISTS (SELECT 1 FROM held_threads held WHERE held.agent = ?1
                 AND held.thread = ?3 AND held.process = processes.process),
               (SELECT count(*) FROM held_threads held WHERE held.agent = ?1
                 AND held.process = processes.process AND held.at_ms > ?2
                 AND held.thread <> ?3),
               epoch LIMIT 1",
        )?
        .query_row(
            params![
                agent,
                clock_ms(db)? - RECENT_MS,
                DUTIES,
                stays_together(role)
            ],
            |row| row.get(0),
        )
        .optional()?;
    match process {
        Some(process) => hold(db, agent, thread, &process),
        None => Ok(()),
    }
}

/// Whoever has duties beside its threads keeps both in one process: what it finds there
/// is for its own threads.
fn stays_together(role: Role) -> bool {
    Duty::Front.is_of(role) || Duty::Remember.is_of(role)
}

fn hold(db: &Db, agent: AgentKey, thread: &str, process: &str) -> Result<(), Trouble> {
    db.prepare_cached(
        "INSERT INTO held_threads (agent, thread, process, epoch, at_ms)
         SELECT id, ?2, ?3, epoch, ?4 FROM agents WHERE id = ?1
         ON CONFLICT (agent, thread) DO UPDATE SET process = excluded.process,
           epoch = excluded.epoch, at_ms = excluded.at_ms",
    )?
    .execute(params![agent, thread, process, clock_ms(db)?])?;
    Ok(())
}

/// Gives out what nobody holds any more: what waits, and what is at work. A thread that
/// rests is given with its next event.
fn share_out(tx: &mut Tx<'_>, agent: AgentKey) -> Result<(), Trouble> {
    let db = tx.db();
    let lost = db
        .prepare_cached("DELETE FROM processes WHERE agent = ?1 AND gone_ms <= ?2")?
        .execute(params![agent, clock_ms(db)? - LEASE_MS])?;
    if lost > 0 {
        // Above every line that the lost ones wrote.
        db.prepare_cached("UPDATE agents SET epoch = epoch + 1 WHERE id = ?1")?
            .execute([agent])?;
    }
    let held = |sql: &str| -> Result<Vec<String>, Trouble> {
        let mut statement = db.prepare_cached(sql)?;
        let threads = statement.query_map([agent], |row| row.get(0))?;
        Ok(threads.collect::<Result<_, _>>()?)
    };
    let orphans = held(
        "SELECT thread FROM held_threads WHERE agent = ?1 AND process NOT IN
           (SELECT process FROM processes WHERE agent = ?1)",
    )?;
    let role = identity::agent_by_key(db, agent)?.role;
    db.prepare_cached(
        "DELETE FROM held_threads WHERE agent = ?1 AND process NOT IN
           (SELECT process FROM processes WHERE agent = ?1)",
    )?
    .execute([agent])?;
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

fn holds_any(db: &Db, agent: AgentKey, thread: &str) -> Result<bool, Trouble> {
    Ok(db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM held_threads WHERE agent = ?1 AND thread = ?2)",
        )?
        .query_row(params![agent, thread], |row| row.get(0))?)
}

/// Whether a role's logs of a thread ask for something: an activation that is not over,
/// or a merge that waits for its forge.
fn is_at_work(db: &Db, thread: &ThreadId, role: Role) -> Result<bool, Trouble> {
    let count = |kind: &str| -> Result<i64, Trouble> {
        Ok(db
            .prepare_cached(
                "SELECT count(*) FROM records WHERE channel = ?1 AND root = ?2 AND role = ?3
                 AND json_extract(entry, '$.record.t') = ?4",
            )?
            .query_row(
                params![
                    thread.channel.as_str(),
                    thread.root.as_str(),
                    role.as_str(),
                    kind
                ],
                |row| row.get(0),
            )?)
    };
    Ok(count("activation_started")? > count("activation_ended")?
        || count("merge_refused")? > count("merge_settled")?)
}

/// Wakes the new holder of a thread.
fn wake(tx: &mut Tx<'_>, agent: AgentKey, thread: ThreadId) -> Result<(), Trouble> {
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
        let due = app.store.read(move |db| due(db, &hub)).await;
        if !matches!(due, Ok(false)) {
            let hub = app.store.hub();
            let swept = app.store.write(move |tx| sweep(tx, &hub)).await;
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

fn due(db: &Db, hub: &str) -> Result<bool, Trouble> {
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM processes WHERE {}) OR EXISTS (SELECT 1 FROM processes lost
           WHERE gone_ms <= ?2 AND EXISTS (SELECT 1 FROM processes other
             WHERE other.agent = lost.agent AND other.gone_ms IS NULL))",
        orphaned(db)
    );
    let lost_by = clock_ms(db)? - LEASE_MS;
    Ok(db
        .prepare_cached(&sql)?
        .query_row(params![hub, lost_by], |row| row.get(0))?)
}

/// Gives out the threads of every process that is lost while others of its role are there.
fn sweep(tx: &mut Tx<'_>, hub: &str) -> Result<(), Trouble> {
    let db = tx.db();
    let now_ms = clock_ms(db)?;
    let sql = format!("UPDATE processes SET gone_ms = ?2 WHERE {}", orphaned(db));
    db.prepare_cached(&sql)?.execute(params![hub, now_ms])?;
    let mut statement = db.prepare_cached(
        "SELECT DISTINCT agent FROM processes lost WHERE gone_ms <= ?1 AND EXISTS
           (SELECT 1 FROM processes other WHERE other.agent = lost.agent
             AND other.gone_ms IS NULL)",
    )?;
    let agents = statement.query_map([now_ms - LEASE_MS], |row| row.get(0))?;
    let agents: Vec<AgentKey> = agents.collect::<Result<_, _>>()?;
    for agent in agents {
        share_out(tx, agent)?;
    }
    Ok(())
}

/// The store's own clock, which all hubs share.
fn clock_ms(db: &Db) -> Result<i64, Trouble> {
    let sql = match db.shared() {
        Some(_) => "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint",
        None => "SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)",
    };
    Ok(db.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

fn number(epoch: Epoch) -> i64 {
    i64::try_from(epoch.0).unwrap_or(i64::MAX)
}
