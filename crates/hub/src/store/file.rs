//! The store's file: private, of this build's version, and opened with patience.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use butler_protocol::Clock;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tracing::{info, warn};

use crate::{
    error::HubError,
    store::{
        db::{Db, Engine},
        versions::{self, NEWEST},
    },
};

/// Its name in the hub's folder.
pub(crate) const STORE_FILE: &str = "hub.sqlite3";
/// Its name when the workspace has moved into a database.
pub(crate) const MOVED_FILE: &str = "hub.sqlite3.moved";
/// How long another process may hold the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the store is, and the clock of those who open it.
#[derive(Debug, Clone)]
pub(crate) struct StoreFile {
    path: PathBuf,
    clock: Clock,
}

impl StoreFile {
    /// The file in a folder; both are made, for the owner alone, where they are missing.
    pub(crate) fn in_folder(dir: &Path, clock: Clock) -> Result<Self, HubError> {
        Self::folder(dir)?;
        if dir.join(MOVED_FILE).exists() {
            return Err(HubError::Moved(dir.to_owned()));
        }
        let file = Self::at(&dir.join(STORE_FILE), clock);
        file.make_private()?;
        Ok(file)
    }

    /// A file by its own name, which has to be there.
    pub(super) fn at(path: &Path, clock: Clock) -> Self {
        let path = path.to_owned();
        Self { path, clock }
    }

    /// Makes it, for the owner alone, where it is missing.
    pub(super) fn make_private(&self) -> Result<(), HubError> {
        // SQLite gives its side files the mode of the main one.
        let made = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&self.path);
        made.map(drop).map_err(|source| HubError::Folder {
            path: self.path.clone(),
            source,
        })
    }

    /// Makes the folder, for the owner alone, where it is missing.
    pub(super) fn folder(dir: &Path) -> Result<(), HubError> {
        if dir.exists() {
            return Ok(());
        }
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir);
        made.map_err(|source| HubError::Folder {
            path: dir.to_owned(),
            source,
        })
    }

    /// Opens it. A file that is gone meanwhile is not made again: a new store in the
    /// place of one that is only missing for a moment would lose everything.
    pub(crate) fn open(&self) -> Result<Db, HubError> {
        let gone = !self.path.exists() && self.path.with_file_name(MOVED_FILE).exists();
        if gone {
            return Err(HubError::Moved(self.path.clone()));
        }
        let db = self.open_moved()?;
        let failed = |source| HubError::Store {
            path: self.path.clone(),
            source,
        };
        match db.has_moved().map_err(failed)? {
            true => Err(HubError::Moved(self.path.clone())),
            false => Ok(db),
        }
    }

    /// The same, also when the workspace is in a database now.
    pub(super) fn open_moved(&self) -> Result<Db, HubError> {
        let failed = |source: rusqlite::Error| HubError::Store {
            path: self.path.clone(),
            source: source.into(),
        };
        let flags = OpenFlags::default() & !OpenFlags::SQLITE_OPEN_CREATE;
        let connection = Connection::open_with_flags(&self.path, flags).map_err(failed)?;
        let begun = Instant::now();
        let found = loop {
            match prepare(&connection) {
                // Two processes that make the file at the same moment get in each
                // other's way where SQLite does not wait by itself.
                Err(error) if is_busy(&error) && begun.elapsed() < PATIENCE => {
                    thread::sleep(Duration::from_millis(20));
                }
                outcome => break outcome.map_err(failed)?,
            }
        };
        if found > NEWEST {
            return Err(HubError::Newer {
                path: self.path.clone(),
                found,
                known: NEWEST,
            });
        }
        Ok(Db::new(Engine::Sqlite(connection), self.clock.clone()))
    }

    /// Makes sure that the file can give space back. One of an earlier release is written
    /// anew for that, once, while nobody else uses it; where that fails it only stays large.
    pub(crate) fn can_shrink(&self) -> Result<(), HubError> {
        let failed = |source: rusqlite::Error| HubError::Store {
            path: self.path.clone(),
            source: source.into(),
        };
        let db = self.open()?;
        let Some(connection) = db.sqlite() else {
            return Ok(());
        };
        let mode: i64 = connection
            .pragma_query_value(None, "auto_vacuum", |row| row.get(0))
            .map_err(failed)?;
        if mode == 2 {
            return Ok(());
        }
        info!("the store is written anew, so that it can give space back");
        if let Err(error) = connection.execute_batch("VACUUM") {
            warn!(%error, "the store keeps the space that it has");
        }
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn prepare(connection: &Connection) -> rusqlite::Result<u32> {
    connection.busy_timeout(PATIENCE)?;
    // Before there is anything in it; an older file is written anew (`can_shrink`).
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.set_prepared_statement_cache_capacity(128);
    versions::bring_up(connection)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::db::system_clock;

    /// `codebutler hub tokens` while a hub starts: both make the file.
    #[test]
    fn many_open_a_new_store_at_once_and_all_can() {
        for _ in 0..5 {
            let dir = tempfile::tempdir().unwrap();
            let open = || StoreFile::in_folder(dir.path(), system_clock())?.open();
            thread::scope(|scope| {
                let openers: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
                for opener in openers {
                    opener.join().unwrap().unwrap();
                }
            });
        }
    }

    #[test]
    fn a_store_of_a_later_version_is_left_alone_and_the_error_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let file = StoreFile::in_folder(dir.path(), system_clock()).unwrap();
        let later = NEWEST + 1;
        file.open()
            .unwrap()
            .sqlite()
            .unwrap()
            .pragma_update(None, "user_version", later)
            .unwrap();
        let error = file.open().unwrap_err().to_string();
        assert!(error.contains("newer codebutler"), "{error}");
        let kept = Connection::open(file.path()).unwrap();
        let kept: u32 = kept
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap();
        assert_eq!(kept, later);
    }
}
