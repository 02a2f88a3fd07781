//! Slack's own text format, `mrkdwn`: what models write is turned into it, what
//! people write is read from it, and long text is cut where it does not hurt.

mod escape;
mod markdown;
mod plain;
mod split;
mod table;

pub use escape::{escape, unescape};
pub use markdown::from_markdown;
pub use plain::plain;
pub use split::{LIMIT, split};

/// Code of so many lines is a file.
pub const LONG_CODE: usize = 20;
