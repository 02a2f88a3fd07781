//! A connection to the store's file that knows what time it is, so that whoever
//! writes a time takes it from the hub's one clock.

use std::{
    ops::Deref,
    time::{SystemTime, UNIX_EPOCH},
};

use butler_protocol::Clock;
use rusqlite::{Connection, Transaction, TransactionBehavior};

/// The file, open, and the clock.
#[derive(Debug)]
pub(crate) struct Db {
    connection: Connection,
    clock: Clock,
}

impl Db {
    pub(crate) fn new(connection: Connection, clock: Clock) -> Self {
        Self { connection, clock }
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// A transaction that may write; undone when it is dropped.
    pub(crate) fn begin(&self) -> rusqlite::Result<Transaction<'_>> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
    }
}

impl Deref for Db {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
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
        Self::new(connection, Clock::new(|| std::time::Duration::ZERO))
    }
}
