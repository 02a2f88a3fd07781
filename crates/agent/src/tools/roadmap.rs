//! What the PM does with the roadmap: changing it, and having it built.

pub(super) mod change;
pub(super) mod develop;
