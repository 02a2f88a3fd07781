//! Checkouts that nobody works in: the shared `_base`, which shows the fetched
//! default branch to threads without a worktree, and the Reviewer's own
//! checkout of a pull request's head.

use std::path::{Path, PathBuf};

use butler_protocol::{CommitSha, ThreadId};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Repo, Result,
    lock::FileLock,
    repo::resolve,
    worktree::{
        create::{Shows, clear_index_lock},
        status,
    },
};

impl Repo {
    /// The shared, read-only checkout of the fetched default branch.
    /// Fails when the remote cannot be reached, or the default branch has no commit.
    pub async fn base(&self, cancel: &CancellationToken) -> Result<PathBuf> {
        self.fetch(cancel).await?;
        let commit = self.resolve(&self.default_ref()).await?;
        let commit = commit.ok_or_else(|| Error::Empty {
            branch: self.default_branch().clone(),
        })?;
        self.showing("_base", &commit, cancel).await
    }

    /// The Reviewer's checkout of one head of a thread, on no branch.
    /// Fails when the commit is neither here nor on the remote.
    pub async fn review_checkout(
        &self,
        thread: &ThreadId,
        head: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<PathBuf> {
        if self.resolve(head.as_str()).await?.is_none() {
            self.fetch(cancel).await?;
        }
        self.showing(&review_name(thread), head, cancel).await
    }

    /// A checkout of `commit` at `branches/<name>`. What somebody left in it is
    /// saved before it is put right.
    pub(crate) async fn showing(
        &self,
        name: &str,
        commit: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<PathBuf> {
        let writer = self.writer(name, cancel).await?;
        let path = self
            .check_out(name, &Shows::Commit(commit), &writer, cancel)
            .await?;
        let git = self.git().elsewhere(&path);
        let clean = status::changes(&git, cancel).await?.is_empty()
            && status::unfinished(&git.git_dir()?).is_none();
        if clean && resolve(&git, "HEAD").await?.as_ref() == Some(commit) {
            return Ok(path);
        }
        clear_index_lock(&git.git_dir()?);
        if !clean {
            self.save_state(&git, name, "changes in a read-only checkout", cancel)
                .await?;
            self.reset(&path, &writer, cancel).await?;
        }
        self.bring(&git, &[commit.as_str()], cancel).await?;
        git.show(commit, &writer, cancel).await?;
        Ok(path)
    }

    /// Throws the state of a checkout away. Only ever called after a save.
    async fn reset(
        &self,
        path: &Path,
        writer: &FileLock,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let git = self.git().elsewhere(path);
        git.call(["reset", "--quiet", "--hard", "HEAD"])
            .holding(writer)
            .run(cancel)
            .await?;
        git.clean(writer, cancel).await
    }
}

/// The folder of a thread's review checkout.
pub(crate) fn review_name(thread: &ThreadId) -> String {
    format!("_review-{}", thread.short())
}
