//! Differences for people and models. New files that are not yet committed are
//! part of them, which plain `git diff` would leave out.

use std::path::PathBuf;

use butler_protocol::CommitSha;
use tokio_util::sync::CancellationToken;

use crate::{Git, Repo, Result, Worktree, commits::tree, git::path_of};

/// Which difference is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffOf {
    /// Everything this thread has done: from where it left the default branch
    /// to the working files.
    Thread,
    /// From the last commit to the working files.
    Uncommitted,
}

impl Worktree {
    /// A unified diff.
    /// Fails when the worktree is gone or the diff is larger than we are willing to hold.
    pub async fn diff(&self, of: DiffOf, cancel: &CancellationToken) -> Result<String> {
        let from = match of {
            DiffOf::Uncommitted => "HEAD".to_owned(),
            DiffOf::Thread => self.fork_point(cancel).await?,
        };
        let to = tree::working_tree(self.git(), cancel).await?;
        between(self.git(), &from, &to, cancel).await
    }

    /// The commit where this branch left what it stands on.
    /// While a newer default branch is merged in, that is where it left it.
    pub(crate) async fn fork_point(&self, cancel: &CancellationToken) -> Result<String> {
        if let Some(theirs) = self.merging().await? {
            return Ok(theirs.to_string());
        }
        let left = self.repo().left(self.git(), self.short(), "HEAD", cancel);
        // Unrelated histories: there is nothing to measure from.
        Ok(left.await?.unwrap_or_else(|| "HEAD".to_owned()))
    }
}

impl Repo {
    /// The files that one commit changed. Unlike a branch, a commit is still
    /// there when its work was merged and cleaned up.
    /// Fails when the commit cannot be had.
    pub async fn files_of(
        &self,
        commit: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<Vec<PathBuf>> {
        // A service that merges for us has the commit before this clone does.
        if self
            .resolve(&format!("{commit}^{{commit}}"))
            .await?
            .is_none()
        {
            self.fetch(cancel).await?;
        }
        let changed = self
            .git()
            .call(["diff-tree", "-r", "-z", "--root", "-m", "--first-parent"])
            .args(["--no-commit-id", "--name-only", "--end-of-options"])
            .arg(commit.as_str())
            .run(cancel)
            .await?;
        Ok(changed.fields().map(path_of).collect())
    }
}

/// The unified diff of two trees, with no program of the repository's taking part.
pub(crate) async fn between(
    git: &Git,
    from: &str,
    to: &str,
    cancel: &CancellationToken,
) -> Result<String> {
    let output = git
        .call(["diff", "--no-ext-diff", "--no-textconv", "--no-color"])
        .args(["--submodule=short", "--find-renames", "--end-of-options"])
        .args([from, to, "--"])
        .run(cancel)
        .await?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
