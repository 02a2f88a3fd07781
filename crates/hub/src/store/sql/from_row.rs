//! Whole rows as tuples, for statements whose columns are read in their order.

use super::{FromSql, OptionalExtension, Params, Result, Row};
use crate::store::db::Db;

/// What a whole row can be read as.
pub(crate) trait FromRow: Sized {
    fn from_row(row: &Row<'_>) -> Result<Self>;
}

macro_rules! tuples {
    ($($($column:ident $at:literal),+;)*) => {$(
        impl<$($column: FromSql),+> FromRow for ($($column,)+) {
            fn from_row(row: &Row<'_>) -> Result<Self> {
                Ok(($(row.get($at)?,)+))
            }
        }
    )*};
}

tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
}

/// Texts only.
impl<const N: usize> FromRow for [String; N] {
    fn from_row(row: &Row<'_>) -> Result<Self> {
        let mut columns = [const { String::new() }; N];
        for (at, column) in columns.iter_mut().enumerate() {
            *column = row.get(at)?;
        }
        Ok(columns)
    }
}

impl Db {
    /// Every row of a statement.
    pub(crate) fn rows<T: FromRow>(&self, sql: &str, values: impl Params) -> Result<Vec<T>> {
        let mut statement = self.prepare_cached(sql)?;
        statement.query_map(values, T::from_row)?.collect()
    }

    /// Its first row, if there is one.
    pub(crate) fn first<T: FromRow>(&self, sql: &str, values: impl Params) -> Result<Option<T>> {
        self.query_row(sql, values, T::from_row).optional()
    }
}
