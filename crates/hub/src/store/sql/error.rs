//! What can go wrong with a statement.

/// A statement that was not carried out, or a row that is not what was expected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite refused.
    #[error(transparent)]
    Sqlite(rusqlite::Error),
    /// PostgreSQL refused, or is away.
    #[error(transparent)]
    Postgres(#[from] tokio_postgres::Error),
    /// It is not an address of a database.
    #[error("not the address of a PostgreSQL database (postgres://user@host/name)")]
    Address,
    /// The workspace of this file is in a database now.
    #[error("the workspace was moved into a database")]
    Moved,
    /// There is no such row.
    #[error("no row")]
    NoRow,
    /// A column holds something else.
    #[error("column {column} holds {found}, wanted {wanted}")]
    Column {
        /// Which, from zero.
        column: usize,
        /// What it holds.
        found: &'static str,
        /// What it was read as.
        wanted: &'static str,
    },
    /// More or fewer values than the statement has places.
    #[error("{given} values for {places} places")]
    Values {
        /// How many were given.
        given: usize,
        /// How many it takes.
        places: usize,
    },
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::QueryReturnedNoRows => Self::NoRow,
            other => Self::Sqlite(other),
        }
    }
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// A row that need not be there.
pub(crate) trait OptionalExtension<T> {
    /// Nothing where there is no row.
    fn optional(self) -> Result<Option<T>>;
}

impl<T> OptionalExtension<T> for Result<T> {
    fn optional(self) -> Result<Option<T>> {
        match self {
            Ok(found) => Ok(Some(found)),
            Err(Error::NoRow) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
