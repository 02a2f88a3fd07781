//! One hub per folder.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::HubError;

/// Held by the hub that has the folder.
const LOCK_FILE: &str = "hub.lock";
/// How long the lock may be held by somebody who only looks.
const GLANCE: Duration = Duration::from_millis(400);

/// Whether a hub has this folder now.
///
/// # Errors
/// When the folder cannot be looked at.
pub fn runs_in(dir: &Path) -> Result<bool, HubError> {
    if !dir.join(LOCK_FILE).exists() {
        return Ok(false);
    }
    let (path, file) = lock_file(dir)?;
    // Shared: two that look at the same time do not take each other for a hub.
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(source)) => Err(HubError::Folder { path, source }),
    }
}

/// One hub per folder: two would each believe to be the only fence.
pub(super) fn lock(dir: &Path) -> Result<File, HubError> {
    let (path, file) = lock_file(dir)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            // Somebody may only be looking (`runs_in`).
            Err(TryLockError::WouldBlock) if begun.elapsed() < GLANCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => return Err(HubError::Running(dir.to_owned())),
            Err(TryLockError::Error(source)) => return Err(HubError::Folder { path, source }),
        }
    }
}

fn lock_file(dir: &Path) -> Result<(PathBuf, File), HubError> {
    let path = dir.join(LOCK_FILE);
    let opened = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    match opened {
        Ok(file) => Ok((path, file)),
        Err(source) => Err(HubError::Folder { path, source }),
    }
}
