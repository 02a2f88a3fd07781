//! What happens on GitHub itself: issues, pull requests, releases.

pub(super) mod issue;
pub(super) mod pull;
pub(super) mod release;
