//! What is asked of git in many places.

use std::path::PathBuf;

use butler_protocol::CommitSha;
use tokio_util::sync::CancellationToken;

use super::{Git, path_of};
use crate::{Result, lock::FileLock};

impl Git {
    /// Whether one commit is part of the history of another.
    pub(crate) async fn is_ancestor(
        &self,
        one: &str,
        of: &str,
        cancel: &CancellationToken,
    ) -> Result<bool> {
        let call = self.call(["merge-base", "--is-ancestor", one, of]);
        Ok(call.accept(&[0, 1]).run(cancel).await?.code == 0)
    }

    /// The newest commit that two have in common; empty where they share no history.
    pub(crate) async fn merge_base(
        &self,
        one: &str,
        other: &str,
        cancel: &CancellationToken,
    ) -> Result<String> {
        let call = self.call(["merge-base", one, other]).accept(&[0, 1]);
        Ok(call.run(cancel).await?.text())
    }

    pub(crate) async fn tree_of(&self, commit: &str, cancel: &CancellationToken) -> Result<String> {
        let call = self.call(["rev-parse", "--verify", "--end-of-options"]);
        let call = call.arg(format!("{commit}^{{tree}}"));
        Ok(call.run(cancel).await?.text())
    }

    /// The refs of these names, or below them, and where they stand.
    pub(crate) async fn refs(
        &self,
        names: &[String],
        cancel: &CancellationToken,
    ) -> Result<Vec<(CommitSha, String)>> {
        let call = self.call(["for-each-ref", "--format=%(objectname) %(refname)"]);
        let listing = call.args(names).run(cancel).await?;
        let refs = listing.lines().filter_map(|line| {
            let (commit, name) = line.split_once(' ')?;
            Some((CommitSha::new(commit), name.to_owned()))
        });
        Ok(refs.collect())
    }

    /// Merges two commits on paper: whether it goes through, the tree, and the files that
    /// are in conflict in it.
    pub(crate) async fn merge_tree(
        &self,
        one: &str,
        other: &str,
        cancel: &CancellationToken,
    ) -> Result<(bool, String, Vec<PathBuf>)> {
        let merged = self
            .call(["merge-tree", "--write-tree", "-z", "--name-only"])
            .args(["--no-messages", one, other])
            .accept(&[0, 1])
            .run(cancel)
            .await?;
        let mut fields = merged.fields();
        let tree = fields.next().ok_or_else(|| merged.unreadable())?;
        let tree = String::from_utf8_lossy(tree).into_owned();
        Ok((merged.code == 0, tree, fields.map(path_of).collect()))
    }

    /// Puts the files of a commit in the place of those that are there, on no branch.
    pub(crate) async fn show(
        &self,
        commit: &CommitSha,
        writer: &FileLock,
        cancel: &CancellationToken,
    ) -> Result<()> {
        self.call(["checkout", "--quiet", "--detach", "--no-recurse-submodules"])
            .args(["--force", commit.as_str(), "--"])
            .holding(writer)
            .run(cancel)
            .await
            .map(drop)
    }

    /// Takes away what git does not track; ignored files stay.
    pub(crate) async fn clean(&self, writer: &FileLock, cancel: &CancellationToken) -> Result<()> {
        let call = self.call(["clean", "--quiet", "--force", "-d"]);
        call.holding(writer).run(cancel).await.map(drop)
    }
}
