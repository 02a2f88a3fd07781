//! Locks that hold across processes: an advisory lock on a file. The kernel lets go
//! when the last holder of the open file is gone, so a crash leaves no stuck lock. Only
//! who holds it deletes the file, and who has locked one looks whether it is still there.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
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
        loop {
            let file = open(path)?;
            match file.try_lock() {
                Ok(()) if is_at(&file, path) => return Ok(Some(Self { file })),
                // It was cleared away before it was ours.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(source)) => {
                    return Err(Error::File {
                        path: path.to_owned(),
                        source,
                    });
                }
            }
        }
    }

    /// Deletes the file of a lock that nobody holds. Whether it was free.
    pub(crate) fn remove(path: &Path) -> Result<bool> {
        let Some(_held) = Self::try_take(path)? else {
            return Ok(false);
        };
        match fs::remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::file(path)(error)),
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

/// Whether the file at this path is still the one that was opened.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(there)) = (file.metadata(), fs::metadata(path)) else {
        return false;
    };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
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
    pub fn path(&self) -> &Path {
        &self.path
    }
}
