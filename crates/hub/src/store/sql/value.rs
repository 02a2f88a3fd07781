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

/// What is written as one value, and what is read from one.
macro_rules! values {
    ($($written:ty, $kind:ident: |$own:ident| $value:expr;)*) => {$(
        impl ToSql for $written {
            fn to_value(&self) -> Value<'_> {
                let $own = self;
                $value
            }
        }

        impl Typed for $written {
            const KIND: Kind = Kind::$kind;
        }
    )*};
    ($($read:ty, $name:literal: $($value:pat => $own:expr),+;)*) => {$(
        impl FromSql for $read {
            const NAME: &'static str = $name;
            fn from_value(value: Value<'_>) -> Option<Self> {
                match value {
                    $($value => Some($own),)+
                    _ => None,
                }
            }
        }
    )*};
}

values! {
    // What is greater than any number there is the greatest.
    u64, Integer: |own| Value::Integer(i64::try_from(*own).unwrap_or(i64::MAX));
    usize, Integer: |own| Value::Integer(i64::try_from(*own).unwrap_or(i64::MAX));
    bool, Truth: |own| Value::Truth(*own);
    str, Text: |own| Value::Text(own);
    String, Text: |own| Value::Text(own);
    Cow<'_, str>, Text: |own| Value::Text(own);
    [u8], Blob: |own| Value::Blob(own);
    Vec<u8>, Blob: |own| Value::Blob(own);
}
values! {
    bool, "a truth": Value::Integer(number) => number != 0, Value::Truth(truth) => truth;
    String, "text": Value::Text(text) => text.to_owned();
    Vec<u8>, "bytes": Value::Blob(bytes) => bytes.to_owned();
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
