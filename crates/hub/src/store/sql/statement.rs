//! A statement that is ready to run.

use rusqlite::{
    CachedStatement,
    types::{ToSqlOutput, ValueRef},
};

use super::{
    error::{Error, Result},
    params::Params,
    row::Row,
    value::Value,
};
use crate::store::postgres::Pg;

/// A statement of one connection.
pub(crate) enum Statement<'db> {
    Sqlite(CachedStatement<'db>),
    /// Made ready when its values, and so their types, are known.
    Postgres(&'db Pg, String),
}

impl Statement<'_> {
    /// Runs it; gives how many rows it changed.
    #[expect(clippy::needless_pass_by_value, reason = "callers write `[id]`")]
    pub(crate) fn execute(&mut self, values: impl Params) -> Result<usize> {
        match self {
            Self::Sqlite(statement) => {
                bind(statement, &values)?;
                Ok(statement.raw_execute()?)
            }
            Self::Postgres(pg, sql) => pg.execute(sql, &values),
        }
    }

    /// Its first row.
    #[expect(clippy::needless_pass_by_value, reason = "callers write `[id]`")]
    pub(crate) fn query_row<T>(
        &mut self,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        match self {
            Self::Sqlite(statement) => {
                bind(statement, &values)?;
                let mut rows = statement.raw_query();
                read(&Row::Sqlite(rows.next()?.ok_or(Error::NoRow)?))
            }
            Self::Postgres(pg, sql) => {
                let rows = pg.query(sql, &values)?;
                read(&Row::Postgres(rows.first().ok_or(Error::NoRow)?))
            }
        }
    }

    /// All its rows, one after the other.
    #[expect(clippy::needless_pass_by_value, reason = "callers write `[id]`")]
    pub(crate) fn query_map<T, F>(
        &mut self,
        values: impl Params,
        read: F,
    ) -> Result<MappedRows<'_, F>>
    where
        F: FnMut(&Row<'_>) -> Result<T>,
    {
        let rows = match self {
            Self::Sqlite(statement) => {
                bind(statement, &values)?;
                Rows::Sqlite(statement.raw_query())
            }
            Self::Postgres(pg, sql) => Rows::Postgres(pg.query(sql, &values)?.into_iter()),
        };
        Ok(MappedRows { rows, read })
    }

    /// Whether it has a row.
    pub(crate) fn exists(&mut self, values: impl Params) -> Result<bool> {
        match self.query_row(values, |_| Ok(())) {
            Ok(()) => Ok(true),
            Err(Error::NoRow) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

enum Rows<'s> {
    Sqlite(rusqlite::Rows<'s>),
    Postgres(std::vec::IntoIter<tokio_postgres::Row>),
}

/// Rows as they are read.
pub(crate) struct MappedRows<'s, F> {
    rows: Rows<'s>,
    read: F,
}

impl<T, F: FnMut(&Row<'_>) -> Result<T>> Iterator for MappedRows<'_, F> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.rows {
            Rows::Sqlite(rows) => match rows.next() {
                Ok(row) => Some((self.read)(&Row::Sqlite(row?))),
                Err(error) => Some(Err(error.into())),
            },
            Rows::Postgres(rows) => Some((self.read)(&Row::Postgres(&rows.next()?))),
        }
    }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Value::Null(_) => ValueRef::Null,
            Value::Truth(truth) => ValueRef::Integer(truth.into()),
            Value::Integer(number) => ValueRef::Integer(number),
            Value::Real(number) => ValueRef::Real(number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn bind(statement: &mut rusqlite::Statement<'_>, values: &impl Params) -> Result<()> {
    let (mut given, mut bound) = (0, Ok(()));
    values.each(&mut |value| {
        given += 1;
        if bound.is_ok() {
            bound = statement.raw_bind_parameter(given, value);
        }
    });
    let places = statement.parameter_count();
    match given == places {
        true => Ok(bound?),
        false => Err(Error::Values { given, places }),
    }
}
