//! Text for people: names that were meant, characters that hide.

pub(crate) mod nearest;
pub(crate) mod visible;
