//! Commits: made, compared, counted, squashed.

pub(crate) mod commit;
pub(crate) mod diff;
mod lfs;
pub(crate) mod merged;
pub(crate) mod sign_off;
pub(crate) mod since;
pub(crate) mod squash;
pub(crate) mod stat;
pub(crate) mod tree;
