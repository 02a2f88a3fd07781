//! The folder of a closed thread as one file, and back again.
//!
//! Whoever works in a thread is present in it, by a shared lock that ends with the
//! process. A folder is packed only when nobody is present and nothing in it was
//! written for a long time; the first who comes back unpacks it. Both take one
//! rename, so a folder that is there is whole, and an archive beside it is left
//! over from a crash.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use butler_protocol::{ThreadId, fault};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};

use crate::{
    JournalError, ThreadDir,
    dir::{create_dirs, sync_dir, sync_dirs},
};

/// Where the locks are, beside the threads.
const LOCKS: &str = ".locks";
const SUFFIX: &str = ".tar.gz";
/// What is on its way out, or not yet in.
const PASSING: &str = ".passing-";

/// Somebody works in a thread; its folder stays where it is.
#[derive(Debug)]
pub struct Presence {
    _lock: File,
}

impl ThreadDir {
    /// The archive of a thread whose folder was packed.
    #[must_use]
    pub fn archive(threads: &Path, thread: &ThreadId) -> PathBuf {
        threads.join(format!("{}{SUFFIX}", thread.dir_name()))
    }

    /// Begins to work in a thread. A packed folder is back when this returns.
    ///
    /// # Errors
    /// When the disk says no, or the archive is damaged; it is then left alone.
    pub fn enter(threads: &Path, thread: &ThreadId) -> Result<Presence, JournalError> {
        let lock = loop {
            let (path, lock) = open_lock(threads, thread)?;
            lock.lock_shared()
                .map_err(JournalError::io("lock", &path))?;
            if is_at(&lock, &path) {
                break lock;
            }
        };
        let archive = Self::archive(threads, thread);
        if archive.exists() {
            unpack(threads, thread, &archive)?;
        }
        Ok(Presence { _lock: lock })
    }

    /// When something in the folder was written last. Nothing when it is not there,
    /// or not to be read.
    #[must_use]
    pub fn last_written(&self) -> Option<SystemTime> {
        newest(self.root()).ok()
    }

    /// Packs the folder of a thread in which nobody works, and nothing was written
    /// since `before`. Whether it was packed.
    ///
    /// # Errors
    /// When the disk says no; the folder is then still there.
    pub fn pack(
        threads: &Path,
        thread: &ThreadId,
        before: SystemTime,
    ) -> Result<bool, JournalError> {
        let dir = Self::new(threads, thread);
        let (path, lock) = open_lock(threads, thread)?;
        match lock.try_lock() {
            Ok(()) if is_at(&lock, &path) => {}
            Ok(()) | Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(JournalError::io("lock", path)(error)),
        }
        let pack = dir.last_written().is_some_and(|last| last < before);
        if pack {
            write_archive(threads, thread, dir.root())?;
            let passing = threads.join(format!("{PASSING}{}", thread.dir_name()));
            fault("journal.before-put-away");
            fs::rename(dir.root(), &passing).map_err(JournalError::io("move", dir.root()))?;
            sync_dir(threads)?;
            fault("journal.after-put-away");
            // What is left of it is cleared away with the next one.
            let _ = fs::remove_dir_all(&passing);
        }
        // While it is locked: who waits for it sees that it is gone, and makes another.
        let _ = fs::remove_file(&path);
        Ok(pack)
    }

    /// Every thread under `threads` whose folder was packed, oldest name first.
    #[must_use]
    pub fn packed(threads: &Path) -> Vec<ThreadId> {
        let items = fs::read_dir(threads).into_iter().flatten().flatten();
        let names = items.filter_map(|item| item.file_name().into_string().ok());
        let mut found: Vec<_> = names
            .filter_map(|name| ThreadId::from_dir_name(name.strip_suffix(SUFFIX)?).ok())
            .collect();
        found.sort();
        found
    }

    /// Clears away what a crash left half removed or half unpacked.
    pub fn tidy(threads: &Path) {
        for item in fs::read_dir(threads).into_iter().flatten().flatten() {
            if item.file_name().to_string_lossy().starts_with(PASSING) {
                let path = item.path();
                let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
            }
        }
    }
}

fn open_lock(threads: &Path, thread: &ThreadId) -> Result<(PathBuf, File), JournalError> {
    let folder = threads.join(LOCKS);
    sync_dirs(&create_dirs(&folder)?)?;
    let path = folder.join(thread.dir_name());
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .map_err(JournalError::io("open", &path))?;
    Ok((path, file))
}

/// Whether the file at this path is still the one that was opened.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(there)) = (file.metadata(), fs::metadata(path)) else {
        return false;
    };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}

fn newest(folder: &Path) -> io::Result<SystemTime> {
    let mut last = fs::symlink_metadata(folder)?.modified()?;
    for item in fs::read_dir(folder)? {
        let item = item?;
        last = last.max(match item.file_type()?.is_dir() {
            true => newest(&item.path())?,
            false => item.metadata()?.modified()?,
        });
    }
    Ok(last)
}

/// A crash leaves no archive or a whole one.
fn write_archive(threads: &Path, thread: &ThreadId, folder: &Path) -> Result<(), JournalError> {
    let archive = ThreadDir::archive(threads, thread);
    let failed = |error| JournalError::io("write", &archive)(error);
    let temporary = tempfile::Builder::new()
        .prefix(PASSING)
        .tempfile_in(threads)
        .map_err(failed)?;
    let mut tar = tar::Builder::new(GzEncoder::new(temporary, Compression::default()));
    tar.follow_symlinks(false);
    tar.append_dir_all(thread.dir_name(), folder)
        .map_err(failed)?;
    let temporary = tar.into_inner().and_then(GzEncoder::finish);
    let temporary = temporary.map_err(failed)?;
    temporary.as_file().sync_all().map_err(failed)?;
    fault("journal.before-archive");
    temporary
        .persist(&archive)
        .map_err(|error| failed(error.error))?;
    sync_dir(threads)?;
    fault("journal.after-archive");
    Ok(())
}

/// Brings a folder back. Another role may do the same at this moment: whoever is
/// second finds it there.
fn unpack(threads: &Path, thread: &ThreadId, archive: &Path) -> Result<(), JournalError> {
    let folder = ThreadDir::new(threads, thread).root().to_owned();
    if !folder.exists() {
        let failed = |error| JournalError::io("unpack", archive)(error);
        let passing = tempfile::Builder::new()
            .prefix(PASSING)
            .tempdir_in(threads)
            .map_err(failed)?;
        let packed = match File::open(archive) {
            Ok(packed) => packed,
            Err(_) if folder.exists() => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        let mut tar = tar::Archive::new(GzDecoder::new(packed));
        // It is in use again, and not as old as it was.
        tar.set_preserve_mtime(false);
        tar.unpack(passing.path()).map_err(failed)?;
        let unpacked = passing.path().join(thread.dir_name());
        flush_all(&unpacked).map_err(failed)?;
        fault("journal.before-unpack");
        match fs::rename(&unpacked, &folder) {
            Ok(()) => {}
            Err(_) if folder.exists() => {}
            Err(error) => return Err(failed(error)),
        }
        sync_dir(threads)?;
        fault("journal.after-unpack");
    }
    match fs::remove_file(archive) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(JournalError::io("remove", archive)(error)),
    }
}

fn flush_all(folder: &Path) -> io::Result<()> {
    for item in fs::read_dir(folder)? {
        let item = item?;
        let kind = item.file_type()?;
        if kind.is_dir() {
            flush_all(&item.path())?;
        } else if kind.is_file() {
            File::open(item.path())?.sync_all()?;
        }
    }
    File::open(folder)?.sync_all()
}

#[cfg(test)]
#[path = "pack_tests.rs"]
mod tests;
