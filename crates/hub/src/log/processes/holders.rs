//! Which process of a role has a thread.

use butler_policy::Duty;
use butler_protocol::{Epoch, Role, ThreadId};

use super::{DUTIES, clock_ms};
use crate::{
    error::{Refusal, Result, refuse},
    identity,
    log::AgentKey,
    store::{Db, params},
};

/// Threads that were given or worked on within this time count as load.
const RECENT_MS: i64 = 10 * 60 * 1000;
/// A thread at work is noted as such this often.
const TOUCH_MS: i64 = 60 * 1000;

/// Refuses a process while another one holds the thread.
pub(crate) fn check_holder(
    db: &Db,
    agent: AgentKey,
    epoch: Epoch,
    thread: &ThreadId,
) -> Result<()> {
    let thread = thread.to_string();
    let found: Option<(String, Option<String>)> = db.first(
        "SELECT process, (SELECT held.process FROM held_threads held
               WHERE held.agent = processes.agent AND held.thread = ?3)
             FROM processes WHERE agent = ?1 AND epoch = ?2",
        params![agent, epoch, thread],
    )?;
    match found {
        Some((process, Some(holder))) if process != holder => refuse(Refusal::ThreadTaken),
        // A process without a name is alone.
        _ => Ok(()),
    }
}

/// The epoch with which the holder of a thread writes its log: above that of every line
/// that others wrote. A thread that nobody holds becomes the caller's; zero for one that
/// is alone.
pub(crate) fn take_up(db: &Db, agent: AgentKey, epoch: Epoch, thread: &ThreadId) -> Result<Epoch> {
    let key = thread.to_string();
    let process: Option<String> = db.first(
        "SELECT process FROM processes WHERE agent = ?1 AND epoch = ?2",
        params![agent, epoch],
    )?;
    let Some(process) = process else {
        return Ok(Epoch(0));
    };
    if !holds_any(db, agent, &key)? {
        hold(db, agent, &key, &process)?;
    }
    let sql = "SELECT epoch FROM held_threads WHERE agent = ?1 AND thread = ?2";
    Ok(db.one(sql, params![agent, key])?)
}

/// Whether a process holds a thread.
pub(crate) fn holds(db: &Db, agent: AgentKey, process: &str, thread: &str) -> Result<bool> {
    Ok(db.one(
        "SELECT EXISTS (SELECT 1 FROM held_threads
             WHERE agent = ?1 AND thread = ?2 AND process = ?3)",
        params![agent, thread, process],
    )?)
}

/// The thread is being worked on: it counts as load.
pub(crate) fn touch(db: &Db, agent: AgentKey, thread: &ThreadId) -> Result<()> {
    let now_ms = clock_ms(db)?;
    db.run(
        "UPDATE held_threads SET at_ms = ?3 WHERE agent = ?1 AND thread = ?2 AND at_ms < ?4",
        params![agent, thread.to_string(), now_ms, now_ms - TOUCH_MS],
    )
}

/// An event of a thread is queued: whoever of its receivers shares threads gets a holder
/// for it.
pub(crate) fn hold_for(db: &Db, seq: i64, thread: &str) -> Result<()> {
    let agents: Vec<AgentKey> = db.rows(
        "SELECT DISTINCT processes.agent FROM processes
         JOIN deliveries ON deliveries.agent = processes.agent AND deliveries.seq = ?1
         WHERE NOT EXISTS (SELECT 1 FROM held_threads held
           WHERE held.agent = processes.agent AND held.thread = ?2)",
        params![seq, thread],
    )?;
    for agent in agents {
        give(db, agent, thread)?;
    }
    Ok(())
}

/// Gives a thread to the process that has the least to do, or where everything of the
/// role stays together. Who is away for a moment comes last.
pub(super) fn give(db: &Db, agent: AgentKey, thread: &str) -> Result<()> {
    let role = identity::agent_by_key(db, agent)?.role;
    let process: Option<String> = db.first(
        "SELECT process FROM processes WHERE agent = ?1
             ORDER BY gone_ms IS NOT NULL,
               ?4 AND NOT EXISTS (SELECT 1 FROM held_threads held WHERE held.agent = ?1
                 AND held.thread = ?3 AND held.process = processes.process),
               (SELECT count(*) FROM held_threads held WHERE held.agent = ?1
                 AND held.process = processes.process AND held.at_ms > ?2
                 AND held.thread <> ?3),
               epoch LIMIT 1",
        params![
            agent,
            clock_ms(db)? - RECENT_MS,
            DUTIES,
            stays_together(role)
        ],
    )?;
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

fn hold(db: &Db, agent: AgentKey, thread: &str, process: &str) -> Result<()> {
    hold_since(db, agent, (thread, process), clock_ms(db)?)
}

/// Something of a process that is no work, and no load.
pub(super) fn hold_aside(db: &Db, agent: AgentKey, queue: &str, process: &str) -> Result<()> {
    hold_since(db, agent, (queue, process), 0)
}

fn hold_since(db: &Db, agent: AgentKey, (thread, process): (&str, &str), at_ms: i64) -> Result<()> {
    db.run(
        "INSERT INTO held_threads (agent, thread, process, epoch, at_ms)
         SELECT id, ?2, ?3, epoch, ?4 FROM agents WHERE id = ?1
         ON CONFLICT (agent, thread) DO UPDATE SET process = excluded.process,
           epoch = excluded.epoch, at_ms = excluded.at_ms",
        params![agent, thread, process, at_ms],
    )
}

pub(super) fn holds_any(db: &Db, agent: AgentKey, thread: &str) -> Result<bool> {
    Ok(db.one(
        "SELECT EXISTS (SELECT 1 FROM held_threads WHERE agent = ?1 AND thread = ?2)",
        params![agent, thread],
    )?)
}
