//! What happens on the forge itself: issues, pull requests, releases; and the patience with it.

pub(super) mod issue;
pub(super) mod patience;
pub(super) mod pull;
pub(super) mod release;
