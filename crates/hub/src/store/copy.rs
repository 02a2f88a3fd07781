//! Rows from one store to another, whatever engine they are in: into a database, into a file
//! for a backup, and back.

use rusqlite::Connection;

use crate::{
    error::Result,
    store::{
        Db, FromSql, Row, params,
        sql::{self, Kind, Listed, ToSql, Value, params_from_iter},
        versions,
    },
};

/// Tables that others point to; they go first.
const FIRST: &[&str] = &["people", "channels", "agents", "events"];
/// Rows that are fetched from a database at a time; one may be a file of some megabytes.
const FETCHED: usize = 100;

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// Tables with something in them.
    pub tables: usize,
    /// Rows of all of them.
    pub rows: usize,
}

/// A table, as it is in both engines.
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    /// The columns that a row is found by.
    pub(super) keys: Vec<String>,
}

impl Table {
    pub(super) fn insert(&self) -> String {
        let places: Vec<String> = (1..=self.columns.len())
            .map(|at| format!("?{at}"))
            .collect();
        let (name, columns) = (&self.name, self.columns.join(", "));
        format!(
            "INSERT INTO {name} ({columns}) VALUES ({})",
            places.join(", ")
        )
    }
}

/// The tables of this build, those that others point to first. The words that are searched
/// are found anew from the messages.
pub(super) fn tables() -> sql::Result<Vec<Table>> {
    let schema = Connection::open_in_memory()?;
    versions::bring_up(&schema)?;
    let texts = |sql: &str| -> sql::Result<Vec<String>> {
        let mut statement = schema.prepare(sql)?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    };
    let mut names = texts(
        "SELECT name FROM sqlite_master WHERE type = 'table'
           AND name NOT LIKE 'search%' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )?;
    let place = |name: &String| FIRST.iter().position(|first| *first == name.as_str());
    names.sort_by_key(|name| place(name).unwrap_or(FIRST.len()));
    let table = |name: String| {
        let info = format!("SELECT name FROM pragma_table_info('{name}')");
        Ok(Table {
            columns: texts(&info)?,
            keys: texts(&format!("{info} WHERE pk > 0 ORDER BY pk"))?,
            name,
        })
    };
    names.into_iter().map(table).collect()
}

/// Whether a store has a workspace.
pub(super) fn is_used(db: &Db) -> sql::Result<bool> {
    let used = "SELECT EXISTS (SELECT 1 FROM people) OR EXISTS (SELECT 1 FROM channels)";
    db.one(used, [])
}

/// Copies everything into a store that has nothing, in the transaction of the caller.
pub(super) fn all(from: &Db, target: &Db) -> Result<Copied> {
    let mut copied = Copied::default();
    for table in tables()? {
        let rows = rows(from, target, &table)?;
        copied.tables += usize::from(rows > 0);
        copied.rows += rows;
    }
    go_on_counting(target)?;
    Ok(copied)
}

fn rows(from: &Db, target: &Db, table: &Table) -> sql::Result<usize> {
    let mut insert = target.prepare_cached(&table.insert())?;
    let (name, columns) = (&table.name, table.columns.join(", "));
    let select = format!("SELECT {columns} FROM {name}");
    // A database gives all its rows at once where it is not asked for some.
    let fetch = match from.shared() {
        None => select,
        Some(_) => {
            let declare = format!("DECLARE rows_{name} NO SCROLL CURSOR FOR {select}");
            from.execute(&declare, [])?;
            format!("FETCH {FETCHED} FROM rows_{name}")
        }
    };
    let (mut copied, mut fetched) = (0, FETCHED);
    while fetched == FETCHED {
        fetched = 0;
        let mut statement = from.prepare_cached(&fetch)?;
        for row in statement.query_map([], |row| cells(row, table.columns.len()))? {
            insert.execute(row?)?;
            fetched += 1;
        }
        copied += fetched;
        if from.shared().is_none() {
            break;
        }
    }
    Ok(copied)
}

/// Numbers that a database gives go on where the others ended.
pub(super) fn go_on_counting(target: &Db) -> Result<()> {
    if target.shared().is_none() {
        return Ok(());
    }

    for (table, column) in target.rows::<(String, String)>(
        "SELECT table_name, column_name FROM information_schema.columns
         WHERE table_schema = current_schema() AND is_identity = 'YES' AND table_name <> 'wakes'",
        params![],
    )? {
        let sql = format!(
            "SELECT setval(pg_get_serial_sequence('{table}', '{column}'),
               (SELECT coalesce(max({column}), 0) + 1 FROM {table}), false)"
        );
        target.query_row(&sql, [], |_| Ok(()))?;
    }
    Ok(())
}

/// The values of a row.
pub(super) fn cells(row: &Row<'_>, count: usize) -> sql::Result<Listed<Cell>> {
    let cells = (0..count).map(|at| row.get(at));
    let cells: Vec<Cell> = cells.collect::<sql::Result<_>>()?;
    Ok(params_from_iter(cells))
}

/// A value as it stands in a column, whatever it is.
pub(super) enum Cell {
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
