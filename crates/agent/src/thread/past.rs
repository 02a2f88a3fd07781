//! Where a thread's branch began, for receipts: laid out and prepared like the
//! worktree it is compared with. What the checks gave there is kept beside the
//! refs: the sandbox shows that folder to commands, and lets none of them write to it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use butler_protocol::CommitSha;
use butler_repo::Worktree;
use butler_tools::{LaidOut, Past};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{Agent, AgentError, thread::prepare, whole};

/// The past of one worktree.
pub(crate) struct ThreadPast {
    agent: Arc<Agent>,
    worktree: Worktree,
    kept: PathBuf,
}

impl ThreadPast {
    /// Nothing when the clone's own folder is gone.
    pub(crate) fn of(agent: &Arc<Agent>, worktree: Worktree) -> Option<Self> {
        let common = worktree.git().common_dir().ok()?;
        Some(Self {
            agent: Arc::clone(agent),
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
            let told = |error: AgentError| match &error {
                AgentError::Missing(why) => why.clone(),
                error => whole(error),
            };
            let trial = prepare::lay_out_base(&self.agent, &commit, &cancel)
                .await
                .map_err(told)?;
            let laid = trial.lay_over(&self.worktree, &files, &cancel).await;
            laid.map_err(|error| told(error.into()))?;
            Ok(LaidOut {
                folder: trial.path.clone(),
                hold: Box::new(trial),
            })
        })
    }

    fn made_with(&self) -> String {
        self.agent.rules().prepare.join("\n")
    }

    fn kept(&self) -> &Path {
        &self.kept
    }
}
