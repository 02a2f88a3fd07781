//! Text for people: numbers, names that were meant, names of people, characters that hide.

pub(crate) mod count;
pub(crate) mod nearest;
pub(crate) mod person;
pub(crate) mod visible;
pub(crate) mod words;
