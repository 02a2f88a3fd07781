//! A worktree of ours gives way where somebody else has its branch.
//!
//! A branch that a person has checked out must not move under them, and a branch
//! that a person moved must not be taken for what our files are based on. In both
//! cases our worktree leaves the branch and stays at its own last commit, on no
//! branch; what it pushes goes to the thread's branch on the remote all the same.

use std::{fs, path::Path};

use butler_protocol::CommitSha;
use tokio_util::sync::CancellationToken;

use crate::{Error, Result, Worktree, repo::resolve, worktree::status::unfinished};

/// What git writes where the name of a branch would be.
const NO_BRANCH: &str = "detached HEAD\n";

impl Worktree {
    /// Leaves the branch if anybody else has it. Before anything that moves it.
    /// Fails with [`Error::OtherBranch`] when somebody put another branch into our folder.
    pub(crate) async fn stand_aside(&self, cancel: &CancellationToken) -> Result<()> {
        let (repo, git_dir) = (self.repo(), self.git().git_dir()?);
        let on = repo.checked_out(&git_dir).await?;
        if let Some(other) = on.iter().find(|name| **name != self.branch) {
            return Err(Error::OtherBranch {
                path: self.path.clone(),
                branch: self.branch.clone(),
                on: other.clone(),
            });
        }
        let at = resolve(self.git(), "HEAD").await?;
        let holder = repo.holder(&self.branch, Some(&git_dir)).await?;
        if on.is_empty() {
            let tip = repo.resolve(&format!("refs/heads/{}", self.branch)).await?;
            let lost = holder.is_none() && unfinished(&git_dir).is_none() && tip == at;
            return match at.filter(|_| lost) {
                // A step that had left it was killed before it came back.
                Some(at) => self.come_back(true, &at).await,
                None => Ok(()),
            };
        }
        let ours = last_commit(&git_dir).or(at.clone());
        if holder.is_none() && at == ours {
            return Ok(());
        }
        tracing::warn!(branch = %self.branch, ?holder, "somebody else has or moved the thread's branch; the team goes on without it");
        self.detach(&git_dir, ours.as_ref(), cancel).await
    }

    /// Leaves the branch for a step in the sandbox, where only what is this
    /// worktree's own can be written. Says whether it was on it.
    pub(crate) async fn leave_branch(&self, cancel: &CancellationToken) -> Result<bool> {
        let git_dir = self.git().git_dir()?;
        let on = self.repo().checked_out(&git_dir).await?;
        if !on.contains(&self.branch) {
            return Ok(false);
        }
        let at = resolve(self.git(), "HEAD").await?;
        self.detach(&git_dir, at.as_ref(), cancel).await?;
        Ok(true)
    }

    /// Comes back to a branch that was left at `from`, and brings it along to where
    /// we are. Somebody else may have it by now: then it stays theirs.
    pub(crate) async fn come_back(&self, left: bool, from: &CommitSha) -> Result<()> {
        let git_dir = self.git().git_dir()?;
        forget_steps(&git_dir);
        let holder = self.repo().holder(&self.branch, Some(&git_dir)).await?;
        if !left || holder.is_some() {
            return Ok(());
        }
        let (head, local) = (self.head().await?, format!("refs/heads/{}", self.branch));
        let moved = self
            .git()
            .call(["update-ref", "-m", "codebutler: rebase", &local])
            .args([head.as_str(), from.as_str()])
            .accept(&[0, 128])
            .finish()
            .await?;
        if moved.code == 0 {
            self.git()
                .call(["symbolic-ref", "-m", "codebutler: back", "HEAD", &local])
                .finish()
                .await?;
        }
        Ok(())
    }

    async fn detach(
        &self,
        git_dir: &Path,
        at: Option<&CommitSha>,
        cancel: &CancellationToken,
    ) -> Result<()> {
        if !is_detached(git_dir)
            && let Some(at) = at
        {
            self.git()
                .call(["update-ref", "--no-deref", "-m", "codebutler: on no branch"])
                .args(["HEAD", at.as_str()])
                .run(cancel)
                .await?;
        }
        for begun in ["rebase-merge/head-name", "rebase-apply/head-name"] {
            let file = git_dir.join(begun);
            if file.exists() {
                fs::write(&file, NO_BRANCH).map_err(Error::file(&file))?;
            }
        }
        Ok(())
    }
}

/// Git deletes these at the end of a rebase, under a lock on all refs that it cannot
/// take in the sandbox.
fn forget_steps(git_dir: &Path) {
    let begun = ["rebase-merge", "rebase-apply"];
    if !begun.iter().any(|begun| git_dir.join(begun).exists()) {
        for step in ["CHERRY_PICK_HEAD", "REBASE_HEAD"] {
            let _ = fs::remove_file(git_dir.join(step));
        }
    }
}

/// Whether a checkout is on no branch.
pub(crate) fn is_detached(git_dir: &Path) -> bool {
    fs::read_to_string(git_dir.join("HEAD")).is_ok_and(|head| !head.starts_with("ref: "))
}

/// Where this worktree itself was last, by its own log: the branch may have been
/// moved from elsewhere since. In the middle of a rebase it has no say.
fn last_commit(git_dir: &Path) -> Option<CommitSha> {
    if is_detached(git_dir) {
        return None;
    }
    let log = fs::read(git_dir.join("logs/HEAD")).ok()?;
    let text = String::from_utf8_lossy(&log);
    let sha = text.lines().next_back()?.split(' ').nth(1)?;
    Some(CommitSha::new(sha))
}
