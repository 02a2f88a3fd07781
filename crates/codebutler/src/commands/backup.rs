//! `codebutler backup` and `codebutler restore`: the conversations and the logs of
//! a repo's threads in one file, taken while the team works, and put back here or
//! on another machine.

mod archive;
mod copy;
pub(crate) mod restore;
pub(crate) mod save;
