//! How far a person has read: what is new to them in each thread. What was said
//! before they came, and what they said themselves, is not.

use std::collections::HashMap;

use butler_protocol::{ChannelId, MessageTs, ThreadId, UserId};

use crate::{
    error::Result,
    store::{Db, params},
};

/// Older threads are not looked through.
const THREADS: i64 = 200;

/// New messages by thread, in the newest threads.
#[derive(Debug, Default)]
pub(crate) struct Unread(HashMap<ThreadId, i64>);

impl Unread {
    /// How many messages of a thread are new.
    pub(crate) fn in_thread(&self, thread: &ThreadId) -> i64 {
        self.0.get(thread).copied().unwrap_or(0)
    }

    /// How many threads of a channel have something new.
    pub(crate) fn in_channel(&self, channel: &ChannelId) -> usize {
        let here = |thread: &&ThreadId| thread.channel == *channel;
        self.0.keys().filter(here).count()
    }

    /// Threads with something new, and how much.
    pub(crate) fn threads(&self) -> impl Iterator<Item = (&ThreadId, i64)> {
        self.0.iter().map(|(thread, count)| (thread, *count))
    }
}

/// What is new to a person.
pub(crate) fn unread(db: &Db, person: &UserId) -> Result<Unread> {
    let sql = "SELECT created_ms FROM people WHERE id = ?1";
    let Some(came) = db.first::<i64>(sql, [&person])? else {
        return Ok(Unread(HashMap::new()));
    };
    let came = came.unsigned_abs();
    let micros = u32::try_from(came % 1000 * 1000).unwrap_or(0);
    let came = MessageTs::from_parts(came / 1000, micros);
    let rows: Vec<(ThreadId, i64)> = db.rows(
        "SELECT m.channel, m.ts,
           (SELECT count(*) FROM messages r WHERE r.channel = m.channel AND r.root = m.ts
             AND r.author <> ?1 AND r.ts > ?3 AND r.ts > coalesce((SELECT ts FROM reads
               WHERE person = ?1 AND channel = m.channel AND root = m.ts), '')) AS fresh
         FROM messages m WHERE m.ts = m.root ORDER BY m.ts DESC LIMIT ?2",
        params![person, THREADS, came],
    )?;
    let fresh = rows.into_iter().filter(|(_, fresh)| *fresh > 0);
    Ok(Unread(fresh.collect()))
}

/// The person has seen everything that is in the thread now.
pub(crate) fn mark(db: &Db, person: &UserId, thread: &ThreadId) -> Result<()> {
    let keys = params![person, thread];
    db.run(
        "INSERT INTO reads (person, channel, root, ts)
         SELECT ?1, channel, root, max(ts) FROM messages WHERE channel = ?2 AND root = ?3
         GROUP BY channel, root
         ON CONFLICT (person, channel, root) DO UPDATE SET
           ts = CASE WHEN reads.ts > excluded.ts THEN reads.ts ELSE excluded.ts END",
        keys,
    )
}
