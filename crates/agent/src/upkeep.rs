//! What nobody asks for and somebody has to do: garbage, pruning, overlaps, history.

pub(crate) mod conflict;
pub(crate) mod digests;
pub(crate) mod forge;
pub(crate) mod garbage;
pub(crate) mod growing;
pub(crate) mod history;
pub(crate) mod overlap;
pub(crate) mod playbook_cache;
pub(crate) mod pruning;
pub(crate) mod rules_in_force;
pub(crate) mod servers;
pub(crate) mod stories;
pub(crate) mod tree;
pub(crate) mod trials;
pub(crate) mod work_so_far;

pub(crate) use forge::{pull_news, pull_page};
