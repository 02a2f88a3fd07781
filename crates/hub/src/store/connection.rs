//! A connection that is thrown away when it cannot be trusted any more, and opened
//! anew when it is needed next.

use tracing::{error, info, warn};

use crate::{
    HubError,
    store::{Db, place::Place, sql},
};

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
            match self.place.open() {
                // This hub ends when the move is whole.
                Err(error @ HubError::Moved(_)) => warn!(%error, "the file is not used any more"),
                Err(error) => {
                    let remedy = error.remedy();
                    let error = with_causes(&error);
                    error!(error, remedy, "the store cannot be opened again");
                }
                Ok(db) => match (self.proof)(&db) {
                    Ok(()) => {
                        info!("the store was opened again");
                        self.db = Some(db);
                    }
                    Err(error) => {
                        let remedy = error.remedy();
                        error!(%error, remedy, "the store cannot be opened again");
                    }
                },
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
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        words = format!("{words}: {inner}");
        cause = inner.source();
    }
    words
}
