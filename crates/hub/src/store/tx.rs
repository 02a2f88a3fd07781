//! What a change works with: the open transaction, the workspace's timestamps, and
//! what must be said once the transaction is committed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use butler_protocol::MessageTs;
use tracing::error;

use crate::{
    error::{Result, Trouble},
    log::Notice,
    store::{Db, shared, sql, threads::words},
};

/// Makes message timestamps: unique and rising in the whole workspace, also
/// when the machine's clock jumps back.
pub(crate) struct Stamps {
    last_micros: u64,
}

impl Stamps {
    pub(crate) fn load(db: &Db) -> Result<Self> {
        let last: Option<String> = db.one("SELECT max(ts) FROM messages", [])?;
        let last_micros = last.map_or(0, |ts| {
            let digits: String = ts.chars().filter(char::is_ascii_digit).collect();
            digits.parse().unwrap_or(0)
        });
        Ok(Self { last_micros })
    }

    /// What other hubs of the same store gave meanwhile.
    pub(super) fn catch_up(&mut self, db: &Db) -> Result<()> {
        let given = shared::last_stamp(db)?.unwrap_or_default();
        self.last_micros = self.last_micros.max(given);
        Ok(())
    }

    /// The last one, in microseconds.
    pub(super) fn last(&self) -> u64 {
        self.last_micros
    }

    fn next(&mut self, now_micros: u64) -> MessageTs {
        self.last_micros = now_micros.max(self.last_micros + 1);
        let micros = u32::try_from(self.last_micros % 1_000_000).unwrap_or(0);
        MessageTs::from_parts(self.last_micros / 1_000_000, micros)
    }
}

/// What a change works with.
pub(crate) struct Tx<'a> {
    db: &'a Db,
    stamps: &'a mut Stamps,
    notices: Vec<Notice>,
    /// A change panicked: what it did is undone, what it left in memory is not known.
    panicked: bool,
    /// Something could not be undone: nothing of this transaction may be kept.
    spoiled: Option<sql::Error>,
}

impl<'a> Tx<'a> {
    pub(super) fn new(db: &'a Db, stamps: &'a mut Stamps) -> Self {
        Self {
            db,
            stamps,
            notices: Vec::new(),
            panicked: false,
            spoiled: None,
        }
    }

    /// The connection, inside the transaction.
    pub(crate) fn db(&self) -> &'a Db {
        self.db
    }

    /// The next message timestamp.
    pub(crate) fn next_ts(&mut self) -> MessageTs {
        self.stamps.next(self.db.clock().now_micros())
    }

    /// Says something once the transaction is committed.
    pub(crate) fn say(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    /// Carries out one change of the batch; an error or a panic undoes only that.
    pub(super) fn carry_out<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.undoing("change", |tx| {
            catch_unwind(AssertUnwindSafe(|| work(tx))).unwrap_or_else(|panic| {
                error!(panic = words(&*panic), "a change of the store panicked");
                tx.panicked = true;
                Err(Trouble::Panicked)
            })
        })
    }

    /// Carries out a part of a change; an error undoes only that.
    pub(crate) fn attempt<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        // Savepoints nest, also under one name.
        self.undoing("part", work)
    }

    fn undoing<T>(
        &mut self,
        savepoint: &str,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let said = self.notices.len();
        self.db.execute_batch(&format!("SAVEPOINT {savepoint}"))?;
        let outcome = work(self);
        let mut end = format!("RELEASE {savepoint}");
        if outcome.is_err() {
            self.notices.truncate(said);
            end = format!("ROLLBACK TO {savepoint}; {end}");
        }
        if let Err(error) = self.db.execute_batch(&end) {
            self.spoiled = Some(error);
            return Err(Trouble::Closed);
        }
        outcome
    }

    /// What is to be said after the commit, and whether the connection is as sound
    /// as before.
    pub(super) fn finish(self) -> Result<(Vec<Notice>, bool)> {
        match self.spoiled {
            Some(error) => Err(error.into()),
            None => Ok((self.notices, !self.panicked)),
        }
    }
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
