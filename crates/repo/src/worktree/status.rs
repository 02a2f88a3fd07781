//! What has changed in a worktree, and whether something was begun and not
//! ended there.

use std::path::{Path, PathBuf};

use butler_protocol::CommitSha;
use tokio_util::sync::CancellationToken;

use crate::{Git, Result, Worktree, git::path_of, repo::resolve};

/// The state of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The commit that is checked out.
    pub head: Option<CommitSha>,
    /// Changed, new and deleted files, ignored ones left out.
    pub changes: Vec<Change>,
    /// Commits that the remote branch does not have.
    pub ahead: u32,
    /// Commits of the remote branch (as last fetched) that we do not have.
    pub behind: u32,
    /// A rebase, merge or the like that was begun and not ended.
    pub unfinished: Option<&'static str>,
}

impl Status {
    /// Whether nothing is uncommitted and nothing unfinished.
    pub fn is_clean(&self) -> bool {
        self.changes.is_empty() && self.unfinished.is_none()
    }
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Relative to the worktree.
    pub path: PathBuf,
    /// Git's two letters: index and working file, `??` for a new file.
    pub code: String,
}

impl Worktree {
    /// What has changed here.
    /// Fails when the worktree is gone.
    pub async fn status(&self, cancel: &CancellationToken) -> Result<Status> {
        let theirs = self.repo().tracking_ref(&self.branch);
        let (mut ahead, mut behind) = (0, 0);
        if resolve(self.git(), &theirs).await?.is_some() {
            let counts = self
                .git()
                .call(["rev-list", "--left-right", "--count", "--end-of-options"])
                .arg(format!("HEAD...{theirs}"))
                .run(cancel)
                .await?
                .text();
            let mut counts = counts.split_whitespace().map(str::parse);
            ahead = counts.next().and_then(std::result::Result::ok).unwrap_or(0);
            behind = counts.next().and_then(std::result::Result::ok).unwrap_or(0);
        }
        Ok(Status {
            head: resolve(self.git(), "HEAD").await?,
            changes: changes(self.git(), cancel).await?,
            ahead,
            behind,
            unfinished: unfinished(&self.git().git_dir()?),
        })
    }
}

/// The changed files of a worktree.
pub(crate) async fn changes(git: &Git, cancel: &CancellationToken) -> Result<Vec<Change>> {
    let output = git
        .call(["status", "--porcelain=v1", "-z", "--no-renames"])
        .args(["--untracked-files=all", "--ignore-submodules=dirty"])
        .run(cancel)
        .await?;
    Ok(output
        .fields()
        .filter_map(|field| {
            let (code, path) = field.split_at_checked(3)?;
            Some(Change {
                path: path_of(path),
                code: String::from_utf8_lossy(&code[..2]).into_owned(),
            })
        })
        .collect())
}

/// Which operation was begun in a worktree and not ended.
pub(crate) fn unfinished(git_dir: &Path) -> Option<&'static str> {
    [
        ("rebase-merge", "rebase"),
        ("rebase-apply", "rebase"),
        ("MERGE_HEAD", "merge"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
        ("BISECT_LOG", "bisect"),
    ]
    .into_iter()
    .find(|(file, _)| git_dir.join(file).exists())
    .map(|(_, operation)| operation)
}
