//! What stands in a column or takes a place in a statement, and the types of Rust that
//! become one or are read from one.

use std::borrow::Cow;

/// One value, borrowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'a> {
    /// Nothing, and of which type it would be.
    Null(Kind),
    /// A truth; columns keep it as 0 or 1.
    Truth(bool),
    Integer(i64),
    Real(f64),
    Text(&'a str),
    Blob(&'a [u8]),
}

impl Value<'_> {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Null(_) => "nothing",
            Self::Truth(_) => "a truth",
            Self::Integer(_) => "an integer",
            Self::Real(_) => "a real number",
            Self::Text(_) => "text",
            Self::Blob(_) => "bytes",
        }
    }
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Truth,
    Integer,
    Text,
    Blob,
}

/// Has always the same type.
pub(crate) trait Typed {
    const KIND: Kind;
}

/// Takes a place in a statement.
pub(crate) trait ToSql {
    fn to_value(&self) -> Value<'_>;
}

/// Is read from a column; gives nothing when the column holds something else.
pub(crate) trait FromSql: Sized {
    const NAME: &'static str;
    fn from_value(value: Value<'_>) -> Option<Self>;
}

macro_rules! integers {
    ($($written:ty),*; $($read:ty),*) => {
        $(impl ToSql for $written {
            fn to_value(&self) -> Value<'_> {
                Value::Integer(i64::from(*self))
            }
        }

        impl Typed for $written {
            const KIND: Kind = Kind::Integer;
        })*
        $(impl FromSql for $read {
            const NAME: &'static str = "an integer";
            fn from_value(value: Value<'_>) -> Option<Self> {
                match value {
                    Value::Integer(number) => Self::try_from(number).ok(),
                    Value::Truth(truth) => Some(truth.into()),
                    _ => None,
                }
            }
        })*
    };
}
integers!(i64, i32, u32, u16, u8; i64, i32, u32, u16, u64, usize);

macro_rules! counts {
    ($($written:ty),*) => {$(
        /// What is greater than any number there is the greatest.
        impl ToSql for $written {
            fn to_value(&self) -> Value<'_> {
                Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }

        impl Typed for $written {
            const KIND: Kind = Kind::Integer;
        }
    )*};
}
counts!(u64, usize);

impl ToSql for bool {
    fn to_value(&self) -> Value<'_> {
        Value::Truth(*self)
    }
}

impl Typed for bool {
    const KIND: Kind = Kind::Truth;
}

impl FromSql for bool {
    const NAME: &'static str = "a truth";
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Integer(number) => Some(number != 0),
            Value::Truth(truth) => Some(truth),
            _ => None,
        }
    }
}

impl ToSql for str {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl Typed for str {
    const KIND: Kind = Kind::Text;
}

impl Typed for String {
    const KIND: Kind = Kind::Text;
}

impl Typed for Cow<'_, str> {
    const KIND: Kind = Kind::Text;
}

impl ToSql for String {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl ToSql for Cow<'_, str> {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl FromSql for String {
    const NAME: &'static str = "text";
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl ToSql for [u8] {
    fn to_value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl Typed for [u8] {
    const KIND: Kind = Kind::Blob;
}

impl Typed for Vec<u8> {
    const KIND: Kind = Kind::Blob;
}

impl ToSql for Vec<u8> {
    fn to_value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl FromSql for Vec<u8> {
    const NAME: &'static str = "bytes";
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Blob(bytes) => Some(bytes.to_owned()),
            _ => None,
        }
    }
}

impl<T: ToSql + Typed> ToSql for Option<T> {
    fn to_value(&self) -> Value<'_> {
        let nothing = Value::Null(T::KIND);
        self.as_ref().map_or(nothing, ToSql::to_value)
    }
}

impl<T: FromSql> FromSql for Option<T> {
    const NAME: &'static str = T::NAME;
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Null(_) => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl<T: Typed + ?Sized> Typed for &T {
    const KIND: Kind = T::KIND;
}

impl<T: ToSql + ?Sized> ToSql for &T {
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}
