//! What a branch changed since an earlier commit of it, without what came in from
//! the default branch meanwhile: a second look at work need not repeat the first.

use butler_protocol::{CommitSha, TreeHash};
use tokio_util::sync::CancellationToken;

use crate::{
    Git, Repo, Result,
    commits::{diff, tree},
};

impl Repo {
    /// The unified diff from `before` to `head`. Where `head` stands on a newer
    /// default branch than `before` did, that one is merged into `before` first,
    /// so that what others did is on both sides. What was a conflict then shows
    /// how it was settled.
    ///
    /// # Errors
    /// When one of the commits cannot be had.
    pub async fn changed_since(
        &self,
        before: &CommitSha,
        head: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<String> {
        let git = self.git();
        let base = git
            .call(["merge-base", &self.default_ref(), head.as_str()])
            .accept(&[0, 1])
            .run(cancel)
            .await?
            .text();
        let from = if base.is_empty() || is_ancestor(git, &base, before, cancel).await? {
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
    ///
    /// # Errors
    /// When the folder is no checkout.
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

async fn is_ancestor(
    git: &Git,
    base: &str,
    of: &CommitSha,
    cancel: &CancellationToken,
) -> Result<bool> {
    let call = git.call(["merge-base", "--is-ancestor", base, of.as_str()]);
    Ok(call.accept(&[0, 1]).run(cancel).await?.code == 0)
}
