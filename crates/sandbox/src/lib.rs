//! Runs a command so that the kernel, not a prompt, decides what it can reach.
//!
//! [`Sandbox::run`] starts the codebutler binary once more as `__sandbox`. That
//! helper restricts *itself* (never the many-threaded caller between fork and
//! exec), builds what is the same for every command, and forks for each command
//! the first process of a small world of its own, which starts the command:
//!
//! ```text
//! caller ── helper (new user, uts namespaces) ── init (new pid, net, ipc, mount) ── command ── …
//!             │ dies with the caller              │ watches memory, disk, processes; reaps
//!             └ takes init with it, and init takes everything below
//! ```
//!
//! No world is used for a second command. The next one is built when a command is
//! over, so that starting one costs little more than a fork.
//!
//! In that world the system directories and toolchains are read-only, the
//! worktree is writable except for its protected places, the person's home and
//! every socket directory do not exist, the network is an empty loopback (or, for a
//! command that has no use for sockets, none at all), and nothing survives the command.
//!
//! What it refuses: to run at all when the kernel cannot confine
//! ([`SandboxError::Unconfined`]), but for a command that a person approved by itself
//! ([`Sandbox::run_unconfined`]). Where the kernel can confine, no switch turns it off.

mod command;
mod env;
mod error;
mod helper;
mod plain;
mod process;
mod profile;
mod sandbox;
mod seal;
mod self_test;
mod spec;
mod start;
mod view;

pub use command::{Command, Ended, Exit, Stdin, shell, shell_with};
pub use env::{HOME, TMP, scrubbed_env};
pub use error::SandboxError;
pub use helper::helper_main;
pub use process::{cgroup::kernel_keeps_limits, helper_pool::end_helpers};
pub use profile::{Limits, Network, Profile};
pub use sandbox::{Sandbox, Strength};
pub use self_test::SelfTest;
pub use start::let_go_of_start;
pub use view::toolchain::plain_cargo_config;
