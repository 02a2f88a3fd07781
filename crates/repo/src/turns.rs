//! Turns that the processes of one clone take: who may do a named thing, and how
//! many may do something heavy at the same time. A crash ends a turn by itself.

use std::{fs, time::Duration};

use butler_protocol::fault;
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Repo, Result,
    lock::{FileLock, Turn},
};

/// Between two looks at the places of [`Repo::one_of`].
const LOOK: Duration = Duration::from_millis(100);

impl Repo {
    /// Waits for the only turn of this name.
    /// Fails when it is cancelled or the lock file cannot be made.
    pub async fn turn(&self, name: &str, cancel: &CancellationToken) -> Result<Turn> {
        let path = self.lock_file(&format!("{name}.turn"));
        FileLock::take(&path, cancel).await.map(Turn::new)
    }

    /// Waits for one of `count` turns of this name.
    /// Fails when it is cancelled or a lock file cannot be made.
    pub async fn one_of(
        &self,
        name: &str,
        count: usize,
        cancel: &CancellationToken,
    ) -> Result<Turn> {
        loop {
            for number in 1..=count.max(1) {
                let path = self.lock_file(&format!("{name}-{number}.turn"));
                if let Some(held) = FileLock::try_take(&path)? {
                    return Ok(Turn::new(held));
                }
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = cancel.cancelled() => return Err(Error::Cancelled {
                    what: format!("waiting for a turn at {name}"),
                }),
            }
        }
    }

    /// Makes git leave these places out in this clone and all its worktrees:
    /// what a preparation installs is no part of anybody's change. Patterns that
    /// are there already are not written again.
    /// Fails when `info/exclude` cannot be written.
    pub async fn leave_out(&self, patterns: &[String], cancel: &CancellationToken) -> Result<()> {
        let _turn = self.turn("exclude", cancel).await?;
        let folder = self.git().common_dir()?.join("info");
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        let path = folder.join("exclude");
        let mut text = fs::read_to_string(&path).unwrap_or_default();
        let new: Vec<&String> = patterns
            .iter()
            .filter(|pattern| !text.lines().any(|line| line == pattern.as_str()))
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        for pattern in new {
            text.push_str(pattern);
            text.push('\n');
        }
        let beside = folder.join("exclude.codebutler");
        fs::write(&beside, text).map_err(Error::file(&beside))?;
        fault("repo.before-leave-out");
        fs::rename(&beside, &path).map_err(Error::file(&path))?;
        fault("repo.after-leave-out");
        Ok(())
    }
}
