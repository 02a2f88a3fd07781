//! The values of a statement, in the ways in which callers have them at hand.

use super::value::{ToSql, Value};

/// Values, in the order of their numbers.
pub(crate) trait Params {
    fn each<'a>(&'a self, take: &mut dyn FnMut(Value<'a>));
}

/// What takes places in a statement: one, but for what is kept in several columns.
pub(crate) trait Places {
    fn each<'a>(&'a self, take: &mut dyn FnMut(Value<'a>));
}

impl<T: ToSql> Places for T {
    fn each<'a>(&'a self, take: &mut dyn FnMut(Value<'a>)) {
        take(self.to_value());
    }
}

/// Values of different types.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$(&$value as &dyn $crate::store::sql::Places),*]
            as &[&dyn $crate::store::sql::Places]
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

impl Params for &[&dyn Places] {
    fn each<'a>(&'a self, take: &mut dyn FnMut(Value<'a>)) {
        self.iter().for_each(|value| value.each(take));
    }
}

/// None: `[]`.
impl Params for [&(dyn ToSql + Send + Sync); 0] {
    fn each<'a>(&'a self, _take: &mut dyn FnMut(Value<'a>)) {}
}

/// A list of any length would make `[]` ambiguous.
macro_rules! lists {
    ($($length:literal),*) => {$(
        impl<T: Places> Params for [T; $length] {
            fn each<'a>(&'a self, take: &mut dyn FnMut(Value<'a>)) {
                self.iter().for_each(|value| value.each(take));
            }
        }
    )*};
}
lists!(1, 2, 3, 4);
