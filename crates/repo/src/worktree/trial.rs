//! The base of a thread, laid out so that its checks can be run. One folder for
//! the whole clone, used by one thread at a time: what is built in it (ignored
//! files) stays for the next, everything else is put right before each use.

use std::path::PathBuf;

use butler_protocol::CommitSha;
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Repo, Result, Worktree,
    commits::tree,
    lock::FileLock,
    worktree::create::{Shows, clear_index_lock},
};

/// Its folder among the worktrees.
const NAME: &str = "_checks";

/// A laid-out base. Nobody else gets the folder until this is dropped.
#[derive(Debug)]
pub struct Trial {
    pub path: PathBuf,
    _held: FileLock,
}

impl Worktree {
    /// The commit where this branch left the default branch.
    /// Fails when git cannot say.
    pub async fn base_commit(&self, cancel: &CancellationToken) -> Result<CommitSha> {
        let name = self.fork_point(cancel).await?;
        let commit = self.repo().resolve(&name).await?;
        commit.ok_or_else(|| Error::NotARepo {
            path: self.path.clone(),
        })
    }
}

impl Repo {
    /// Lays `commit` out. Waits while another thread uses the folder.
    /// Fails when the commit is not here.
    pub async fn lay_out(&self, commit: &CommitSha, cancel: &CancellationToken) -> Result<Trial> {
        let held = FileLock::take(&self.lock_file("checks.trial"), cancel).await?;
        let writer = self.writer(NAME, cancel).await?;
        let path = self
            .check_out(NAME, &Shows::Commit(commit), &writer, cancel)
            .await?;
        let git = self.git().elsewhere(&path);
        clear_index_lock(&git.git_dir()?);
        // Nobody works here, so nothing is saved: what differs was written by checks.
        self.bring(&git, &[commit.as_str()], cancel).await?;
        git.show(commit, &writer, cancel).await?;
        git.clean(&writer, cancel).await?;
        Ok(Trial { path, _held: held })
    }
}

impl Trial {
    /// Lays these files over it, as they are in a worktree.
    /// Fails when a file is not in that worktree.
    pub async fn lay_over(
        &self,
        from: &Worktree,
        files: &[String],
        cancel: &CancellationToken,
    ) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let repo = from.repo();
        let writer = repo.writer(NAME, cancel).await?;
        // By way of a tree: git follows no link out of the folder.
        let tree = tree::working_tree(from.git(), cancel).await?;
        let git = repo.git().elsewhere(&self.path);
        git.call(["checkout", "--quiet", &tree, "--"])
            .args(files)
            .variable("GIT_LITERAL_PATHSPECS", "1")
            .holding(&writer)
            .run(cancel)
            .await
            .map(drop)
    }
}
