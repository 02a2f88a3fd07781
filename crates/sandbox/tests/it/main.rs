//! The sandbox against a real kernel: every test runs real commands.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod basics;
mod builds;
mod cells;
mod cgroups;
mod death;
mod fallback;
mod floods;
mod helper_pool;
mod hostile;
mod ordinary;
mod places;
mod talk;
mod world;
