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
    error::{HubError, Trouble},
    hub,
    store::{
        copy,
        db::Db,
        file::StoreFile,
        place::{Place, StorePlace},
        sql, system_clock,
    },
};

/// Pages that are copied between two looks whether somebody waits.
const PAGES: i32 = 4_096;

/// Who may speak, and the ways in: a backup need not hold them, they are made anew.
const SECRETS: &str = "DELETE FROM tokens; DELETE FROM login_codes; DELETE FROM sessions;
    DELETE FROM machines; DELETE FROM machine_codes;
    DELETE FROM own_values WHERE name IN ('own_name', 'certificate'); VACUUM;";

/// A store that nobody can write to until this is dropped or copied. Not for long: whoever
/// wants to write to a file gives up after ten seconds.
#[derive(Debug)]
pub struct FrozenStore {
    /// Holds the right to write, and does not use it.
    writer: Db,
    reader: Db,
    shown: PathBuf,
}

impl FrozenStore {
    /// Freezes a store; nothing when there is none.
    ///
    /// # Errors
    /// When it cannot be opened, or its writer does not let go of it.
    pub fn freeze(place: &StorePlace) -> Result<Option<Self>, HubError> {
        if !place.exists() {
            return Ok(None);
        }
        let place = place.with_clock(system_clock())?;
        let (writer, reader) = (place.open()?, place.open()?);
        let shown = PathBuf::from(place.shown());
        let failed = |source| HubError::Store {
            path: shown.clone(),
            source,
        };
        hold(&writer, &reader).map_err(failed)?;
        Ok(Some(Self {
            writer,
            reader,
            shown,
        }))
    }

    /// Copies it to a new file, with the tokens or without.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn copy(self, to: &Path, with_tokens: bool) -> Result<(), HubError> {
        let failed = |source: sql::Error| HubError::Store {
            path: self.shown.clone(),
            source,
        };
        match self.reader.sqlite() {
            Some(reader) => copied_file(reader, to).map_err(|error| failed(error.into()))?,
            None => {
                // What is read from here on is what it was when it was frozen.
                drop(self.writer);
                copied_rows(&self.reader, to)?;
            }
        }
        let finish = || -> rusqlite::Result<()> {
            let copy = Connection::open(to)?;
            copy.pragma_update(None, "journal_mode", "DELETE")?;
            match with_tokens {
                true => Ok(()),
                false => copy.execute_batch(SECRETS),
            }
        };
        finish().map_err(|error| failed(error.into()))
    }
}

/// Keeps others from writing, and keeps what is read as it is now.
fn hold(writer: &Db, reader: &Db) -> sql::Result<()> {
    let Some(pg) = writer.shared() else {
        return writer.execute_batch("BEGIN IMMEDIATE");
    };
    writer.patient()?;
    reader.patient()?;
    pg.begin()?;
    reader.execute_batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    copy::is_used(reader).map(drop)
}

fn copied_file(reader: &Connection, to: &Path) -> rusqlite::Result<()> {
    let mut copy = Connection::open(to)?;
    Backup::new(reader, &mut copy)?.run_to_completion(PAGES, Duration::ZERO, None)
}

fn copied_rows(reader: &Db, to: &Path) -> Result<(), HubError> {
    let file = StoreFile::at(to, system_clock());
    file.make_private()?;
    let target = file.open()?;
    let transaction = target.begin().map_err(Trouble::from)?;
    copy::all(reader, &target)?;
    transaction.commit().map_err(Trouble::from)?;
    Ok(())
}

/// Makes a copy the store of a place that has none and in whose folder no hub runs. A
/// copy of an earlier version is brought up to this one.
///
/// # Errors
/// When a hub runs there, the copy is of a later version, or cannot be moved, or a database
/// has a workspace already.
pub fn put_back(copy: &Path, place: &StorePlace) -> Result<(), HubError> {
    let dir = place.folder();
    if hub::runs_in(dir)? {
        return Err(HubError::Running(dir.to_owned()));
    }
    let opened = match place.with_clock(system_clock())? {
        Place::File(file) => {
            fs::copy(copy, file.path()).map_err(|source| HubError::Folder {
                path: dir.to_owned(),
                source,
            })?;
            return file.open().map(drop);
        }
        database @ Place::Database(..) => database,
    };
    let (from, target) = (StoreFile::at(copy, system_clock()).open()?, opened.open()?);
    target.patient().map_err(Trouble::from)?;
    let transaction = target.begin().map_err(Trouble::from)?;
    if copy::is_used(&target).map_err(Trouble::from)? {
        return Err(HubError::Taken(opened.shown()));
    }
    copy::all(&from, &target)?;
    transaction.commit().map_err(Trouble::from)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokens;

    #[test]
    fn a_copy_has_what_was_said_and_tokens_only_when_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("hub");
        let place = StorePlace::from(&store);
        assert!(FrozenStore::freeze(&place).unwrap().is_none());
        let first = Tokens::open(&store)
            .unwrap()
            .ensure_repo("app", "app")
            .unwrap();
        for with_tokens in [true, false] {
            let frozen = FrozenStore::freeze(&place).unwrap().unwrap();
            let copy = dir.path().join(format!("copy-{with_tokens}"));
            frozen.copy(&copy, with_tokens).unwrap();
            let place = dir.path().join(format!("hub-{with_tokens}"));
            put_back(&copy, &StorePlace::from(&place)).unwrap();
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
        let frozen = FrozenStore::freeze(&dir.path().into()).unwrap().unwrap();
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
