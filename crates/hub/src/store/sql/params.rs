//! The values of a statement, in the ways in which callers have them at hand.

use super::value::{ToSql, Value};

/// Values, in the order of their numbers.
pub(crate) trait Params {
    fn each<'a>(&'a self, take: &mut dyn FnMut(Value<'a>));
}

/// Values of different types.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$(&$value as &dyn $crate::store::sql::ToSql),*] as &[&dyn $crate::store::sql::ToSql]
    };
}
pub(crate) use params;

/// Values that come one after the other.
pub(crate) fn params_from_iter<T: ToSql>(values: impl IntoIterator<Item = T>) -> Listed<T> {
    Listed(values.into_iter().collect())
}

/// See [`params_from_iter`].
pub(crate) struct Listed<T>(Vec<T>);

impl<T: ToSql> Params for Listed<T> {
    fn each<'a>(&'a self, take: &mut dyn FnMut(Value<'a>)) {
        self.0.iter().for_each(|value| take(value.to_value()));
    }
}

impl Params for &[&dyn ToSql] {
    fn each<'a>(&'a self, take: &mut dyn FnMut(Value<'a>)) {
        self.iter().for_each(|value| take(value.to_value()));
    }
}

/// None: `[]`.
impl Params for [&(dyn ToSql + Send + Sync); 0] {
    fn each<'a>(&'a self, _take: &mut dyn FnMut(Value<'a>)) {}
}

/// A list of any length would make `[]` ambiguous.
macro_rules! lists {
    ($($length:literal),*) => {$(
        impl<T: ToSql> Params for [T; $length] {
            fn each<'a>(&'a self, take: &mut dyn FnMut(Value<'a>)) {
                self.iter().for_each(|value| take(value.to_value()));
            }
        }

        impl<T: ToSql> Params for &[T; $length] {
            fn each<'a>(&'a self, take: &mut dyn FnMut(Value<'a>)) {
                self.iter().for_each(|value| take(value.to_value()));
            }
        }
    )*};
}
lists!(1, 2, 3, 4);
