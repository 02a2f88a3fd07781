//! What can go wrong with a statement.

/// A statement that was not carried out, or a row that is not what was expected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite refused.
    #[error(transparent)]
    Sqlite(rusqlite::Error),
    /// PostgreSQL refused, or is away.
    #[error("{}", words(.0))]
    Postgres(tokio_postgres::Error),
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
    /// Several share what should be one connection.
    #[error(
        "what answers there gives each transaction another connection, as PgBouncer does with \
         `pool_mode = transaction`; a hub needs connections of its own: `pool_mode = session`, or \
         the address of PostgreSQL itself"
    )]
    Pooled,
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

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

/// What PostgreSQL said, which is hidden behind "db error", or what is wrong with the way there.
fn words(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        let detail = said.detail().map(|detail| format!(" ({detail})"));
        return format!("{}{}", said.message(), detail.unwrap_or_default());
    }
    let cause = std::error::Error::source(error);
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

impl Error {
    /// What to do about a database that does not let a hub in.
    pub(crate) fn remedy(&self) -> Option<&'static str> {
        let Self::Postgres(error) = self else {
            return None;
        };
        let Some(code) = error.code() else {
            let unwritten = std::error::Error::source(error);
            return match unwritten.is_some_and(|cause| cause.is::<std::io::Error>()) {
                true => Some("does PostgreSQL run there, and can this machine reach that port?"),
                false => Some("an address is postgres://user:password@host:port/name"),
            };
        };
        Some(match code.code() {
            "28P01" | "28000" => {
                "user and password are those of its address; there `@` is written %40, `:` %3A and `/` %2F"
            }
            "3D000" => "make the database first, as in `createdb -O user name`",
            "42501" => {
                "its user needs `GRANT CONNECT, CREATE ON DATABASE name TO user`, or a schema of its own that `?schema=` names"
            }
            "25006" => {
                "that server takes no changes: the address must lead to the primary; with several \
                 hosts in it, `target_session_attrs=read-write` finds that one"
            }
            "53100" => "make room on the disk of the database",
            "53300" => "let it take more connections (`max_connections`), or run fewer hubs",
            _ => return None,
        })
    }

    /// Whether the database is there and lacks what a change needs: room, memory, a disk that
    /// works, the right to change anything.
    pub(crate) fn is_starved(&self) -> bool {
        let Self::Postgres(error) = self else {
            return false;
        };
        let lacks = |code: &str| ["53", "58", "25006"].iter().any(|of| code.starts_with(of));
        error.code().is_some_and(|code| lacks(code.code()))
    }

    /// Whether it was the way to the database, or its end, and not what was asked.
    pub(crate) fn is_passing(&self) -> bool {
        let Self::Postgres(error) = self else {
            return matches!(self, Self::Silent);
        };
        match error.code() {
            // Shut down, starting, or this connection was ended or took too long; or somebody
            // else's transaction was in the way.
            Some(code) => {
                let is_one = |of: &&str| code.code().starts_with(*of);
                self.is_starved() || ["57", "08", "25P03", "40"].iter().any(is_one)
            }
            None => error.is_closed() || error.as_db_error().is_none() && is_io(error),
        }
    }
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    let cause = std::error::Error::source(error);
    cause.is_some_and(|cause| cause.is::<std::io::Error>())
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;
