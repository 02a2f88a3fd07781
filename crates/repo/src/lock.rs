//! Locks that hold across processes: an advisory lock on a file that is never
//! deleted. The kernel lets go when the last holder of the open file is gone,
//! so a crash leaves no stuck lock.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::{Error, Result};

/// A held lock; dropping it lets go.
#[derive(Debug)]
pub(crate) struct FileLock {
    file: File,
}

impl FileLock {
    /// Takes the lock if it is free.
    pub(crate) fn try_take(path: &Path) -> Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(Error::File {
                path: path.to_owned(),
                source,
            }),
        }
    }

    /// Waits for the lock. Asking again and again, rather than blocking a
    /// thread, keeps the wait stoppable.
    pub(crate) async fn take(path: &Path, cancel: &CancellationToken) -> Result<Self> {
        let mut pause = Duration::from_millis(2);
        loop {
            if let Some(lock) = Self::try_take(path)? {
                return Ok(lock);
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = cancel.cancelled() => return Err(Error::Cancelled {
                    what: format!("waiting for {}", path.display()),
                }),
            }
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    /// A second handle on the same lock, for a child process.
    pub(crate) fn share(&self) -> Option<File> {
        self.file.try_clone().ok()
    }
}

fn open(path: &Path) -> Result<File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(Error::file(parent))?;
    }
    File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)
        .map_err(Error::file(path))
}

/// The right to change one worktree: held by any activation with write tools.
/// Dropping it lets go.
#[derive(Debug)]
#[must_use = "the lock is let go when this is dropped"]
pub struct WorktreeLock {
    _held: FileLock,
    path: PathBuf,
}

/// A right that processes of this clone take in turns; see [`crate::Repo::turn`].
/// Dropping it lets go.
#[derive(Debug)]
#[must_use = "the turn is over when this is dropped"]
pub struct Turn {
    _held: FileLock,
}

impl Turn {
    pub(crate) fn new(held: FileLock) -> Self {
        Self { _held: held }
    }
}

impl WorktreeLock {
    pub(crate) fn new(held: FileLock, path: PathBuf) -> Self {
        Self { _held: held, path }
    }

    /// The lock's file, which names the worktree.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
