//! Where a thread's branch began, for receipts. What the checks gave there is
//! kept beside the refs: the jail shows that folder to commands, and lets none
//! of them write to it.

use std::path::{Path, PathBuf};

use butler_toolbox::{LaidOut, Past};
use butler_vocab::CommitSha;
use butler_worktree::Worktree;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// The past of one worktree.
pub struct ThreadPast {
    worktree: Worktree,
    kept: PathBuf,
}

impl ThreadPast {
    /// Nothing when the clone's own folder is gone.
    pub fn of(worktree: Worktree) -> Option<Self> {
        let common = worktree.git().common_dir().ok()?;
        Some(Self {
            worktree,
            kept: common.join("codebutler").join("base-receipts"),
        })
    }
}

impl Past for ThreadPast {
    fn commit(&self, cancel: CancellationToken) -> BoxFuture<'_, Result<CommitSha, String>> {
        Box::pin(async move {
            let commit = self.worktree.base_commit(&cancel).await;
            commit.map_err(|error| error.to_string())
        })
    }

    fn lay_out(
        &self,
        commit: CommitSha,
        files: Vec<String>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<LaidOut, String>> {
        Box::pin(async move {
            let trial = self
                .worktree
                .lay_out(&commit, &files, &cancel)
                .await
                .map_err(|error| error.to_string())?;
            Ok(LaidOut {
                folder: trial.path.clone(),
                hold: Box::new(trial),
            })
        })
    }

    fn kept(&self) -> &Path {
        &self.kept
    }
}
