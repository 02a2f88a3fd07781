//! One thread's worktree: where its files are and which branch they belong to.
//! What it can do lives in the files beside this one: `commit`, `push`, `diff`,
//! `status`.

pub(crate) mod aside;
pub(crate) mod checkout;
pub(crate) mod conflict;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod give_back;
pub(crate) mod hibernate;
pub(crate) mod kept;
pub(crate) mod name;
pub(crate) mod ours;
pub(crate) mod reconcile;
pub(crate) mod remove;
pub(crate) mod stack;
pub(crate) mod status;
pub(crate) mod submodules;
pub(crate) mod trial;

use std::path::{Path, PathBuf};

use butler_protocol::{BranchName, CommitSha, TreeHash};
use tokio_util::sync::CancellationToken;

use crate::{Error, Git, Repo, Result, WorktreeLock, commits::tree, lock::FileLock, repo::resolve};

/// The worktree of one thread. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Worktree {
    pub path: PathBuf,
    /// Its branch, `codebutler/<slug>-<id>`.
    pub branch: BranchName,
    repo: Repo,
    git: Git,
}

impl Worktree {
    pub(crate) fn new(repo: &Repo, path: &Path, branch: BranchName) -> Self {
        let git = repo.git().elsewhere(path);
        Self {
            path: git.dir().to_owned(),
            branch,
            repo: repo.clone(),
            git,
        }
    }

    /// The clone it belongs to.
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// Git in this worktree.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// The short id of its thread.
    pub fn short(&self) -> &str {
        name::short_of(&self.branch).unwrap_or("unnamed")
    }

    /// Waits for the exclusive right to change this worktree. Holds across
    /// processes; dropping the future gives up waiting.
    /// Fails when the lock file cannot be made.
    pub async fn lock(&self) -> Result<WorktreeLock> {
        let name = format!("{}.activation", name::lock_name(&self.branch));
        let path = self.repo.lock_file(&name);
        let held = FileLock::take(&path, &CancellationToken::new()).await?;
        Ok(WorktreeLock::new(held, path))
    }

    /// The exclusive right to change this worktree, if it is free.
    /// Fails when the lock file cannot be made.
    pub fn try_lock(&self) -> Result<Option<WorktreeLock>> {
        self.repo.try_lock_short(&name::lock_name(&self.branch))
    }

    /// The commit that is checked out.
    /// Fails when the worktree is gone.
    pub async fn head(&self) -> Result<CommitSha> {
        resolve(&self.git, "HEAD")
            .await?
            .ok_or_else(|| Error::NotARepo {
                path: self.path.clone(),
            })
    }

    /// The tree of the working files, tracked and untracked but not ignored,
    /// `.codebutler/` left out. Equal to [`crate::tree_of`] of a commit of them.
    /// Fails when a file cannot be read.
    pub async fn tree(&self) -> Result<TreeHash> {
        let whole = tree::working_tree(&self.git, &CancellationToken::new()).await?;
        tree::tree_of(&self.git, &whole).await
    }

    /// The right to run commands that change this worktree.
    pub(crate) async fn writer(&self, cancel: &CancellationToken) -> Result<FileLock> {
        self.repo
            .writer(&name::lock_name(&self.branch), cancel)
            .await
    }
}
