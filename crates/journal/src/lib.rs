//! What happened, on disk.
//!
//! A log is a file of lines, each a JSON object with a checksum around one
//! [`Entry`](butler_protocol::Entry). It is only ever appended to, by one owner at
//! a time, and a line is on the disk before [`Journal::append`] returns. Anybody
//! may read it meanwhile: a reader stops at a line that is still being written.
//!
//! What this crate refuses: to cut anything but a torn last line, to write after
//! a write has failed, and to write for an epoch that has been overtaken.

mod dir;
mod error;
mod line;
mod log;
mod pack;
mod read;

pub use dir::{ThreadDir, write_whole};
pub use error::JournalError;
pub use log::{Journal, adopt, is_owned};
pub use pack::Presence;
pub(crate) use read::Tail;
pub use read::{last_entries, read};
