//! A connection to the store that knows what time it is, so that whoever writes a time
//! takes it from the hub's one clock.

use std::time::{SystemTime, UNIX_EPOCH};

use butler_protocol::Clock;
use rusqlite::Connection;

use crate::store::{
    Params, Row,
    postgres::Pg,
    sql::{Error, Result, Statement},
};

/// In a file: the workspace is in a database now, and nothing may be written here.
pub(super) const MOVED_TO: &str = "moved_to";

/// What runs the statements.
#[derive(Debug)]
pub(crate) enum Engine {
    Sqlite(Connection),
    Postgres(Pg),
}

/// The store, open, and the clock.
#[derive(Debug)]
pub(crate) struct Db {
    engine: Engine,
    clock: Clock,
}

impl Db {
    pub(crate) fn new(engine: Engine, clock: Clock) -> Self {
        Self { engine, clock }
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// A statement, made ready once per connection.
    pub(crate) fn prepare_cached(&self, sql: &str) -> Result<Statement<'_>> {
        match &self.engine {
            Engine::Sqlite(connection) => Ok(Statement::Sqlite(connection.prepare_cached(sql)?)),
            Engine::Postgres(pg) => Ok(Statement::Postgres(pg, sql.to_owned())),
        }
    }

    /// Runs a statement; gives how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, values: impl Params) -> Result<usize> {
        self.prepare_cached(sql)?.execute(values)
    }

    /// The first row of a statement.
    pub(crate) fn query_row<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.prepare_cached(sql)?.query_row(values, read)
    }

    /// What a hub keeps for itself under a name.
    pub(crate) fn own_value(&self, name: &str) -> Result<Option<String>> {
        self.first("SELECT value FROM own_values WHERE name = ?1", [name])
    }

    /// Keeps it.
    pub(crate) fn set_own_value(&self, name: &str, value: &str) -> Result<()> {
        let sql = "INSERT INTO own_values (name, value) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.execute(sql, [name, value]).map(drop)
    }

    /// Keeps it, unless there is one; gives the one that there is.
    pub(crate) fn first_own_value(&self, name: &str, value: &str) -> Result<String> {
        let sql = "INSERT OR IGNORE INTO own_values (name, value) VALUES (?1, ?2)";
        self.execute(sql, [name, value])?;
        Ok(self.own_value(name)?.unwrap_or_else(|| value.to_owned()))
    }

    /// Runs statements that have no values.
    pub(crate) fn execute_batch(&self, sql: &str) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
            Engine::Postgres(pg) => pg.batch(sql),
        }
    }

    /// A transaction that may write; undone when it is dropped.
    pub(crate) fn begin(&self) -> Result<Transaction<'_>> {
        match &self.engine {
            Engine::Sqlite(_) => self.execute_batch("BEGIN IMMEDIATE")?,
            Engine::Postgres(pg) => pg.begin()?,
        }
        let transaction = Transaction {
            db: self,
            over: false,
        };
        match self.has_moved()? {
            true => Err(Error::Moved),
            false => Ok(transaction),
        }
    }

    /// Whether the workspace of this file is in a database now.
    pub(super) fn has_moved(&self) -> Result<bool> {
        if self.shared().is_some() {
            return Ok(false);
        }
        Ok(self.own_value(MOVED_TO)?.is_some())
    }

    /// For work that takes longer than a hub's: what a database ends otherwise.
    pub(super) fn patient(&self) -> Result<()> {
        match self.shared() {
            None => Ok(()),
            Some(pg) => {
                pg.batch("SET idle_in_transaction_session_timeout = 0; SET statement_timeout = 0;")
            }
        }
    }

    /// What other hubs may be using as well, where that is so.
    pub(crate) fn shared(&self) -> Option<&Pg> {
        match &self.engine {
            Engine::Sqlite(_) => None,
            Engine::Postgres(pg) => Some(pg),
        }
    }

    /// Whether it can be of use; a file always is.
    pub(crate) fn is_lost(&self) -> bool {
        self.shared().is_some_and(Pg::is_closed)
    }

    /// The file behind it, where there is one.
    pub(crate) fn sqlite(&self) -> Option<&Connection> {
        match &self.engine {
            Engine::Sqlite(connection) => Some(connection),
            Engine::Postgres(_) => None,
        }
    }
}

/// An open transaction.
pub(crate) struct Transaction<'db> {
    db: &'db Db,
    over: bool,
}

impl Transaction<'_> {
    /// Keeps what was done; after an error nothing of it is.
    pub(crate) fn commit(mut self) -> Result<()> {
        self.db.execute_batch("COMMIT")?;
        self.over = true;
        Ok(())
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.over {
            // A connection that is gone has undone it already.
            let _ = self.db.execute_batch("ROLLBACK");
        }
    }
}

/// The machine's clock.
pub(crate) fn system_clock() -> Clock {
    Clock::new(|| {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
    })
}

#[cfg(test)]
impl Db {
    /// An empty store in memory, and a clock that stands still.
    pub(crate) fn in_memory() -> Self {
        let connection = Connection::open_in_memory().unwrap();
        super::versions::bring_up(&connection).unwrap();
        let clock = Clock::new(|| std::time::Duration::ZERO);
        Self::new(Engine::Sqlite(connection), clock)
    }
}
