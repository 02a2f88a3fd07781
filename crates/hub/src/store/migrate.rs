//! A workspace moves from its file into a database, also while a hub works with the file.
//!
//! A copy of the file is carried over first, which takes as long as it takes; then nobody
//! can write to the file while what has changed meanwhile follows, which is short. All of it
//! is one transaction of the database. One line in the file says that it has moved: from that
//! commit on nobody writes to it, whoever has it open. Killed before that, the file is in
//! charge and the database is empty; killed right after it, the same command finishes the
//! move. The two are never both in charge.

use std::{fs, path::Path};

use butler_protocol::{Secret, fault};
use rusqlite::Connection;

use crate::{
    error::{HubError, Result, Trouble},
    identity::tokens::random_text,
    store::{
        copy::{self, Copied, Table},
        db::{Db, MOVED_TO},
        file::{MOVED_FILE, STORE_FILE, StoreFile},
        place::StorePlace,
        system_clock,
    },
};

/// The copy that is carried over first, in the hub's folder while that is under way.
const COPY_FILE: &str = "hub.sqlite3.moving";
/// In the database: which move brought the workspace here.
const MOVED_HERE: &str = "moved_here";

/// Moves the workspace of a folder into a database that has none. A hub that runs on the
/// folder ends when it has moved.
///
/// # Errors
/// When there is no workspace or already another one in the database, or a row does not
/// fit; then both are as before.
pub fn migrate(folder: &Path, to: Secret) -> Result<Copied, HubError> {
    let path = [STORE_FILE, MOVED_FILE].map(|name| folder.join(name));
    let Some(path) = path.iter().find(|path| path.exists()) else {
        return Err(HubError::NoWorkspace(folder.to_owned()));
    };
    let from = StoreFile::at(path, system_clock()).open_moved()?;
    let place = StorePlace::new(folder.to_owned(), Some(to)).with_clock(system_clock())?;
    let target = place.open()?;
    target.patient().map_err(Trouble::from)?;
    let used = copy::is_used(&target).map_err(Trouble::from)?;
    let (moved, here) = (from.own_value(MOVED_TO), target.own_value(MOVED_HERE));
    let (moved, here) = (moved.map_err(Trouble::from)?, here.map_err(Trouble::from)?);
    let copied = match (moved, used) {
        (Some(moved), true) if here == Some(moved.clone()) => Copied::default(),
        (_, true) => return Err(HubError::Taken(place.shown())),
        // The last one was killed at the very end; nobody has written since.
        (Some(moved), false) => arrive(&from, &target, &moved)?,
        (None, false) => {
            let copy = folder.join(COPY_FILE);
            forget(folder);
            let before = snapshot(&from, &copy)?;
            let copied = carry_over(&from, &target, before, &copy);
            if copied.is_err() {
                forget(folder);
            }
            copied?
        }
    };
    forget(folder);
    // For people who look, and for a hub that has it open.
    from.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .map_err(Trouble::from)?;
    drop(from);
    let aside = fs::rename(path, folder.join(MOVED_FILE));
    aside.map_err(|source| HubError::Folder {
        path: path.clone(),
        source,
    })?;
    Ok(copied)
}

/// Copies a file that nobody writes to any more.
fn arrive(from: &Db, target: &Db, id: &str) -> Result<Copied> {
    let transaction = target.begin()?;
    let copied = copy::all(from, target)?;
    target.set_own_value(MOVED_HERE, id)?;
    transaction.commit()?;
    Ok(copied)
}

/// Copies a file that somebody may be writing to, and takes it out of use.
fn carry_over(from: &Db, target: &Db, before: Db, copy: &Path) -> Result<Copied> {
    let transaction = target.begin()?;
    let mut copied = copy::all(&before, target)?;
    drop(before);
    fault("hub.before-freeze");
    from.execute("ATTACH ?1 AS copied", [copy.display().to_string()])?;
    let frozen = from.begin()?;
    fault("hub.after-freeze");
    let tables = copy::tables()?;
    for table in tables.iter().rev() {
        follow_deletions(from, target, table)?;
    }
    for table in &tables {
        copied.rows += follow_changes(from, target, table)?;
    }
    copy::go_on_counting(target)?;
    let id = random_text();
    target.set_own_value(MOVED_HERE, &id)?;
    from.set_own_value(MOVED_TO, &id)?;
    frozen.commit()?;
    from.execute_batch("DETACH copied")?;
    fault("hub.before-move");
    transaction.commit()?;
    fault("hub.after-move");
    Ok(copied)
}

/// Removes the copy, also that of a move that was killed.
fn forget(folder: &Path) {
    for end in ["", "-wal", "-shm"] {
        // Where it cannot be removed it is in nobody's way.
        let _ = fs::remove_file(folder.join(format!("{COPY_FILE}{end}")));
    }
}

/// The file as it is now, beside it.
fn snapshot(from: &Db, copy: &Path) -> Result<Db, HubError> {
    let file = StoreFile::at(copy, system_clock());
    file.make_private()?;
    let taken = || -> rusqlite::Result<()> {
        let mut to = Connection::open(copy)?;
        if let Some(from) = from.sqlite() {
            rusqlite::backup::Backup::new(from, &mut to)?.step(-1)?;
        }
        Ok(())
    };
    taken().map_err(|source| HubError::Store {
        path: copy.to_owned(),
        source: source.into(),
    })?;
    file.open()
}

/// Rows that are gone since the copy was taken.
fn follow_deletions(from: &Db, target: &Db, table: &Table) -> Result<()> {
    let (name, keys) = (&table.name, table.keys.join(", "));
    let mut gone = from.prepare_cached(&format!(
        "SELECT {keys} FROM copied.{name} EXCEPT SELECT {keys} FROM main.{name}"
    ))?;
    let gone = gone.query_map([], |row| copy::cells(row, table.keys.len()))?;
    let places: Vec<String> = (1..)
        .zip(&table.keys)
        .map(|(at, key)| format!("{key} = ?{at}"))
        .collect();
    let mut delete = target.prepare_cached(&format!(
        "DELETE FROM {name} WHERE {}",
        places.join(" AND ")
    ))?;
    for row in gone {
        delete.execute(row?)?;
    }
    Ok(())
}

/// Rows that are new or otherwise since the copy was taken.
fn follow_changes(from: &Db, target: &Db, table: &Table) -> Result<usize> {
    let (name, columns) = (&table.name, table.columns.join(", "));
    let mut changed = from.prepare_cached(&format!(
        "SELECT {columns} FROM main.{name} EXCEPT SELECT {columns} FROM copied.{name}"
    ))?;
    let changed = changed.query_map([], |row| copy::cells(row, table.columns.len()))?;
    let others = table.columns.iter();
    let others = others.filter(|column| !table.keys.contains(column));
    let others: Vec<String> = others
        .map(|column| format!("{column} = excluded.{column}"))
        .collect();
    let action = match others.is_empty() {
        true => "NOTHING".to_owned(),
        false => format!("UPDATE SET {}", others.join(", ")),
    };
    let keys = table.keys.join(", ");
    let mut upsert = target.prepare_cached(&format!(
        "{} ON CONFLICT ({keys}) DO {action}",
        table.insert()
    ))?;
    let mut count = 0;
    for row in changed {
        upsert.execute(row?)?;
        count += 1;
    }
    Ok(count)
}
