//! Decision cards, and what a person's decision sets in motion: plans, merges, learnings.

pub(crate) mod blocked_merge;
pub(crate) mod cards;
pub(crate) mod evidence;
pub(crate) mod fast_track;
pub(crate) mod from_forge;
pub(crate) mod knowledge;
pub(crate) mod learnings;
pub(crate) mod maps;
pub(crate) mod merge;
pub(crate) mod outcomes;
pub(crate) mod person_actions;
pub(crate) mod remember;
pub(crate) mod review;
pub(crate) mod roadmap;
pub(crate) mod surface;
