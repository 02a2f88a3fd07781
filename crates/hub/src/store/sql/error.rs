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
    /// PostgreSQL gave no answer.
    #[error("PostgreSQL does not answer")]
    Silent,
    /// It is not an address of a database.
    #[error("not the address of a PostgreSQL database (postgres://user@host/name)")]
    Address,
    /// What is said on the way there could be read by others.
    #[error(
        "the database {0} is on another machine: write `sslmode=verify-full` behind its address \
         (TLS; `network.caFile` names the authority), or `sslmode=disable` where the way there is private"
    )]
    Plain(String),
    /// It is no way of TLS that is known here.
    #[error("`sslmode={0}` is not known; use verify-full, require or disable")]
    SslMode(String),
    /// The certificates to trust cannot be read.
    #[error(transparent)]
    Certificates(#[from] butler_tls::BadFile),
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

impl Error {
    /// Whether it was the way to the database, or its end, and not what was asked.
    pub(crate) fn is_passing(&self) -> bool {
        let Self::Postgres(error) = self else {
            return matches!(self, Self::Silent);
        };
        match error.code() {
            // Shut down, starting, or this connection was ended or took too long.
            Some(code) => ["57", "08", "25P03"]
                .iter()
                .any(|of| code.code().starts_with(of)),
            None => error.is_closed() || error.as_db_error().is_none() && is_io(error),
        }
    }
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    let cause = std::error::Error::source(error);
    cause.is_some_and(|cause| cause.is::<std::io::Error>())
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;
