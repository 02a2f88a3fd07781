//! Runs a command so that the kernel, not a prompt, decides what it can reach.
//!
//! [`Jail::run`] starts the codebutler binary once more as `__jail`. That
//! helper restricts *itself* (never the many-threaded caller between fork and
//! exec), becomes the first process of a small world of its own, and starts the
//! command there:
//!
//! ```text
//! caller ── helper ──(new user, mount, pid, net, ipc, uts namespaces)── init ── command ── …
//!             │ dies with the caller                                    │ watches memory, disk,
//!             └ takes init with it, and init takes everything below     └ processes; reaps
//! ```
//!
//! In that world the system directories and toolchains are read-only, the
//! worktree is writable except for its protected places, the person's home and
//! every socket directory do not exist, the network is an empty loopback, and
//! nothing survives the command.
//!
//! What it refuses: to run at all when the kernel cannot confine
//! ([`JailError::Unconfined`]). There is no switch that turns the walls off.

mod command;
mod env;
mod error;
mod helper;
mod jail;
mod output;
mod placeholder;
mod profile;
mod run;
mod seal;
mod self_test;
mod spawn;
mod spec;
mod system;
mod toolchain;
mod view;
mod waiting;

pub use command::{Command, Ended, Exit, Stdin, shell};
pub use env::{HOME, TMP, scrubbed_env};
pub use error::JailError;
pub use helper::helper_main;
pub use jail::{Jail, Strength};
pub use profile::{Limits, Network, Profile};
pub use self_test::{Probe, SelfTest};
