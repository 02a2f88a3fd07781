//! Whole rows, for statements whose columns are read in their order: as tuples, as
//! structs (`from_row!`), and as what is made of both.

use super::{Error, FromSql, Params, Result, Row};
use crate::{error::Trouble, store::Db};

/// What can be read from a row, from a column on; `at` is the next one then.
pub(crate) trait FromRow: Sized {
    fn from_row(row: &Row<'_>, at: &mut usize) -> Result<Self>;
}

impl<T: FromSql> FromRow for T {
    fn from_row(row: &Row<'_>, at: &mut usize) -> Result<Self> {
        let value = row.get(*at)?;
        *at += 1;
        Ok(value)
    }
}

macro_rules! tuples {
    ($($($part:ident)+;)*) => {$(
        impl<$($part: FromRow),+> FromRow for ($($part,)+) {
            fn from_row(row: &Row<'_>, at: &mut usize) -> Result<Self> {
                Ok(($($part::from_row(row, at)?,)+))
            }
        }
    )*};
}

tuples! {
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}

/// Two columns that say something only together.
impl<A: FromSql, B: FromSql> FromRow for Option<(A, B)> {
    fn from_row(row: &Row<'_>, at: &mut usize) -> Result<Self> {
        let (one, other): (Option<A>, Option<B>) = FromRow::from_row(row, at)?;
        Ok(one.zip(other))
    }
}

/// Texts only.
impl<const N: usize> FromRow for [String; N] {
    fn from_row(row: &Row<'_>, at: &mut usize) -> Result<Self> {
        let mut columns = [const { String::new() }; N];
        for column in &mut columns {
            *column = FromRow::from_row(row, at)?;
        }
        Ok(columns)
    }
}

/// Reads a struct from columns in the order of the fields that are named; the others
/// are what is said of them.
macro_rules! from_row {
    ($name:ident: $($field:ident),+ $(; $($rest:ident: $value:expr),+)?) => {
        impl $crate::store::sql::FromRow for $name {
            fn from_row(
                row: &$crate::store::sql::Row<'_>,
                at: &mut usize,
            ) -> $crate::store::sql::Result<Self> {
                Ok(Self {
                    $($field: $crate::store::sql::FromRow::from_row(row, at)?,)+
                    $($($rest: $value,)+)?
                })
            }
        }
    };
}
pub(crate) use from_row;

impl Db {
    /// Every row of a statement.
    pub(crate) fn rows<T: FromRow>(&self, sql: &str, values: impl Params) -> Result<Vec<T>> {
        let mut statement = self.prepare_cached(sql)?;
        statement
            .query_map(values, |row| T::from_row(row, &mut 0))?
            .collect()
    }

    /// The row of a statement that always has one.
    pub(crate) fn one<T: FromRow>(&self, sql: &str, values: impl Params) -> Result<T> {
        self.query_row(sql, values, |row| T::from_row(row, &mut 0))
    }

    /// Its first row, if there is one.
    pub(crate) fn first<T: FromRow>(&self, sql: &str, values: impl Params) -> Result<Option<T>> {
        match self.one(sql, values) {
            Err(Error::NoRow) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Whether it has a row.
    pub(crate) fn has(&self, sql: &str, values: impl Params) -> Result<bool> {
        self.prepare_cached(sql)?.exists(values)
    }

    /// Runs a statement, whatever it changes.
    pub(crate) fn run(&self, sql: &str, values: impl Params) -> Result<(), Trouble> {
        self.execute(sql, values)?;
        Ok(())
    }
}
