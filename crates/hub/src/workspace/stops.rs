//! A person's stop, sticky per thread. The hub is the one place that puts all
//! events in order, so it decides what a stop reaches: whatever an agent began
//! before it heard of the stop is refused, however late its post comes, and the
//! thread remembers who was stopped, so that the next word reaches that role.

use butler_protocol::{Role, ThreadId};
use serde_json::Value;

use crate::{
    error::{Refusal, Result, Trouble},
    presence::activity,
    store::{Db, params},
};

/// How far back one looks for a hand-over that nobody has begun yet.
const LOOK_BACK: u32 = 20;

/// What a stop ends.
pub(crate) struct Halt {
    /// The roles at work in the thread, or asleep in the middle of their work.
    pub(crate) roles: Vec<Role>,
    /// The one that goes on when told to.
    pub(crate) next: Option<Role>,
}

/// What a stop at this moment ends. Whoever was given the work and has not begun
/// it was about to be at work: it goes on, not who gave it.
pub(crate) fn halt(db: &Db, thread: &ThreadId, now_ms: i64) -> Result<Halt> {
    let mut roles = activity::busy(db, thread, now_ms)?;
    let active = activity::active(db, thread, now_ms)?;
    let next = match given_last(db, thread)? {
        Some((from, to)) if active.is_none_or(|active| active == from) => Some(to),
        _ => active,
    };
    if roles.is_empty() {
        roles.extend(next);
    }
    Ok(Halt { roles, next })
}

/// Who gave the work to whom, if nobody but them has spoken since. A question is
/// no work: its asker goes on with the answer.
fn given_last(db: &Db, thread: &ThreadId) -> Result<Option<(Role, Role)>> {
    let key = params![thread, LOOK_BACK];

    for (from, frame) in db.rows::<(Option<String>, String)>(
        "SELECT from_role, frame FROM events WHERE channel = ?1 AND root = ?2 AND kind = 'message'
         ORDER BY seq DESC LIMIT ?3",
        key,
    )? {
        let frame: Value = serde_json::from_str(&frame)?;
        let event = &frame["payload"]["event"];
        let kind = &event["metadata"]["event_payload"]["kind"];
        let to = frame["codebutler"]["to"][0].as_str();
        match (from, to) {
            // A person's word ends the search; what was edited is no word.
            (None, _) if event["subtype"].is_null() => return Ok(None),
            (Some(from), Some(to)) if kind.is_string() => {
                let asks = ["question", "research"].map(Value::from).contains(kind);
                let both = from.parse().ok().zip(to.parse().ok());
                return Ok(both.filter(|_| !asks));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// Keeps a stop: nobody is at work in the thread from here on.
pub(crate) fn note(db: &Db, thread: &ThreadId, seq: i64, next: Option<Role>) -> Result<()> {
    db.execute(
        "INSERT INTO stops (channel, root, seq, role, spoken) VALUES (?1, ?2, ?3, ?4, 0)
         ON CONFLICT (channel, root) DO UPDATE SET
           seq = excluded.seq, role = excluded.role, spoken = 0",
        params![thread, seq, next],
    )?;
    activity::rest(db, thread)
}

/// Refuses what was begun before the last stop of its thread.
pub(crate) fn check(db: &Db, thread: &ThreadId, heard: Option<u64>) -> Result<()> {
    if is_late(db, thread, heard)? {
        return Err(Trouble::Refused(Refusal::ThreadStopped));
    }
    Ok(())
}

/// Whether something was begun before the last stop of its thread; `heard` is the last
/// event that was known then.
pub(crate) fn is_late(db: &Db, thread: &ThreadId, heard: Option<u64>) -> Result<bool> {
    let Some(heard) = heard else {
        return Ok(false);
    };
    let stop: Option<i64> = db.first(
        "SELECT seq FROM stops WHERE channel = ?1 AND root = ?2",
        key(thread),
    )?;
    Ok(stop.is_some_and(|stop| heard < stop.unsigned_abs()))
}

/// The role that was stopped and has not been told to go on.
pub(crate) fn stopped(db: &Db, thread: &ThreadId) -> Result<Option<Role>> {
    let role: Option<Option<String>> = db.first(
        "SELECT role FROM stops WHERE channel = ?1 AND root = ?2",
        key(thread),
    )?;
    Ok(role.flatten().and_then(|role| role.parse().ok()))
}

/// A person spoke in the thread.
pub(crate) fn spoken(db: &Db, thread: &ThreadId) -> Result<()> {
    let sql = "UPDATE stops SET spoken = 1 WHERE channel = ?1 AND root = ?2 AND spoken = 0";
    db.run(sql, key(thread))
}

/// Somebody is at work again, at a person's word: nobody is stopped any more.
pub(crate) fn gone_on(db: &Db, thread: &ThreadId) -> Result<()> {
    let sql = "UPDATE stops SET role = NULL WHERE channel = ?1 AND root = ?2 AND spoken = 1";
    db.run(sql, key(thread))
}

fn key(thread: &ThreadId) -> [&str; 2] {
    [thread.channel.as_str(), thread.root.as_str()]
}
