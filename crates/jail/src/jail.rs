//! The caller's side: probe once, then start, feed, watch and end helpers.

use std::path::PathBuf;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{Command, Exit, JailError, Profile, SelfTest};

/// How strong the walls are that this kernel gives us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strength {
    /// Namespaces, seccomp and (where offered) Landlock.
    Namespaces,
    /// Landlock and seccomp: no sockets at all, no read-only places inside the
    /// worktree, everything else as promised.
    LandlockOnly {
        /// Why there are no namespaces.
        reason: String,
    },
    /// Nothing: commands are refused.
    None {
        /// What was tried and how it failed.
        reason: String,
    },
}

/// Runs commands confined.
#[derive(Debug, Clone)]
pub struct Jail {
    helper: PathBuf,
    strength: Strength,
}

impl Jail {
    /// Finds out what the kernel offers. `helper` is re-executed as
    /// `<helper> __jail`: the codebutler binary, which calls `helper_main` then.
    pub fn new(helper: PathBuf) -> Result<Self, JailError> {
        Ok(Self {
            helper,
            strength: Strength::None {
                reason: "the helper is not built yet".to_owned(),
            },
        })
    }

    /// How strong the walls are, with reasons.
    #[must_use]
    pub fn strength(&self) -> Strength {
        self.strength.clone()
    }

    /// Runs `command` inside the walls of `profile`, to its end.
    ///
    /// Output goes to `output` while it comes, up to the output limit; a slow
    /// receiver slows the command down, a dropped one is ignored. On timeout,
    /// cancel, or when this future is dropped, every process of it is killed.
    pub async fn run(
        &self,
        command: &Command,
        profile: &Profile,
        cancel: &CancellationToken,
        output: Option<mpsc::Sender<Vec<u8>>>,
    ) -> Result<Exit, JailError> {
        let _ = (command, profile, cancel, output, &self.helper);
        Err(JailError::Unconfined {
            reason: "the helper is not built yet".to_owned(),
        })
    }

    /// Attacks the walls from inside; see [`SelfTest::holds`].
    pub async fn self_test(&self) -> SelfTest {
        SelfTest::default()
    }
}
