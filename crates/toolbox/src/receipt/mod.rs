//! What a run of the checks says beyond its exit code: how many tests there
//! were, and what about the change itself should make a reviewer look twice.

mod counts;
mod flags;

pub(crate) use counts::counts;
pub(crate) use flags::{against_base, in_diff};
