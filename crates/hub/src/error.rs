//! What can go wrong: at start (for the operator), and in a call (for the caller).

pub(crate) mod refused;

use std::{io, net::SocketAddr, path::PathBuf};

pub(crate) use butler_protocol::Refusal;
use butler_protocol::UserId;

pub(crate) use self::refused::{Answer, Refused, done, well};

/// The hub cannot start, or its store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The folder of the hub cannot be made.
    #[error("cannot make the folder {}", path.display())]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The store cannot be opened.
    #[error("cannot open the store {}", path.display())]
    Store {
        path: PathBuf,
        #[source]
        source: crate::store::sql::Error,
    },
    /// The database cannot be used.
    #[error("cannot use the database {server}")]
    Database {
        /// Which, without its password.
        server: String,
        #[source]
        source: crate::store::sql::Error,
    },
    /// A later build has written the store.
    #[error(
        "the store {} was written by a newer codebutler (version {found} of its tables, \
         this one knows {known}); use the newer one",
        path.display()
    )]
    Newer {
        path: PathBuf,
        /// The version that it has.
        found: u32,
        /// The newest that this build knows.
        known: u32,
    },
    /// The workspace is in a database now.
    #[error(
        "the workspace of {} was moved into a database: `hub.database` must name it; where a move \
         was interrupted, the same `codebutler hub migrate` finishes it",
        .0.display()
    )]
    Moved(PathBuf),
    /// There is nothing to move.
    #[error("there is no workspace in {}", .0.display())]
    NoWorkspace(PathBuf),
    /// Somebody else's workspace would be lost.
    #[error("the database {0} has a workspace already")]
    Taken(String),
    /// What was erased is out of the workspace, and not yet off the disk.
    #[error(
        "the workspace has forgotten them, but the database keeps old versions of their rows for a \
         connection that began before: {by}; when that has ended, run `codebutler people erase {id}` again"
    )]
    StillSeen {
        /// The oldest of those connections.
        by: String,
        /// Whom to erase again.
        id: UserId,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    /// The certificate cannot be used.
    #[error("the certificate {0} cannot be used: {1}")]
    Certificate(String, String),
    /// The address can be reached from outside and nobody consented to that.
    #[error("{0} can be reached from other machines")]
    NotLoopback(SocketAddr),
    /// Another hub has the folder.
    #[error("another hub runs on {}", .0.display())]
    Running(PathBuf),
    /// The hub has not found the repo's channel in Slack yet.
    #[error(
        "{0} has no channel in Slack yet; `codebutler up` starts the hub, which finds or makes it"
    )]
    NoChannel(String),
    /// Slack refuses us, or has no place for us.
    #[error("Slack: {0}")]
    Slack(String),
    /// A step on the store failed.
    #[error("the store refused: {0}")]
    Step(#[from] Trouble),
}

impl HubError {
    /// What to do about it, where the error itself does not say.
    #[must_use]
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Database { source, .. } => source.remedy(),
            _ => None,
        }
    }
}

/// A call that was not carried out. `Refused` is an answer for the caller; `Store` is our fault and is logged.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Not like this.
    #[error("{0}")]
    Refused(Refusal),
    /// Not like this, and what exactly is wrong with it.
    #[error("{0}: {1}")]
    Explained(Refusal, String),
    /// The engine under the store failed.
    #[error("store")]
    Store(#[source] crate::store::sql::Error),
    /// What the store holds cannot be read.
    #[error("stored JSON")]
    Json(#[from] serde_json::Error),
    /// What the store has packed cannot be unpacked.
    #[error("packed lines")]
    Packed(#[source] std::io::Error),
    /// Too many calls with one token; after so long there may be another.
    #[error("too many calls")]
    Paced(std::time::Duration),
    /// Slack does not answer; the caller should try again.
    #[error("Slack does not answer")]
    Away,
    /// Another hub does now what only one may do; the caller should try again.
    #[error("this hub is not the owner any more")]
    NotOwner,
    /// What was asked of the store panicked; it was undone.
    #[error("a change panicked")]
    Panicked,
    /// The store's thread is gone, or its last commit failed.
    #[error("the store is closed")]
    Closed,
}

/// What a call comes to.
pub(crate) type Result<T, E = Trouble> = std::result::Result<T, E>;

/// A connection that ended says nothing about what was asked.
impl From<crate::store::sql::Error> for Trouble {
    fn from(error: crate::store::sql::Error) -> Self {
        match error.is_passing() {
            true => Self::Closed,
            false => Self::Store(error),
        }
    }
}

impl Trouble {
    /// Why the store refused; nothing when something broke.
    #[must_use]
    pub fn refused(&self) -> Option<Refusal> {
        match self {
            Trouble::Refused(refusal) | Trouble::Explained(refusal, _) => Some(*refusal),
            _ => None,
        }
    }

    /// What the caller is told.
    pub(crate) fn refusal(&self) -> Refusal {
        match self {
            Trouble::Refused(refusal) | Trouble::Explained(refusal, _) => *refusal,
            Trouble::Away | Trouble::NotOwner | Trouble::Closed => Refusal::ServiceUnavailable,
            Trouble::Paced(_) => Refusal::Ratelimited,
            other => {
                tracing::error!(error = ?other, "a call failed in the store");
                Refusal::InternalError
            }
        }
    }
}

/// Not like this.
impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Refuses what is like this: `Refusal::IsArchived.when(channel.archived)?`.
pub(crate) trait When {
    fn when(self, like_this: bool) -> Result<()>;
}

impl When for Refusal {
    fn when(self, like_this: bool) -> Result<()> {
        match like_this {
            true => refuse(self),
            false => Ok(()),
        }
    }
}

/// Refuses a call.
pub(crate) fn refuse<T>(refusal: Refusal) -> Result<T> {
    Err(Trouble::Refused(refusal))
}
