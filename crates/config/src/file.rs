//! One file: read with the lines of its keys, checked, edited.

pub(crate) mod check;
pub(crate) mod document;
pub(crate) mod edit;
pub(crate) mod format;
pub(crate) mod path;
pub(crate) mod problem;
pub(crate) mod read;
pub(crate) mod removed;
pub(crate) mod variables;
