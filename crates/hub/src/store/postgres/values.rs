//! Values on their way to PostgreSQL and back. A number goes as 64 bits, and a truth
//! takes the type that its place in the statement has.

use std::error::Error;

use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, private::BytesMut};

use crate::store::sql::{Kind, Value};

type Boxed = Box<dyn Error + Sync + Send>;

/// The type as which a value is announced.
pub(super) fn of(value: &Value<'_>) -> Type {
    match value {
        Value::Null(Kind::Truth) | Value::Truth(_) => Type::UNKNOWN,
        Value::Null(Kind::Integer) | Value::Integer(_) => Type::INT8,
        Value::Real(_) => Type::FLOAT8,
        Value::Null(Kind::Text) | Value::Text(_) => Type::TEXT,
        Value::Null(Kind::Blob) | Value::Blob(_) => Type::BYTEA,
    }
}

pub(super) fn places<'a>(values: &'a [Value<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    let place = |value: &'a Value<'_>| value as &(dyn ToSql + Sync);
    values.iter().map(place).collect()
}

impl ToSql for Value<'_> {
    fn to_sql(&self, place: &Type, out: &mut BytesMut) -> Result<IsNull, Boxed> {
        match *self {
            Value::Null(_) => return Ok(IsNull::Yes),
            Value::Truth(truth) if *place == Type::BOOL => return truth.to_sql(place, out),
            Value::Truth(truth) => i64::from(truth).to_sql(place, out)?,
            Value::Integer(number) => number.to_sql(place, out)?,
            Value::Real(number) => number.to_sql(place, out)?,
            // Its text has no place for this one character.
            Value::Text(text) if text.contains('\0') => {
                text.replace('\0', "\u{fffd}").to_sql(place, out)?
            }
            Value::Text(text) => text.to_sql(place, out)?,
            Value::Blob(bytes) => bytes.to_sql(place, out)?,
        };
        Ok(IsNull::No)
    }

    fn accepts(_place: &Type) -> bool {
        true
    }

    tokio_postgres::types::to_sql_checked!();
}

impl<'a> FromSql<'a> for Value<'a> {
    fn from_sql(column: &Type, raw: &'a [u8]) -> Result<Self, Boxed> {
        Ok(match *column {
            Type::BOOL => Value::Truth(bool::from_sql(column, raw)?),
            Type::INT8 => Value::Integer(i64::from_sql(column, raw)?),
            Type::INT4 => Value::Integer(i32::from_sql(column, raw)?.into()),
            Type::INT2 => Value::Integer(i16::from_sql(column, raw)?.into()),
            Type::FLOAT8 => Value::Real(f64::from_sql(column, raw)?),
            Type::BYTEA => Value::Blob(raw),
            Type::NUMERIC => Value::Integer(whole(raw).ok_or("a number that is not whole")?),
            _ => Value::Text(std::str::from_utf8(raw)?),
        })
    }

    fn from_sql_null(_column: &Type) -> Result<Self, Boxed> {
        Ok(Value::Null(Kind::Text))
    }

    fn accepts(_column: &Type) -> bool {
        true
    }
}

/// A whole number from PostgreSQL's decimal form, as which it gives sums: four words of
/// head (count, weight, sign, scale), then digits to the base of 10,000.
fn whole(raw: &[u8]) -> Option<i64> {
    let words: Vec<i64> = raw
        .chunks_exact(2)
        .map(|two| i16::from_be_bytes([two[0], two[1]]).into())
        .collect();
    let (head, digits) = words.split_at_checked(4)?;
    let mut number: i64 = 0;
    for at in 0..=head[1] {
        let digit = usize::try_from(at).ok().and_then(|at| digits.get(at));
        number = number
            .checked_mul(10_000)?
            .checked_add(*digit.unwrap_or(&0))?;
    }
    match head[2] {
        0 => Some(number),
        0x4000 => Some(-number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_come_back_as_whole_numbers() {
        let raw =
            |words: &[i16]| -> Vec<u8> { words.iter().flat_map(|w| w.to_be_bytes()).collect() };
        assert_eq!(whole(&raw(&[0, 0, 0, 0])), Some(0));
        assert_eq!(whole(&raw(&[2, 1, 0, 0, 1, 2345])), Some(12_345));
        assert_eq!(whole(&raw(&[1, 2, 0x4000, 0, 7])), Some(-700_000_000));
        assert_eq!(whole(&raw(&[0])), None);
    }
}
