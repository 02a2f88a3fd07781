//! The versions of the store's schema. A store of any earlier version is brought up
//! to this one, in one transaction; one of a later version is left as it is.
//!
//! A released file under `schema/` never changes: what is new comes in the next one.
//! `tests/fixtures` keeps a store of each version, and a test opens them all.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// What each version adds to the one before. The first says `IF NOT EXISTS`: stores
/// from before there were versions have its tables already.
pub(super) const STEPS: &[&str] = &[
    include_str!("schema/0001_start.sql"),
    include_str!("schema/0002_budget.sql"),
    include_str!("schema/0003_runs.sql"),
    include_str!("schema/0004_needs.sql"),
    include_str!("schema/0005_bot_authors.sql"),
    include_str!("schema/0006_memory.sql"),
    include_str!("schema/0007_people.sql"),
    include_str!("schema/0008_review.sql"),
    include_str!("schema/0009_machines.sql"),
    include_str!("schema/0010_operation.sql"),
];

/// The steps that PostgreSQL has in its own words, by version; the others are
/// translated.
pub(super) const IN_POSTGRES: &[(usize, &str)] =
    &[(4, include_str!("schema/0004_needs.postgres.sql"))];

/// What PostgreSQL gets after a step, by version.
pub(super) const ALSO_IN_POSTGRES: &[(usize, &str)] =
    &[(10, include_str!("schema/0010_words.postgres.sql"))];

/// The version that this build writes.
pub(crate) const NEWEST: u32 = STEPS.len() as u32;

/// Brings a store up to [`NEWEST`]; gives the version that was found.
///
/// The version is read inside the transaction that raises it: two processes may
/// open a store at the same moment, and each step is to happen once.
pub(crate) fn bring_up(connection: &Connection) -> rusqlite::Result<u32> {
    let found = bring_up_by(connection, STEPS)?;
    if found <= NEWEST {
        assume(connection)?;
    }
    Ok(found)
}

/// What SQLite is to assume about the messages of a channel and of a thread. Without any
/// figures it takes a channel for as short as a thread, and walks through all of it for
/// each look at one thread. They are the same for every store, so that plans are too.
const ASSUMED: &str = "BEGIN IMMEDIATE; ANALYZE messages;
    DELETE FROM sqlite_stat1 WHERE tbl = 'messages';
    INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('messages', 'messages', '100000 10000 1'),
        ('messages', 'messages_by_thread', '100000 10000 20 1');
    COMMIT; ANALYZE sqlite_schema;";

fn assume(connection: &Connection) -> rusqlite::Result<()> {
    let has = |sql: &str| connection.prepare(sql)?.exists([]);
    let known = has("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'")?
        && has("SELECT 1 FROM sqlite_stat1 WHERE idx = 'messages_by_thread'
            AND stat = '100000 10000 20 1'")?;
    if known {
        return Ok(());
    }
    connection.execute_batch(ASSUMED)
}

fn bring_up_by(connection: &Connection, steps: &[&str]) -> rusqlite::Result<u32> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let found: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for step in steps.iter().skip(found as usize) {
        transaction.execute_batch(step)?;
    }
    let newest = steps.len() as u32;
    if found < newest {
        transaction.pragma_update(None, "user_version", newest)?;
    }
    transaction.commit()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::{sync::Barrier, thread, time::Duration};

    use super::*;

    const GROWN: &[&str] = &[
        "CREATE TABLE IF NOT EXISTS cats (name TEXT) STRICT",
        "ALTER TABLE cats ADD COLUMN age INTEGER; INSERT INTO cats VALUES ('once', 1)",
    ];

    #[test]
    fn each_step_happens_once_however_many_open_the_store_at_the_same_moment() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("cats.sqlite3");
        let all = Barrier::new(8);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let connection = Connection::open(&file).unwrap();
                    connection.busy_timeout(Duration::from_secs(10)).unwrap();
                    all.wait();
                    bring_up_by(&connection, GROWN).unwrap();
                });
            }
        });
        let connection = Connection::open(&file).unwrap();
        let cats = "SELECT count(*) FROM cats";
        let cats: i64 = connection.query_row(cats, [], |row| row.get(0)).unwrap();
        assert_eq!(cats, 1);
    }

    #[test]
    fn a_thread_is_found_by_its_index_and_not_by_walking_through_its_channel() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("hub.sqlite3");
        // Also by those who open a store that others made.
        for _ in 0..2 {
            let connection = Connection::open(&file).unwrap();
            bring_up(&connection).unwrap();
            for look in [
                "SELECT body FROM messages WHERE channel = 'c' AND root = 'r' AND ts <> 'r'
                 ORDER BY ts DESC LIMIT 5",
                "SELECT DISTINCT author FROM messages WHERE channel = 'c' AND root = 'r'",
                "SELECT count(*) FROM messages WHERE channel = 'c' AND root = 'r'
                 AND author <> 'a' AND ts > 't'",
            ] {
                let plan = format!("EXPLAIN QUERY PLAN {look}");
                let plan: String = connection.query_row(&plan, [], |row| row.get(3)).unwrap();
                assert!(plan.contains("messages_by_thread"), "{look}: {plan}");
            }
        }
    }

    #[test]
    fn a_step_that_fails_leaves_the_store_as_it_was() {
        let connection = Connection::open_in_memory().unwrap();
        bring_up_by(&connection, &GROWN[..1]).unwrap();
        let broken = [GROWN[0], GROWN[1], "INSERT INTO dogs VALUES (1)"];
        bring_up_by(&connection, &broken).unwrap_err();
        assert_eq!(bring_up_by(&connection, GROWN).unwrap(), 1);
    }
}
