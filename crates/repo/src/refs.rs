//! What is kept on the remote or under refs of our own, and how it gets there.

pub(crate) mod journal_ref;
pub(crate) mod knowledge;
pub(crate) mod one_file;
pub(crate) mod push;
pub(crate) mod save;
