//! Text for people: names that were meant, names of people, characters that hide.

pub(crate) mod nearest;
pub(crate) mod person;
pub(crate) mod visible;
