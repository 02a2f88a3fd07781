//! A worktree of ours gives way where somebody else has its branch.
//!
//! A branch that a person has checked out must not move under them, and a branch
//! that a person moved must not be taken for what our files are based on. In both
//! cases our worktree leaves the branch and stays at its own last commit, on no
//! branch; what it pushes goes to the thread's branch on the remote all the same.

use std::{fs, path::Path};

use butler_vocab::CommitSha;
use tokio_util::sync::CancellationToken;

use crate::{Error, Result, Worktree, repo::resolve};

/// What git writes where the name of a branch would be.
const NO_BRANCH: &str = "detached HEAD\n";

impl Worktree {
    /// Leaves the branch if anybody else has it. Before anything that moves it.
    ///
    /// # Errors
    /// [`Error::OtherBranch`] when somebody put another branch into our folder.
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
        if on.is_empty() {
            return Ok(());
        }
        let at = resolve(self.git(), "HEAD").await?;
        let ours = last_commit(&git_dir).or(at.clone());
        let holder = repo.holder(&self.branch, Some(&git_dir)).await?;
        if holder.is_none() && at == ours {
            return Ok(());
        }
        tracing::warn!(branch = %self.branch, ?holder, "somebody else has or moved the thread's branch; the team goes on without it");
        if !is_detached(&git_dir)
            && let Some(ours) = &ours
        {
            self.git()
                .call(["update-ref", "--no-deref", "-m", "codebutler: on no branch"])
                .args(["HEAD", ours.as_str()])
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
