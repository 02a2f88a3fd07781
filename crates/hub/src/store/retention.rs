//! What no open thread needs is packed or goes, in small steps, so that nobody waits for
//! long behind one of them. What people said stays, unless an operator set a time for it.
//!
//! A thread is at rest when nothing was said in it for the given time and nobody waits in
//! it: no open card or pull request, no question, no stop, no stretch of work that ended
//! badly and was not settled by a merge.

use std::time::Duration;

use butler_protocol::{MessageTs, ThreadId, fault};
use serde::Serialize;

use crate::{
    error::Result,
    store::{Db, Params, cold, params},
};

/// Rows that one step takes away at most, and pages that it gives back.
const STEP: i64 = 500;
/// Empty pages that stay in the file.
const FEW: i64 = 64;
/// Threads that one step looks at.
const THREADS: i64 = 20;
/// Who is at work says so again and again; nobody looks it up later.
const ACTIVITY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long things are kept as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// From the last word until a thread that is at rest is packed.
    pub cold: Duration,
    /// From then on messages and files of a thread at rest go; none means never.
    pub threads: Option<Duration>,
    /// Between two rounds.
    pub every: Duration,
}

impl Default for Retention {
    /// Packed after a month, looked at once an hour, and nothing that people said goes.
    fn default() -> Self {
        Self {
            cold: Duration::from_secs(30 * 24 * 60 * 60),
            threads: None,
            every: Duration::from_secs(60 * 60),
        }
    }
}

/// How far a round has come: threads behind this one are still to be looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Round {
    packed_upto: (String, String),
    forgotten_upto: (String, String),
}

/// One step of a round, in the transaction of the caller. The rest of the round, if there
/// is one.
pub(crate) fn step(db: &Db, retention: &Retention, mut round: Round) -> Result<Option<Round>> {
    fault("hub.before-upkeep");
    let cold = before(db, retention.cold);
    if let Some(upto) = pack(db, &cold, &round.packed_upto)? {
        round.packed_upto = upto;
        return Ok(Some(round));
    }
    if let Some(after) = retention.threads {
        let old = before(db, after.max(retention.cold));
        if let Some(upto) = forget(db, &old, &round.forgotten_upto)? {
            round.forgotten_upto = upto;
            return Ok(Some(round));
        }
    }
    let busy = deliveries(db, cold.ms)?
        || events(db, cold.ms)?
        || announced(db, cold.ms)?
        || give_back(db)?;
    fault("hub.after-upkeep");
    Ok(busy.then_some(round))
}

/// A moment, as events and as messages have it.
struct Before {
    ms: i64,
    ts: MessageTs,
}

fn before(db: &Db, ago: Duration) -> Before {
    let ago = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
    let ms = db.now_ms().saturating_sub(ago).max(0);
    Before {
        ms,
        ts: MessageTs::from_parts(ms.unsigned_abs() / 1000, 0),
    }
}

/// Packs the lines of the next threads that are at rest. How far it came; nothing when
/// there are no more.
fn pack(
    db: &Db,
    cold: &Before,
    (channel, root): &(String, String),
) -> Result<Option<(String, String)>> {
    let next = threads(
        db,
        "SELECT DISTINCT channel, root FROM records
         WHERE (channel, root) > (?1, ?2) AND root < ?3 ORDER BY channel, root LIMIT ?4",
        params![channel, root, cold.ts, THREADS],
    )?;
    for thread in &next {
        if at_rest(db, thread, cold)? {
            cold::pack(db, thread)?;
            let keys = [thread];
            db.execute(
                "DELETE FROM activity WHERE channel = ?1 AND root = ?2",
                keys,
            )?;
        }
    }
    Ok(last(&next))
}

/// Takes away what was said in the next threads that are at rest for so long.
fn forget(
    db: &Db,
    old: &Before,
    (channel, root): &(String, String),
) -> Result<Option<(String, String)>> {
    let next = threads(
        db,
        "SELECT channel, ts FROM messages WHERE ts = root AND (ts, channel) > (?2, ?1) AND ts < ?3
         ORDER BY ts, channel LIMIT ?4",
        params![channel, root, old.ts, THREADS],
    )?;
    for thread in &next {
        if at_rest(db, thread, old)? {
            forget_thread(db, thread)?;
        }
    }
    Ok(last(&next))
}

/// Decisions, money and the audit stay.
fn forget_thread(db: &Db, thread: &ThreadId) -> Result<()> {
    let (channel, root) = (thread.channel.as_str(), thread.root.as_str());
    db.execute(
        "DELETE FROM files WHERE id IN (SELECT json_extract(j.value, '$.id')
           FROM messages m, json_each(m.body, '$.files') j WHERE m.channel = ?1 AND m.root = ?2)",
        params![channel, root],
    )?;
    for table in ["reactions", "pins"] {
        let sql = format!(
            "DELETE FROM {table} WHERE channel = ?1 AND ts IN
               (SELECT ts FROM messages WHERE channel = ?1 AND root = ?2)"
        );
        db.execute(&sql, params![channel, root])?;
    }
    for table in [
        "messages",
        "records",
        "cold_records",
        "activity",
        "stops",
        "reads",
        "assistant_threads",
        "review_comments",
        "review_viewed",
    ] {
        let sql = format!("DELETE FROM {table} WHERE channel = ?1 AND root = ?2");
        db.execute(&sql, params![channel, root])?;
    }
    db.run(
        "UPDATE pulls SET body = '', diff = NULL, last_diff = NULL WHERE channel = ?1 AND root = ?2",
        params![channel, root],
    )
}

fn threads(db: &Db, sql: &str, keys: impl Params) -> Result<Vec<ThreadId>> {
    Ok(db.rows(sql, keys)?)
}

fn last(threads: &[ThreadId]) -> Option<(String, String)> {
    let last = threads.last()?;
    Some((last.channel.to_string(), last.root.to_string()))
}

/// Whether nothing was said since then and nobody waits.
fn at_rest(db: &Db, thread: &ThreadId, since: &Before) -> Result<bool> {
    let busy =
        "SELECT EXISTS (SELECT 1 FROM messages WHERE channel = ?1 AND root = ?2 AND ts >= ?3)
          OR EXISTS (SELECT 1 FROM cards WHERE channel = ?1 AND root = ?2 AND choice IS NULL)
          OR EXISTS (SELECT 1 FROM pulls WHERE channel = ?1 AND root = ?2 AND state = 'open')
          OR EXISTS (SELECT 1 FROM activity WHERE channel = ?1 AND root = ?2
               AND (state = 'parked' OR heard_ms >= ?4))
          OR EXISTS (SELECT 1 FROM stops WHERE channel = ?1 AND root = ?2 AND role IS NOT NULL)
          OR (EXISTS (SELECT 1 FROM records WHERE channel = ?1 AND root = ?2
                AND json_extract(entry, '$.record.ending.how') IN ('failed', 'stuck', 'turn_limit'))
            AND NOT EXISTS (SELECT 1 FROM cards WHERE channel = ?1 AND root = ?2
                AND kind = 'merge' AND choice IN ('merge', 'close')))";
    let keys = params![thread, since.ts, since.ms];
    let busy: bool = db.one(busy, keys)?;
    Ok(!busy)
}

/// Envelopes of threads without lines at hand that are for somebody else than the role
/// in whose queue they are: it was away, and has nothing to do there.
fn deliveries(db: &Db, before_ms: i64) -> Result<bool> {
    let found: Vec<(i64, i64)> = db.rows(
        "SELECT d.agent, d.seq FROM deliveries d JOIN events e ON e.seq = d.seq
           JOIN agents a ON a.id = d.agent
         WHERE e.at_ms < ?1
           AND NOT EXISTS (SELECT 1 FROM records r WHERE r.channel = e.channel AND r.root = e.root)
           AND NOT EXISTS (SELECT 1 FROM json_each(e.frame, '$.codebutler.to') WHERE value = a.role)
         LIMIT ?2",
        params![before_ms, STEP],
    )?;
    for (agent, seq) in &found {
        db.execute(
            "DELETE FROM deliveries WHERE agent = ?1 AND seq = ?2",
            params![*agent, *seq],
        )?;
    }
    Ok(!found.is_empty())
}

/// Events that everybody has had, of threads without lines at hand.
fn events(db: &Db, before_ms: i64) -> Result<bool> {
    let yesterday = before(db, ACTIVITY).ms;
    let gone = db.execute(
        "DELETE FROM events WHERE seq IN (SELECT seq FROM events e
           WHERE ((e.kind = 'activity' AND e.at_ms < ?1) OR (e.at_ms < ?2 AND NOT EXISTS
               (SELECT 1 FROM records r WHERE r.channel = e.channel AND r.root = e.root)))
             AND e.seq NOT IN (SELECT seq FROM deliveries)
           ORDER BY e.seq LIMIT ?3)",
        params![yesterday, before_ms, STEP],
    )?;
    Ok(gone > 0)
}

/// Files that were announced and never shared.
fn announced(db: &Db, before_ms: i64) -> Result<bool> {
    let gone = db.execute(
        "DELETE FROM files WHERE id IN
           (SELECT id FROM files WHERE upload_key IS NOT NULL AND created_ms < ?1 LIMIT ?2)",
        params![before_ms, STEP],
    )?;
    Ok(gone > 0)
}

/// What the store holds, for who looks after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Held {
    pub(crate) bytes: i64,
    pub(crate) events: i64,
    /// Lines of agents' logs that are at hand.
    pub(crate) lines: i64,
    /// Threads whose lines are packed.
    pub(crate) packed: i64,
}

pub(crate) fn held(db: &Db) -> Result<Held> {
    let bytes = match db.sqlite() {
        Some(_) => "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        None => {
            "SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS BIGINT)
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = current_schema() AND c.relkind = 'r'"
        }
    };
    let figure = |sql: &str| db.one(sql, []);
    Ok(Held {
        bytes: figure(bytes)?,
        events: figure("SELECT count(*) FROM events")?,
        lines: figure("SELECT count(*) FROM records")?,
        packed: figure(
            "SELECT count(*) FROM (SELECT DISTINCT channel, root FROM cold_records) packed",
        )?,
    })
}

/// Pages of the file that nothing is in go back to the disk. PostgreSQL does so itself.
fn give_back(db: &Db) -> Result<bool> {
    if db.sqlite().is_none() {
        return Ok(false);
    }
    let figure = |sql: &str| db.one::<i64>(sql, []);
    let (free, mode) = (
        figure("PRAGMA freelist_count")?,
        figure("PRAGMA auto_vacuum")?,
    );
    // A few are used again at once.
    if mode != 2 || free < FEW {
        return Ok(false);
    }
    db.execute_batch(&format!("PRAGMA incremental_vacuum({STEP})"))?;
    Ok(figure("PRAGMA freelist_count")? < free)
}
