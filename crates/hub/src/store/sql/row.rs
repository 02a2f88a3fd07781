//! One row of an answer.

use rusqlite::types::ValueRef;

use super::{
    error::{Error, Result},
    value::{FromSql, Kind, Value},
};

/// A row, while its statement is read.
pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a tokio_postgres::Row),
}

impl Row<'_> {
    /// A column, counted from zero.
    pub(crate) fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        let value = match self {
            Self::Sqlite(row) => of_sqlite(row.get_ref(column)?)?,
            Self::Postgres(row) => row.try_get(column)?,
        };
        T::from_value(value).ok_or_else(|| Error::Column {
            column,
            found: value.name(),
            wanted: T::NAME,
        })
    }
}

fn of_sqlite(value: ValueRef<'_>) -> Result<Value<'_>> {
    Ok(match value {
        ValueRef::Null => Value::Null(Kind::Text),
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) => Value::Text(
            std::str::from_utf8(bytes).map_err(|error| rusqlite::Error::Utf8Error(0, error))?,
        ),
        ValueRef::Blob(bytes) => Value::Blob(bytes),
    })
}
