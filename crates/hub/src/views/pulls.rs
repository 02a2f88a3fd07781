//! Pull requests as their agents last described them.

use butler_protocol::{
    BranchName, CommitSha, MessageTs, PrNumber, PullNews, PullStatus, ThreadId, fault,
};
use serde::Serialize;

use crate::{
    error::Trouble,
    identity::audit,
    store::{
        db::Db,
        sql::{self, OptionalExtension, Row, params},
    },
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

/// Number and state of a thread's newest one.
pub(crate) fn brief(db: &Db, thread: &ThreadId) -> Result<Option<(u64, PullStatus)>, Trouble> {
    let sql = "SELECT number, state FROM pulls WHERE channel = ?1 AND root = ?2
        ORDER BY number DESC LIMIT 1";
    let keys = params![thread.channel.as_str(), thread.root.as_str()];
    let found: Option<(i64, String)> = db.first(sql, keys)?;
    Ok(found.map(|(number, state)| (number.unsigned_abs(), status(&state))))
}

/// Writes the newest word down. What was merged stays merged. Whether it says so for the
/// first time.
pub(crate) fn note(db: &Db, repo: &str, news: &PullNews) -> Result<bool, Trouble> {
    fault("hub.before-pull");
    let number = i64::try_from(news.number.0).unwrap_or(i64::MAX);
    let was_merged = db
        .prepare_cached("SELECT 1 FROM pulls WHERE repo = ?1 AND number = ?2 AND state = 'merged'")?
        .exists(params![repo, number])?;
    db.prepare_cached(
        "INSERT INTO pulls (repo, number, channel, root, title, body, branch, head, state, diff, at_ms, url)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, coalesce(?7, ''), ?8, ?9, ?10, ?11, ?12)
         ON CONFLICT (repo, number) DO UPDATE SET
           title = excluded.title, body = excluded.body, head = excluded.head,
           branch = coalesce(?7, pulls.branch), diff = coalesce(?10, pulls.diff), at_ms = excluded.at_ms,
           url = coalesce(?12, pulls.url),
           last_diff = CASE WHEN ?10 <> pulls.diff THEN pulls.diff ELSE pulls.last_diff END,
           state = CASE WHEN pulls.state = 'merged' THEN pulls.state ELSE excluded.state END",
    )?
    .execute(params![
        repo,
        number,
        news.thread.channel.as_str(),
        news.thread.root.as_str(),
        news.title,
        news.body,
        news.branch.as_ref().map(butler_protocol::BranchName::as_str),
        news.head.as_str(),
        news.state.as_str(),
        news.diff,
        db.now_ms(),
        news.url
    ])?;
    let is_merged = news.state == PullStatus::Merged && !was_merged;
    if is_merged {
        audit::merged(db, repo, news)?;
    }
    fault("hub.after-pull");
    Ok(is_merged)
}

const COLUMNS: &str = "repo, number, channel, root, title, body, branch, head, state, at_ms, url";

/// The newest pull request of a thread, with its diff.
pub(crate) fn of_thread(db: &Db, thread: &ThreadId) -> Result<Option<Pull>, Trouble> {
    let sql = format!(
        "SELECT {COLUMNS}, diff, last_diff FROM pulls WHERE channel = ?1 AND root = ?2
         ORDER BY number DESC LIMIT 1"
    );
    let found = db
        .prepare_cached(&sql)?
        .query_row(
            params![thread.channel.as_str(), thread.root.as_str()],
            |row| Ok((read(row)?, row.get(11)?, row.get(12)?)),
        )
        .optional()?;
    Ok(found.and_then(|(pull, diff, last_diff)| {
        Some(Pull {
            diff,
            last_diff,
            ..pull?
        })
    }))
}

/// Whether a thread has a pull request that waits for somebody.
pub(crate) fn has_open(db: &Db, thread: &ThreadId) -> Result<bool, Trouble> {
    let found = db
        .prepare_cached(
            "SELECT 1 FROM pulls WHERE channel = ?1 AND root = ?2 AND state = 'open' LIMIT 1",
        )?
        .exists(params![thread.channel.as_str(), thread.root.as_str()])?;
    Ok(found)
}

/// All of them, newest first, without their diffs.
pub(crate) fn list(db: &Db) -> Result<Vec<Pull>, Trouble> {
    let sql = format!("SELECT {COLUMNS} FROM pulls ORDER BY at_ms DESC LIMIT 200");
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map([], read)?;
    let found: Vec<Option<Pull>> = rows.collect::<Result<_, _>>()?;
    Ok(found.into_iter().flatten().collect())
}

/// Closed ones are looked after so long: somebody may open them again.
const REOPENED_MS: i64 = 14 * 24 * 60 * 60 * 1000;

/// Those of a repo that others may still do something to, oldest first, without their
/// diffs.
pub(crate) fn to_watch(db: &Db, repo: &str) -> Result<Vec<PullNews>, Trouble> {
    let sql = format!(
        "SELECT {COLUMNS} FROM pulls WHERE repo = ?1
         AND (state = 'open' OR (state = 'closed' AND at_ms > ?2)) ORDER BY number"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map(params![repo, db.now_ms() - REOPENED_MS], read)?;
    let found: Vec<Option<Pull>> = rows.collect::<Result<_, _>>()?;
    let news = found.into_iter().flatten().map(|pull| PullNews {
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

fn status(word: &str) -> PullStatus {
    match word {
        "merged" => PullStatus::Merged,
        "closed" => PullStatus::Closed,
        _ => PullStatus::Open,
    }
}

/// A row; nothing when it is not about a thread.
fn read(row: &Row<'_>) -> sql::Result<Option<Pull>> {
    let state: String = row.get(8)?;
    let root: Option<MessageTs> = row.get::<_, String>(3)?.parse().ok();
    let Some(root) = root else { return Ok(None) };
    Ok(Some(Pull {
        repo: row.get(0)?,
        number: row.get::<_, i64>(1)?.unsigned_abs(),
        thread: ThreadId::new(
            butler_protocol::ChannelId::new(row.get::<_, String>(2)?),
            root,
        ),
        title: row.get(4)?,
        body: row.get(5)?,
        branch: row.get(6)?,
        head: row.get(7)?,
        state: status(&state),
        at_ms: row.get(9)?,
        url: row.get(10)?,
        last_diff: None,
        diff: None,
    }))
}
