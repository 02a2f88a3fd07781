//! What a run of the checks says beyond its exit code: how many tests there
//! were, how that compares with where the branch began, and what about the
//! change itself should make a reviewer look twice.

mod base;
mod counts;
mod flags;

use butler_protocol::CheckRun;
use butler_sandbox::{Ended, Exit};

pub(crate) use base::base;
pub(crate) use counts::counts;
pub use flags::in_diff;
pub(crate) use flags::{ChangedTest, against_base, changed_tests};

use crate::{Check, content::clip};

/// One check that ran, as a receipt has it.
pub(crate) fn ran(check: &Check, exit: &Exit) -> CheckRun {
    CheckRun {
        name: check.name.clone(),
        command: check.command.clone(),
        exit_code: (exit.ended == Ended::Itself).then_some(exit.code).flatten(),
        duration_ms: u64::try_from(exit.duration.as_millis()).unwrap_or(u64::MAX),
        counts: counts(&clip::plain(&exit.output)),
    }
}
