//! How the hub speaks SQL: statements, their values and their rows, the same for every
//! engine. Everything outside `store` uses these names only, so that a statement is
//! written once and does not know what runs it.
//!
//! A statement is written as SQLite reads it, with `?1` for its first value, and keeps
//! to what PostgreSQL reads as well (`docs/decisions/0068`).

mod error;
mod from_row;
mod ours;
mod params;
mod row;
mod statement;
mod value;

pub(crate) use self::{
    error::{Error, Result},
    from_row::{FromRow, from_row},
    ours::Known,
    params::{Listed, Params, Places, params, params_from_iter},
    row::Row,
    statement::Statement,
    value::{FromSql, Kind, ToSql, Value},
};
