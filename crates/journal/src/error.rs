//! What can go wrong with a log. Each variant names the file.

use std::{io, path::PathBuf};

use butler_protocol::Epoch;

/// Why a log could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The operating system said no.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// As in "open", "append to".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A line in the middle is not what was written. The file is left alone.
    #[error("{} is damaged at line {line}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// A later build has written a line. The file is left alone.
    #[error(
        "{} was written by a newer codebutler (line {line}: {problem}); use the newer one",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Which line, from 1; 0 where only the end was read.
        line: u64,
        /// What is not known here.
        problem: String,
    },
    /// Another process, or another journal of this one, owns the log.
    #[error("{} belongs to another process that is still running", path.display())]
    Owned {
        /// The file.
        path: PathBuf,
    },
    /// A later life of this agent has written already.
    #[error("{} was taken over: epoch {ours} is older than {found}", path.display())]
    Stale {
        /// The file.
        path: PathBuf,
        /// Ours.
        ours: Epoch,
        /// The one in the file.
        found: Epoch,
    },
    /// Somebody else wrote to the file, cut it or removed it while we own it.
    #[error("{} was changed by somebody else; open it again", path.display())]
    Touched {
        /// The file.
        path: PathBuf,
    },
    /// An earlier write failed, so what is on the disk is not known.
    #[error("{} takes no more lines since a write failed; open it again", path.display())]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// A record that cannot be written as JSON.
    #[error("cannot write a record to {}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

impl JournalError {
    /// What a person can do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        use std::io::ErrorKind as Kind;
        match self {
            Self::Io { source, .. } => match source.kind() {
                Kind::StorageFull | Kind::QuotaExceeded => "Free some space on that disk",
                Kind::ReadOnlyFilesystem | Kind::PermissionDenied => {
                    "Make the folder writable for whoever runs CodeButler"
                }
                _ => "Look at that disk and its folder",
            },
            Self::Owned { .. } => "Stop the other CodeButler that works on this repository",
            Self::Stale { .. } => "A newer process of this role has taken over",
            Self::Newer { .. } => "Update codebutler on this machine",
            Self::Damaged { .. } => "Move the file aside, or restore it from a backup",
            Self::Touched { .. } | Self::Closed { .. } | Self::Record { .. } => {
                "Nothing else should write to that folder"
            }
        }
    }

    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| JournalError::Io {
            action,
            path,
            source,
        }
    }
}
