//! What an operator allows a repository, a person and a token. Without a word of theirs
//! nothing of this is limited; what a repository limits itself is in [`super::Caps`].

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use butler_protocol::{MessageTs, ThreadId, Usd, UserId};

use crate::{
    error::{Refusal, Result, When, refuse},
    store::{Db, params},
};

/// Limits of the machine that the hub runs on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Of one repository in a month.
    pub repo_month: Option<Usd>,
    /// Of one person in a day, in all repositories.
    pub person_day: Option<Usd>,
    /// Of one person in a month, in all repositories.
    pub person_month: Option<Usd>,
    /// Threads of one repository that are open at the same time.
    pub threads_of_repo: Option<u32>,
    /// Threads of one person that are open at the same time.
    pub threads_of_person: Option<u32>,
    /// Bytes of all files of one repository.
    pub files_of_repo: Option<u64>,
    /// What one person may say in a minute.
    pub messages: Option<u32>,
    /// Calls of the Web API by one token in a minute.
    pub api_calls: Option<u32>,
}

/// A thread in which nothing was said for so long is not open any more.
const OPEN: Duration = Duration::from_secs(2 * 24 * 60 * 60);
/// One that began earlier is not looked at.
const BEGAN: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Refuses a message of a person that would be too much. `root` is the thread that it
/// goes into; without one it opens a thread.
pub(crate) fn may_say(
    db: &Db,
    (limits, pace): (&Limits, &Pace<UserId>),
    repo: &str,
    person: &UserId,
    root: Option<&MessageTs>,
) -> Result<()> {
    if let Some(limit) = limits.messages
        && pace.take(person, limit).is_err()
    {
        return refuse(Refusal::TooManyMessages);
    }
    if root.is_some() {
        return Ok(());
    }
    let at_limit = |limit: Option<u32>, person: Option<&UserId>| -> Result<bool> {
        match limit {
            Some(limit) => Ok(open_threads(db, repo, person)? >= i64::from(limit)),
            None => Ok(false),
        }
    };
    Refusal::TooManyOwnThreads.when(at_limit(limits.threads_of_person, Some(person))?)?;
    Refusal::TooManyThreads.when(at_limit(limits.threads_of_repo, None)?)?;
    Ok(())
}

/// Threads of a repo in which work may go on, of one person or of all.
pub(crate) fn open_threads(db: &Db, repo: &str, person: Option<&UserId>) -> Result<i64> {
    let ago = |time: Duration| {
        let now = db.clock().now_ms().max(0).unsigned_abs() / 1000;
        MessageTs::from_parts(now.saturating_sub(time.as_secs()), 0)
    };
    let sql = "SELECT count(*) FROM messages m JOIN channels c ON c.id = m.channel
         WHERE m.ts = m.root AND m.ts > ?3 AND c.repo = ?1 AND m.role IS NULL
           AND (?2 IS NULL OR m.author = ?2)
           AND EXISTS (SELECT 1 FROM messages r
             WHERE r.channel = m.channel AND r.root = m.ts AND r.ts > ?4)
           AND NOT EXISTS (SELECT 1 FROM cards k WHERE k.channel = m.channel AND k.root = m.ts
             AND k.kind = 'merge' AND k.choice IN ('merge', 'close'))
           AND NOT EXISTS (SELECT 1 FROM pulls p WHERE p.channel = m.channel AND p.root = m.ts
             AND p.state <> 'open')";
    let person = person.map(UserId::as_str);
    let (began, quiet) = (ago(BEGAN), ago(OPEN));
    let keys = params![repo, person, began, quiet];
    Ok(db.one(sql, keys)?)
}

/// Refuses so many more bytes of files in a repo.
pub(crate) fn may_keep(db: &Db, limits: &Limits, repo: &str, length: u64) -> Result<()> {
    let Some(limit) = limits.files_of_repo else {
        return Ok(());
    };
    Refusal::StorageLimitReached.when(file_bytes(db, repo)?.saturating_add(length) > limit)?;
    Ok(())
}

/// Bytes of all files of a repo: those that its agents brought and those in its channels.
pub(crate) fn file_bytes(db: &Db, repo: &str) -> Result<u64> {
    let sql = "SELECT CAST(coalesce(sum(length), 0) AS BIGINT) FROM files
        WHERE owner = ?1 OR channel IN (SELECT id FROM channels WHERE repo = ?1)";
    let used: i64 = db.one(sql, [repo])?;
    Ok(used.unsigned_abs())
}

/// Whether a person was told of a limit lately; notes that they are told now.
pub(crate) fn is_told(db: &Db, thread: &ThreadId, person: &UserId) -> Result<bool> {
    let now = db.now_ms();
    db.execute("DELETE FROM limits_told WHERE until_ms <= ?1", [now])?;
    let about = format!("{}/{person}", thread.channel);
    let new = db.execute(
        "INSERT OR IGNORE INTO limits_told (about, until_ms) VALUES (?1, ?2)",
        params![about, now + 60_000],
    )?;
    Ok(new == 0)
}

/// The limit that a refusal is about, as it is counted; nothing for other refusals.
pub(crate) fn name_of(refusal: Refusal) -> Option<&'static str> {
    match refusal {
        Refusal::TooManyMessages => Some("messages of person"),
        Refusal::TooManyOwnThreads => Some("threads of person"),
        Refusal::TooManyThreads => Some("threads of repo"),
        Refusal::StorageLimitReached => Some("files of repo"),
        _ => None,
    }
}

/// How often something may be done in a minute, per key. Each has a bucket that fills
/// evenly; a full one lets a whole minute's worth through at once.
#[derive(Debug)]
pub(crate) struct Pace<K>(Mutex<HashMap<K, Bucket>>);

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

const MINUTE: f64 = 60.0;
/// Keys that are kept before full buckets are cleared away.
const MOST: usize = 4_096;

impl<K> Default for Pace<K> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<K: Hash + Eq + Clone> Pace<K> {
    /// Takes one of so many per minute; else how long until there is one.
    pub(crate) fn take(&self, key: &K, per_minute: u32) -> Result<(), Duration> {
        self.take_at(key, per_minute, Instant::now())
    }

    fn take_at(&self, key: &K, per_minute: u32, now: Instant) -> Result<(), Duration> {
        let most = f64::from(per_minute.max(1));
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST {
            let full = |bucket: &Bucket| now.duration_since(bucket.at).as_secs_f64() >= MINUTE;
            buckets.retain(|_, bucket| !full(bucket));
        }
        let bucket = buckets.entry(key.clone()).or_insert(Bucket {
            left: most,
            at: now,
        });
        let passed = now.duration_since(bucket.at).as_secs_f64();
        let left = (bucket.left + passed * most / MINUTE).min(most);
        *bucket = Bucket { left, at: now };
        if left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - left) * MINUTE / most));
        }
        bucket.left = left - 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_lets_a_minutes_worth_through_and_fills_evenly() {
        let (pace, begin) = (Pace::default(), Instant::now());
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        for _ in 0..6 {
            pace.take_at(&"ana", 6, at(0)).unwrap();
        }
        let wait = pace.take_at(&"ana", 6, at(0)).unwrap_err();
        assert_eq!(wait.as_secs(), 10);
        pace.take_at(&"ben", 6, at(0)).unwrap();
        pace.take_at(&"ana", 6, at(11)).unwrap();
        assert!(pace.take_at(&"ana", 6, at(11)).is_err());
        // However long somebody was silent, it is one minute's worth.
        let taken = (0..99).take_while(|_| pace.take_at(&"ana", 6, at(9_999)).is_ok());
        assert_eq!(taken.count(), 6);
    }

    #[test]
    fn who_is_silent_is_forgotten() {
        let (pace, begin) = (Pace::default(), Instant::now());
        for key in 0..MOST {
            pace.take_at(&key, 1, begin).unwrap();
        }
        pace.take_at(&MOST, 1, begin + Duration::from_secs(61))
            .unwrap();
        assert_eq!(pace.0.lock().unwrap().len(), 1);
    }
}
