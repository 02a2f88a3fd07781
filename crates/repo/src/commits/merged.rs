//! Whether a branch is in the default branch, also after a squash, which git's
//! own `--merged` does not see.

use butler_protocol::{BranchName, CommitSha, Role};
use tokio_util::sync::CancellationToken;

use crate::{PullRequest, PullState, Repo, Result};

/// How we know that a branch is in the default branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merged {
    /// Its pull request says so, and nothing was added since.
    ByPull,
    /// Its commits are there as they are.
    ByHistory,
    /// Merging it would change nothing.
    ByContent,
    /// All it did was done there in one commit.
    ByPatch,
}

impl Repo {
    /// Whether the work up to `head` is in the fetched default branch; nothing
    /// means that there is, or may be, work that is not. When in doubt it is not.
    pub async fn merged(
        &self,
        head: &CommitSha,
        pull: Option<&PullRequest>,
        cancel: &CancellationToken,
    ) -> Result<Option<Merged>> {
        if let Some(pull) = pull
            && matches!(pull.state, PullState::Merged { .. })
        {
            return Ok((pull.head == *head).then_some(Merged::ByPull));
        }
        let default = self.default_ref();
        let git = self.git();
        if git.is_ancestor(head.as_str(), &default, cancel).await? {
            return Ok(Some(Merged::ByHistory));
        }
        if self.adds_nothing(head, &default, cancel).await? {
            return Ok(Some(Merged::ByContent));
        }
        let squashed = self.squashed_there(head, &default, cancel).await?;
        Ok(squashed.then_some(Merged::ByPatch))
    }

    async fn adds_nothing(
        &self,
        head: &CommitSha,
        default: &str,
        cancel: &CancellationToken,
    ) -> Result<bool> {
        let merge = self
            .git()
            .call(["merge-tree", "--write-tree", "--no-messages", "--name-only"])
            .on_paper()
            .args([default, head.as_str()])
            .accept(&[0, 1])
            .run(cancel)
            .await?;
        Ok(merge.code == 0 && merge.text() == self.git().tree_of(default, cancel).await?)
    }

    /// Squashes the branch on paper and asks whether that patch is there.
    async fn squashed_there(
        &self,
        head: &CommitSha,
        default: &str,
        cancel: &CancellationToken,
    ) -> Result<bool> {
        let git = self.git();
        let fork = git.merge_base(default, head.as_str(), cancel).await?;
        if fork.is_empty() {
            return Ok(false);
        }
        let tree = git.tree_of(head.as_str(), cancel).await?;
        let parents = [fork.as_str()];
        let squash = git.commit(&tree, &parents, "on paper\n", Role::Pm, cancel);
        let squash = squash.await?;
        let cherry = git
            .call(["cherry", default, squash.as_str()])
            .run(cancel)
            .await?;
        Ok(cherry.text().starts_with('-'))
    }

    /// The tip of a branch on the remote as last fetched.
    pub async fn remote_tip(&self, branch: &BranchName) -> Result<Option<CommitSha>> {
        self.resolve(&self.tracking_ref(branch)).await
    }
}
