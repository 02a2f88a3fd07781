//! The sandbox's own attacker: tries to get out, from inside, and says what held.
//!
//! The self-test runs these in every process that wants to run commands, the
//! tests of this cell run them too, and run them once outside to see that they
//! do succeed where no wall is. So an attack must do no harm when it succeeds.

mod files;
mod kernel;
mod network;
mod processes;

pub(crate) use files::{CREATE_OUTSIDE, MADE};

use std::{io, path::PathBuf};

use serde::{Deserialize, Serialize};

/// What there is to reach, prepared by the caller outside.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Targets {
    /// A file beside the worktree.
    pub secret: PathBuf,
    /// The folder around the worktree.
    pub outside: PathBuf,
    pub worktree: PathBuf,
    /// A hidden file in the worktree.
    pub hidden: PathBuf,
    /// A protected file in the worktree, in a folder of its own.
    pub protected: PathBuf,
    /// A protected path in the worktree that does not exist.
    pub missing: PathBuf,
    /// The person's home.
    pub home: PathBuf,
    /// The caller's process id outside.
    pub caller: i32,
    /// A TCP port on the host's loopback on which somebody listens.
    pub port: u16,
    /// A Unix socket on which somebody listens.
    pub socket: PathBuf,
    /// An abstract Unix socket on which somebody listens.
    pub abstract_name: String,
    /// Only attacks with these names; all when empty.
    #[serde(default)]
    pub only: Vec<String>,
}

/// What came of one attack.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub name: String,
    pub refused: bool,
    pub detail: String,
}

/// `Ok` says what was reached, `Err` what stood in the way.
type Tried = Result<String, String>;
type Attack = (&'static str, fn(&Targets) -> Tried);

/// Tries everything once, in order.
pub(super) fn all(targets: &Targets) -> Vec<Attempt> {
    [
        files::ATTACKS,
        processes::ATTACKS,
        network::ATTACKS,
        // Last: where namespaces can be made, everything after it is in one.
        kernel::ATTACKS,
    ]
    .into_iter()
    .flatten()
    .filter(|(name, _)| targets.only.is_empty() || targets.only.iter().any(|only| only == name))
    .map(|(name, attack)| {
        let (refused, detail) = match attack(targets) {
            Ok(reached) => (false, reached),
            Err(wall) => (true, wall),
        };
        Attempt {
            name: (*name).to_owned(),
            refused,
            detail,
        }
    })
    .collect()
}

/// A success of the operating system is a success of the attack.
fn tried<T, E: Into<io::Error>>(result: Result<T, E>) -> Tried {
    match result {
        Ok(_) => Ok("it worked".to_owned()),
        Err(error) => Err(error.into().to_string()),
    }
}
