//! Pull requests as their agents last described them.

use butler_protocol::{BranchName, CommitSha, PrNumber, PullNews, PullStatus, ThreadId, fault};
use serde::Serialize;

use crate::{
    error::Result,
    identity::audit,
    store::{Db, from_row, params},
};

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Pull {
    pub(crate) repo: String,
    pub(crate) number: u64,
    pub(crate) thread: ThreadId,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) branch: String,
    pub(crate) head: String,
    pub(crate) state: PullStatus,
    pub(crate) at_ms: i64,
    /// Where its forge shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// What it changed in the round before, where there was one.
    #[serde(skip)]
    pub(crate) last_diff: Option<String>,
    /// Left out of lists: it can be long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diff: Option<String>,
}

from_row! { Pull: repo, number, thread, title, body, branch, head, state, at_ms, url; last_diff:
None, diff: None }

/// Number and state of a thread's newest one.
pub(crate) fn brief(db: &Db, thread: &ThreadId) -> Result<Option<(u64, PullStatus)>> {
    let sql = "SELECT number, state FROM pulls WHERE channel = ?1 AND root = ?2
         ORDER BY number DESC LIMIT 1";
    Ok(db.first(sql, [thread])?)
}

/// Writes the newest word down. What was merged stays merged. Whether it says so for the
/// first time.
pub(crate) fn note(db: &Db, repo: &str, news: &PullNews) -> Result<bool> {
    fault("hub.before-pull");
    let number = i64::try_from(news.number.0).unwrap_or(i64::MAX);
    let was_merged = db.has(
        "SELECT 1 FROM pulls WHERE repo = ?1 AND number = ?2 AND state = 'merged'",
        params![repo, number],
    )?;
    db.execute("INSERT INTO pulls (repo, number, channel, root, title, body, branch, head, state, diff, at_ms, url)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, coalesce(?7, ''), ?8, ?9, ?10, ?11, ?12)
         ON CONFLICT (repo, number) DO UPDATE SET
           title = excluded.title, body = excluded.body, head = excluded.head,
           branch = coalesce(?7, pulls.branch), diff = coalesce(?10, pulls.diff), at_ms = excluded.at_ms,
           url = coalesce(?12, pulls.url),
           last_diff = CASE WHEN ?10 <> pulls.diff THEN pulls.diff ELSE pulls.last_diff END,
           state = CASE WHEN pulls.state = 'merged' THEN pulls.state ELSE excluded.state END", params![repo, number, news.thread, news.title, news.body, news.branch.as_ref(), news.head, news.state, news.diff, db.now_ms(), news.url])?;
    let is_merged = news.state == PullStatus::Merged && !was_merged;
    if is_merged {
        audit::merged(db, repo, news)?;
    }
    fault("hub.after-pull");
    Ok(is_merged)
}

const COLUMNS: &str = "repo, number, channel, root, title, body, branch, head, state, at_ms, url";

/// The newest pull request of a thread, with its diff.
pub(crate) fn of_thread(db: &Db, thread: &ThreadId) -> Result<Option<Pull>> {
    let sql = format!(
        "SELECT {COLUMNS}, diff, last_diff FROM pulls WHERE channel = ?1 AND root = ?2
         ORDER BY number DESC LIMIT 1"
    );
    let found = db.first::<(Pull, Option<String>, Option<String>)>(&sql, [thread])?;
    Ok(found.map(|(pull, diff, last_diff)| Pull {
        diff,
        last_diff,
        ..pull
    }))
}

/// Whether a thread has a pull request that waits for somebody.
pub(crate) fn has_open(db: &Db, thread: &ThreadId) -> Result<bool> {
    let found = db.has(
        "SELECT 1 FROM pulls WHERE channel = ?1 AND root = ?2 AND state = 'open' LIMIT 1",
        [thread],
    )?;
    Ok(found)
}

/// All of them, newest first, without their diffs.
pub(crate) fn list(db: &Db) -> Result<Vec<Pull>> {
    let sql = format!("SELECT {COLUMNS} FROM pulls ORDER BY at_ms DESC LIMIT 200");
    Ok(db.rows(&sql, [])?)
}

/// Closed ones are looked after so long: somebody may open them again.
const REOPENED_MS: i64 = 14 * 24 * 60 * 60 * 1000;

/// Those of a repo that others may still do something to, oldest first, without their
/// diffs.
pub(crate) fn to_watch(db: &Db, repo: &str) -> Result<Vec<PullNews>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM pulls WHERE repo = ?1
         AND (state = 'open' OR (state = 'closed' AND at_ms > ?2)) ORDER BY number"
    );
    let found: Vec<Pull> = db.rows(&sql, params![repo, db.now_ms() - REOPENED_MS])?;
    let news = found.into_iter().map(|pull| PullNews {
        thread: pull.thread,
        number: PrNumber(pull.number),
        title: pull.title,
        body: pull.body,
        branch: Some(BranchName::new(pull.branch)),
        head: CommitSha::new(pull.head),
        state: pull.state,
        url: pull.url,
        diff: None,
    });
    Ok(news.collect())
}
