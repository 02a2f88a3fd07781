//! What a writer works with: the open transaction, the workspace clock, and what must
//! be said once the transaction is committed.

use std::time::{SystemTime, UNIX_EPOCH};

use butler_protocol::MessageTs;
use rusqlite::Connection;

use crate::{error::Trouble, log::notice::Notice};

/// Makes message timestamps: unique and rising in the whole workspace, also
/// when the machine's clock jumps back.
pub(crate) struct Stamps {
    last_micros: u64,
}

impl Stamps {
    pub(crate) fn load(connection: &Connection) -> Result<Self, Trouble> {
        let last: Option<String> =
            connection.query_row("SELECT max(ts) FROM messages", [], |row| row.get(0))?;
        let last_micros = last.map_or(0, |ts| {
            let digits: String = ts.chars().filter(char::is_ascii_digit).collect();
            digits.parse().unwrap_or(0)
        });
        Ok(Self { last_micros })
    }

    fn next(&mut self, now_micros: u64) -> MessageTs {
        self.last_micros = now_micros.max(self.last_micros + 1);
        let micros = u32::try_from(self.last_micros % 1_000_000).unwrap_or(0);
        MessageTs::from_parts(self.last_micros / 1_000_000, micros)
    }
}

/// What a change works with.
pub(crate) struct Tx<'a> {
    db: &'a Connection,
    stamps: &'a mut Stamps,
    notices: Vec<Notice>,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(db: &'a Connection, stamps: &'a mut Stamps) -> Self {
        Self {
            db,
            stamps,
            notices: Vec::new(),
        }
    }

    /// The connection, inside the transaction.
    pub(crate) fn db(&self) -> &'a Connection {
        self.db
    }

    /// The next message timestamp.
    pub(crate) fn next_ts(&mut self) -> MessageTs {
        self.stamps.next(now_micros())
    }

    /// Says something once the transaction is committed.
    pub(crate) fn say(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    /// Carries out one change of the batch, or a part of one; an error undoes
    /// only that.
    pub(crate) fn attempt<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let said = self.notices.len();
        // Savepoints nest, also under one name.
        self.db.execute_batch("SAVEPOINT one")?;
        let outcome = work(self);
        if outcome.is_err() {
            self.notices.truncate(said);
            self.db.execute_batch("ROLLBACK TO one")?;
        }
        self.db.execute_batch("RELEASE one")?;
        outcome
    }

    pub(crate) fn into_notices(self) -> Vec<Notice> {
        self.notices
    }
}

fn now_micros() -> u64 {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    i64::try_from(now_micros() / 1000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_rise_also_when_the_clock_does_not() {
        let mut stamps = Stamps { last_micros: 0 };
        let given: Vec<_> = [5_000_000, 5_000_000, 4_000_000, 6_000_000]
            .into_iter()
            .map(|now| stamps.next(now))
            .collect();
        assert!(given.windows(2).all(|pair| pair[0] < pair[1]), "{given:?}");
        assert_eq!(given[1].as_str(), "0000000005.000001");
    }
}
