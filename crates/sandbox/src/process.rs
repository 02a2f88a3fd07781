//! The caller's side of a running command: helpers, cells, output.

pub(crate) mod cell;
pub(crate) mod cgroup;
pub(crate) mod helper_pool;
pub(crate) mod output;
pub(crate) mod run;
pub(crate) mod shown;
pub(crate) mod spawn;
