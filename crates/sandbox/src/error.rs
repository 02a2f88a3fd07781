//! Why a command could not be run. What happens inside is an [`crate::Exit`].

use std::{io, path::PathBuf};

/// Why a command could not be run, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel offers no sandbox here, so nothing runs.
    #[error("this kernel cannot confine commands: {reason}")]
    Unconfined {
        /// What was tried and how it failed.
        reason: String,
    },
    /// The helper executable could not be started.
    #[error("cannot start the sandbox helper {}", path.display())]
    Helper {
        /// The executable.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The helper could not build the sandbox; the command was not started.
    #[error("the sandbox could not be set up: {step}: {detail}")]
    SetUp {
        /// What it was doing.
        step: String,
        /// What the kernel answered.
        detail: String,
    },
    /// The sandbox was built, but the program could not be started.
    #[error("cannot run `{program}`: {detail}")]
    Program {
        /// The first word of the command.
        program: String,
        /// What the kernel answered.
        detail: String,
    },
    /// A path of the profile cannot be used.
    #[error("cannot use {} as {what}", path.display())]
    Path {
        /// `worktree`, `protected path`, …
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Only under the weaker confinement: the command changed a protected place. What could
    /// be put back was.
    #[error("the command changed {}, which is protected; it was put back as far as it was kept", path.display())]
    Tampered {
        /// The protected place.
        path: PathBuf,
    },
    /// Talking to the helper failed.
    #[error("lost the sandbox helper while {step}")]
    Lost {
        /// What was being done.
        step: &'static str,
        /// Why.
        source: io::Error,
    },
}
