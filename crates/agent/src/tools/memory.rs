//! The tools that change what the team remembers: learnings, and the project maps of
//! the workflow `learn`, which the texts that need them bring.

pub(super) mod learn_repo;
pub(super) mod look_back;
pub(super) mod propose_learnings;
pub(super) mod save_map;
