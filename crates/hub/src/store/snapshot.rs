//! The store as it is at one moment, for a backup, and put back from one. The hub
//! goes on: while it is frozen nothing is acknowledged or posted, so what agents
//! have written by then is neither behind the store nor ahead of it by more than a
//! crash would leave.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, backup::Backup};

use crate::{
    error::HubError,
    hub,
    store::{
        db::{Db, system_clock},
        file::{STORE_FILE, StoreFile},
    },
};

/// Pages that are copied between two looks whether somebody waits.
const PAGES: i32 = 4_096;

/// Who may speak, and the ways in: a backup need not hold them, they are made anew.
const SECRETS: &str = "DELETE FROM tokens; DELETE FROM login_codes; DELETE FROM sessions;
    DELETE FROM machines; DELETE FROM machine_codes;
    DELETE FROM own_values WHERE name IN ('own_name', 'certificate'); VACUUM;";

/// A store that nobody can write to until this is dropped. Not for long: whoever
/// wants to write gives up after ten seconds.
#[derive(Debug)]
pub struct FrozenStore {
    /// Holds the right to write, and does not use it.
    _writer: Db,
    reader: Db,
    path: PathBuf,
}

impl FrozenStore {
    /// Freezes the store in a folder; nothing when there is none.
    ///
    /// # Errors
    /// When it cannot be opened, or its writer does not let go of it.
    pub fn freeze(dir: &Path) -> Result<Option<Self>, HubError> {
        if !dir.join(STORE_FILE).exists() {
            return Ok(None);
        }
        let file = StoreFile::in_folder(dir, system_clock())?;
        let (writer, reader) = (file.open()?, file.open()?);
        let failed = |source| HubError::Store {
            path: file.path().to_owned(),
            source,
        };
        writer.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        Ok(Some(Self {
            _writer: writer,
            reader,
            path: file.path().to_owned(),
        }))
    }

    /// Copies it to a new file, with the tokens or without.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn copy(&self, to: &Path, with_tokens: bool) -> Result<(), HubError> {
        let copied = || -> rusqlite::Result<()> {
            let mut copy = Connection::open(to)?;
            let Some(reader) = self.reader.sqlite() else {
                return Ok(());
            };
            Backup::new(reader, &mut copy)?.run_to_completion(PAGES, Duration::ZERO, None)?;
            copy.pragma_update(None, "journal_mode", "DELETE")?;
            match with_tokens {
                true => Ok(()),
                false => copy.execute_batch(SECRETS),
            }
        };
        copied().map_err(|source| HubError::Store {
            path: self.path.clone(),
            source: source.into(),
        })
    }
}

/// Makes a copy the store of a folder that has none and in which no hub runs. A
/// copy of an earlier version is brought up to this one.
///
/// # Errors
/// When a hub runs there, the copy is of a later version, or cannot be moved.
pub fn put_back(copy: &Path, dir: &Path) -> Result<(), HubError> {
    if hub::runs_in(dir)? {
        return Err(HubError::Running(dir.to_owned()));
    }
    let place = StoreFile::in_folder(dir, system_clock())?;
    let failed = |source| HubError::Folder {
        path: dir.to_owned(),
        source,
    };
    fs::copy(copy, place.path()).map_err(failed)?;
    place.open().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokens;

    #[test]
    fn a_copy_has_what_was_said_and_tokens_only_when_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("hub");
        assert!(FrozenStore::freeze(&store).unwrap().is_none());
        let first = Tokens::open(&store)
            .unwrap()
            .ensure_repo("app", "app")
            .unwrap();
        let frozen = FrozenStore::freeze(&store).unwrap().unwrap();
        for with_tokens in [true, false] {
            let copy = dir.path().join(format!("copy-{with_tokens}"));
            frozen.copy(&copy, with_tokens).unwrap();
            let place = dir.path().join(format!("hub-{with_tokens}"));
            put_back(&copy, &place).unwrap();
            let again = Tokens::open(&place)
                .unwrap()
                .ensure_repo("app", "other")
                .unwrap();
            assert_eq!(again.channel, first.channel);
            let role = butler_protocol::Role::Pm;
            assert_eq!(
                again.agents[&role].bot == first.agents[&role].bot,
                with_tokens
            );
        }
    }

    #[test]
    fn nothing_is_written_while_it_is_frozen_and_all_goes_on_after() {
        let dir = tempfile::tempdir().unwrap();
        let write = || {
            Tokens::open(dir.path())
                .unwrap()
                .ensure_repo("app", "app")
                .unwrap()
        };
        write();
        let frozen = FrozenStore::freeze(dir.path()).unwrap().unwrap();
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                write();
                done.send(()).unwrap();
            });
            is_done
                .recv_timeout(Duration::from_millis(300))
                .unwrap_err();
            drop(frozen);
            is_done.recv_timeout(Duration::from_secs(30)).unwrap();
        });
    }
}
