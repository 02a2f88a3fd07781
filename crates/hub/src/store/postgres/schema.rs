//! The tables in PostgreSQL: the same steps as in SQLite, in PostgreSQL's words, and one
//! file before them with what PostgreSQL does not know and hubs that share a store need.

use super::{Pg, translate};
use crate::store::{
    params,
    sql::Result,
    versions::{ALSO_IN_POSTGRES, IN_POSTGRES, NEWEST, STEPS},
};

/// What every store in PostgreSQL has besides.
const BASE: &str = include_str!("../schema/postgres.sql");

/// Brings a schema up to this build's version; gives the version that was found. As in
/// SQLite the version is read inside the transaction that raises it.
pub(super) fn bring_up(pg: &Pg, schema: &str) -> Result<u32> {
    // The newest table of the base: one that lacks it gets the base again.
    let exists = "SELECT 1 FROM information_schema.tables WHERE table_schema = ?1 AND table_name = 'slack_calls'";
    if !pg.query(exists, &params![schema])?.is_empty() {
        let found = version(pg)?;
        if found >= NEWEST {
            return Ok(found);
        }
    }
    pg.begin()?;
    let outcome = steps(pg, schema);
    pg.batch(if outcome.is_ok() {
        "COMMIT"
    } else {
        "ROLLBACK"
    })?;
    outcome
}

fn steps(pg: &Pg, schema: &str) -> Result<u32> {
    pg.batch(&format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\""))?;
    pg.batch(BASE)?;
    let found = version(pg)?;
    for (at, step) in STEPS.iter().enumerate().skip(found as usize) {
        match IN_POSTGRES.iter().find(|(version, _)| *version == at + 1) {
            Some((_, own)) => pg.batch(own)?,
            None => pg.batch(&translate::schema(step))?,
        }
        if let Some((_, also)) = ALSO_IN_POSTGRES
            .iter()
            .find(|(version, _)| *version == at + 1)
        {
            pg.batch(also)?;
        }
    }
    if found < NEWEST {
        pg.execute("UPDATE store_version SET version = ?1", &params![NEWEST])?;
    }
    Ok(found)
}

fn version(pg: &Pg) -> Result<u32> {
    let rows = pg.query("SELECT version FROM store_version", &params![])?;
    let found: i64 = rows.first().map_or(0, |row| row.get(0));
    Ok(u32::try_from(found).unwrap_or(u32::MAX))
}
