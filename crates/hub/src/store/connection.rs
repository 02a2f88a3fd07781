//! A connection that is thrown away when it cannot be trusted any more, and opened
//! anew when it is needed next.

use tracing::{error, info};

use crate::store::{Db, place::Place, sql};

/// What a connection that was opened again must be able to do.
pub(super) type Proof = fn(&Db) -> sql::Result<()>;

/// One thread's connection.
pub(super) struct Kept {
    place: Place,
    db: Option<Db>,
    proof: Proof,
}

impl Kept {
    pub(super) fn new(place: Place, db: Db, proof: Proof) -> Self {
        Self {
            place,
            db: Some(db),
            proof,
        }
    }

    /// The connection; nothing while the file cannot be opened again.
    pub(super) fn get(&mut self) -> Option<&Db> {
        if self.db.as_ref().is_some_and(Db::is_lost) {
            self.give_up();
        }
        if self.db.is_none() {
            let opened = self.place.open().map_err(|error| with_causes(&error));
            let proved = opened.and_then(|db| match (self.proof)(&db) {
                Ok(()) => Ok(db),
                Err(error) => Err(error.to_string()),
            });
            match proved {
                Ok(db) => {
                    info!("the store was opened again");
                    self.db = Some(db);
                }
                Err(error) => error!(%error, "the store cannot be opened again"),
            }
        }
        self.db.as_ref()
    }

    /// Gives the connection up.
    pub(super) fn give_up(&mut self) {
        self.db = None;
    }
}

/// An error with its causes.
fn with_causes(error: &crate::HubError) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        words = format!("{words}: {inner}");
        cause = inner.source();
    }
    words
}
