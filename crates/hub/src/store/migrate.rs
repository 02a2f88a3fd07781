//! A workspace moves from its file into a database. All of it or nothing: the rows go over
//! in one transaction, while nobody can write to the file, which is put aside at the end so
//! that no hub goes on with it.

use std::{fs, path::Path};

use butler_protocol::Secret;

use crate::{
    error::{HubError, Trouble},
    hub,
    store::{
        db::{Db, system_clock},
        file::{MOVED_FILE, STORE_FILE, StoreFile},
        place::StorePlace,
        sql::{FromSql, Kind, ToSql, Value, params, params_from_iter},
    },
};

/// Tables that others point to; they go first.
const FIRST: &[&str] = &["people", "channels", "agents", "events"];

/// What has moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// Tables with something in them.
    pub tables: usize,
    /// Rows of all of them.
    pub rows: usize,
}

/// Moves the workspace of a folder in which no hub runs into a database that has none.
///
/// # Errors
/// When a hub runs, there is no workspace or already one in the database, or a row does
/// not fit; then both are as before.
pub fn migrate(folder: &Path, to: Secret) -> Result<Moved, HubError> {
    if hub::runs_in(folder)? {
        return Err(HubError::Running(folder.to_owned()));
    }
    let file = folder.join(STORE_FILE);
    if !file.exists() {
        return Err(HubError::NoWorkspace(folder.to_owned()));
    }
    let from = StoreFile::in_folder(folder, system_clock())?.open()?;
    let place = StorePlace::new(folder.to_owned(), Some(to)).with_clock(system_clock())?;
    let target = place.open()?;
    let moved = copy_all(&from, &target)?;
    let Some(moved) = moved else {
        return Err(HubError::Taken(place.shown()));
    };
    drop(from);
    let aside = fs::rename(&file, folder.join(MOVED_FILE));
    aside.map_err(|source| HubError::Folder { path: file, source })?;
    Ok(moved)
}

/// Nothing when the target has a workspace already.
fn copy_all(from: &Db, target: &Db) -> Result<Option<Moved>, Trouble> {
    let _frozen = from.begin()?;
    let transaction = target.begin()?;
    let used = "SELECT EXISTS (SELECT 1 FROM people) OR EXISTS (SELECT 1 FROM channels)";
    if target.query_row(used, [], |row| row.get(0))? {
        return Ok(None);
    }
    let mut moved = Moved { tables: 0, rows: 0 };
    for table in tables(from)? {
        let rows = copy(from, target, &table)?;
        moved.tables += usize::from(rows > 0);
        moved.rows += rows;
    }
    go_on_counting(target)?;
    transaction.commit()?;
    Ok(Some(moved))
}

/// The words that are searched are found anew from the messages.
fn tables(from: &Db) -> Result<Vec<String>, Trouble> {
    let mut statement = from.prepare_cached(
        "SELECT name FROM sqlite_master WHERE type = 'table'
           AND name NOT LIKE 'search%' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )?;
    let rows = statement.query_map([], |row| row.get(0))?;
    let mut found: Vec<String> = rows.collect::<Result<_, _>>()?;
    let place = |name: &String| FIRST.iter().position(|first| *first == name.as_str());
    found.sort_by_key(|name| place(name).unwrap_or(FIRST.len()));
    Ok(found)
}

fn copy(from: &Db, target: &Db, table: &str) -> Result<usize, Trouble> {
    let mut statement = from.prepare_cached("SELECT name FROM pragma_table_info(?1)")?;
    let columns = statement.query_map([table], |row| row.get(0))?;
    let columns: Vec<String> = columns.collect::<Result<_, _>>()?;
    let names = columns.join(", ");
    let places: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
    let insert = format!(
        "INSERT INTO {table} ({names}) VALUES ({})",
        places.join(", ")
    );
    let mut insert = target.prepare_cached(&insert)?;
    let mut statement = from.prepare_cached(&format!("SELECT {names} FROM {table}"))?;
    let rows = statement.query_map([], |row| {
        let cells = (0..columns.len()).map(|at| row.get(at));
        cells.collect::<Result<Vec<Cell>, _>>()
    })?;
    let mut copied = 0;
    for row in rows {
        insert.execute(params_from_iter(row?))?;
        copied += 1;
    }
    Ok(copied)
}

/// Numbers that the database gives go on where the file's ended.
fn go_on_counting(target: &Db) -> Result<(), Trouble> {
    let mut statement = target.prepare_cached(
        "SELECT table_name, column_name FROM information_schema.columns
         WHERE table_schema = current_schema() AND is_identity = 'YES' AND table_name <> 'wakes'",
    )?;
    let counted = statement.query_map(params![], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    for one in counted {
        let (table, column) = one?;
        let sql = format!(
            "SELECT setval(pg_get_serial_sequence('{table}', '{column}'),
               (SELECT coalesce(max({column}), 0) + 1 FROM {table}), false)"
        );
        target.query_row(&sql, [], |_| Ok(()))?;
    }
    Ok(())
}

/// A value as it stands in a column, whatever it is.
enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl FromSql for Cell {
    const NAME: &'static str = "anything";

    fn from_value(value: Value<'_>) -> Option<Self> {
        Some(match value {
            Value::Null(_) => Self::Null,
            Value::Truth(truth) => Self::Integer(truth.into()),
            Value::Integer(number) => Self::Integer(number),
            Value::Real(number) => Self::Real(number),
            Value::Text(text) => Self::Text(text.to_owned()),
            Value::Blob(bytes) => Self::Blob(bytes.to_owned()),
        })
    }
}

impl ToSql for Cell {
    fn to_value(&self) -> Value<'_> {
        match self {
            // Of the type that its column has.
            Self::Null => Value::Null(Kind::Truth),
            Self::Integer(number) => Value::Integer(*number),
            Self::Real(number) => Value::Real(*number),
            Self::Text(text) => Value::Text(text),
            Self::Blob(bytes) => Value::Blob(bytes),
        }
    }
}
