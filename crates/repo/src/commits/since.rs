//! What a branch changed since an earlier commit of it, without what came in from
//! the default branch meanwhile: a second look at work need not repeat the first.

use std::path::PathBuf;

use butler_protocol::{CommitSha, ThreadId, TreeHash};
use tokio_util::sync::CancellationToken;

use crate::{
    Repo, Result,
    commits::{diff, tree},
};

/// A commit of the default branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedCommit {
    /// Its first line.
    pub subject: String,
    /// Those of the files that were asked for which it changed.
    pub files: Vec<PathBuf>,
}

impl Repo {
    /// What came to the default branch since a thread's branch left it and changed one
    /// of these files, newest first, so many at most.
    pub async fn merged_since(
        &self,
        thread: &ThreadId,
        files: &[PathBuf],
        most: usize,
        cancel: &CancellationToken,
    ) -> Result<Vec<MergedCommit>> {
        let Some(branch) = self.branch_of(thread, cancel).await? else {
            return Ok(Vec::new());
        };
        let default = self.default_ref();
        let range = format!("{}..{default}", self.tracking_ref(&branch));
        let log = self
            .git()
            .call(["log", "--first-parent", "--format=%H %s"])
            .arg(format!("--max-count={most}"))
            .args(["--end-of-options", &range, "--"])
            .args(files)
            .run(cancel)
            .await?;
        let mut found = Vec::new();
        for line in log.lines() {
            let Some((commit, subject)) = line.split_once(' ') else {
                continue;
            };
            let mut changed = self.files_of(&CommitSha::new(commit), cancel).await?;
            changed.retain(|file| files.contains(file));
            found.push(MergedCommit {
                subject: subject.to_owned(),
                files: changed,
            });
        }
        Ok(found)
    }

    /// The unified diff from `before` to `head`. Where `head` stands on a newer
    /// default branch than `before` did, that one is merged into `before` first,
    /// so that what others did is on both sides. What was a conflict then shows
    /// how it was settled.
    /// Fails when one of the commits cannot be had.
    pub async fn changed_since(
        &self,
        before: &CommitSha,
        head: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<String> {
        let git = self.git();
        let default = self.default_ref();
        let base = git.merge_base(&default, head.as_str(), cancel).await?;
        let same = base.is_empty() || git.is_ancestor(&base, before.as_str(), cancel).await?;
        let from = if same {
            before.as_str().to_owned()
        } else {
            let merged = git
                .call(["merge-tree", "--write-tree", "--no-messages", "--name-only"])
                .args([before.as_str(), &base])
                .accept(&[0, 1])
                .run(cancel)
                .await?;
            let tree = merged.lines().next();
            tree.ok_or_else(|| merged.unreadable())?
        };
        diff::between(git, &from, head.as_str(), cancel).await
    }

    /// The tree of the working files of a checkout of ours, `.codebutler/` left out:
    /// the tree of its commit as long as nobody has changed anything.
    /// Fails when the folder is no checkout.
    pub async fn tree_in(
        &self,
        folder: &std::path::Path,
        cancel: &CancellationToken,
    ) -> Result<TreeHash> {
        let git = self.git().elsewhere(folder);
        let written = tree::working_tree(&git, cancel).await?;
        tree::tree_of(&git, &written).await
    }
}
