//! The looks at the forge: at open pull requests, at issues, and the pause between them.

pub(crate) mod issue_watch;
pub(crate) mod pull_watch;
mod wake;
