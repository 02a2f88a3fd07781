//! Afterwards: what is gone is gone from the disk too. Of a database its own log and its
//! backups remain, which are not the hub's.
//!
//! A database keeps the old version of a row for as long as anybody may still look at it,
//! also when the table is written anew. So whoever began before the erasure is waited for.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::store::{Db, copy, sql};

/// How long others may go on with what they began before; a copy of the whole store is made
/// in that time.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(50);

/// Who may still see what there was before the transaction `?1`. Rows are kept for the oldest
/// transaction that anybody has or looks back to.
const OLDER: &str = "
    SELECT 'process ' || pid || ' (' || coalesce(nullif(application_name, ''), 'unnamed')
        || '), since ' || to_char(xact_start, 'HH24:MI:SS')
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND greatest(age(backend_xid), age(backend_xmin)) >= age(CAST(CAST(?1 AS text) AS xid))
    ORDER BY xact_start LIMIT 1";

/// Writes the store's files anew. Gives who keeps what was erased there, because they may still
/// see it and have not ended for as long as we were willing to wait.
pub(crate) fn scrub(db: &Db) -> sql::Result<Option<String>> {
    if db.shared().is_none() {
        db.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")?;
        return Ok(None);
    }
    db.patient()?;
    if let Some(who) = wait_for_older(db)? {
        return Ok(Some(who));
    }
    for table in copy::tables()? {
        db.execute_batch(&format!("VACUUM (FULL, ANALYZE) {}", table.name))?;
    }
    for table in ["search_docs", "wakes"] {
        db.execute_batch(&format!("VACUUM FULL {table}"))?;
    }
    // The planner's figures hold the commonest values of each column, and the figures that
    // were replaced just now stay in their table until it is written anew. A role that does
    // not own the database is let past without it, with a warning in the server's log.
    let seen = wait_for_older(db)?;
    db.execute_batch("VACUUM FULL pg_catalog.pg_statistic")?;
    Ok(seen)
}

/// Waits until nobody can see what there was before now; else who can.
fn wait_for_older(db: &Db) -> sql::Result<Option<String>> {
    let now: String = db.one("SELECT CAST(CAST(pg_current_xact_id() AS xid) AS text)", [])?;
    let begun = Instant::now();
    loop {
        let who: Option<String> = db.first(OLDER, [now.as_str()])?;
        if who.is_none() || begun.elapsed() > PATIENCE {
            return Ok(who);
        }
        thread::sleep(PAUSE);
    }
}
