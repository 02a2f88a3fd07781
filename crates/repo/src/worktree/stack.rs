//! A branch that stands on another branch of ours instead of the default branch,
//! until that one is merged. One ref remembers it, from before the branch is made:
//! `refs/codebutler/stack/<thread>/<branch below>`, at the commit where it left that
//! one. What the branch itself changes is counted from there.
//!
//! The commit stays the same until the branch below is merged, whatever happens to
//! that meanwhile; then the branch's own commits are put on the default branch.

use butler_protocol::{BranchName, CommitSha, ThreadId, fault};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Git, Repo, Result, Worktree,
    worktree::name::{self, short_of},
};

const REFS: &str = "refs/codebutler/stack";

/// What a branch stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The branch below.
    pub branch: BranchName,
    /// Where it left that one.
    pub at: CommitSha,
}

impl Repo {
    /// Has a thread's branch, which is not there yet, begin on the remote's tip of
    /// another branch of ours. What was said first stays.
    /// Fails with [`Error::NotPushed`] when the other branch is not on the remote.
    pub async fn stack(
        &self,
        thread: &ThreadId,
        below: &BranchName,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let short = thread.short();
        if self.stack_of(&short).await?.is_some() || self.branch_of(thread, cancel).await?.is_some()
        {
            return Ok(());
        }
        if !name::is_ours(below) {
            return Err(Error::NotOurs {
                branch: below.clone(),
            });
        }
        self.fetch(cancel).await?;
        let tip = self.resolve(&self.tracking_ref(below)).await?;
        let tip = tip.ok_or_else(|| Error::NotPushed {
            branch: below.clone(),
        })?;
        let name = format!("{REFS}/{short}/{below}");
        fault("repo.before-stack");
        self.git()
            .call(["update-ref", "-m", "codebutler: stacked", &name])
            .args([tip.as_str(), ""])
            .run(cancel)
            .await?;
        fault("repo.after-stack");
        Ok(())
    }

    /// What a thread's branch was begun on, whether or not it still stands there.
    pub async fn begun_on(&self, thread: &ThreadId) -> Result<Option<Stack>> {
        self.stack_of(&thread.short()).await
    }

    pub(crate) async fn stack_of(&self, short: &str) -> Result<Option<Stack>> {
        let root = format!("{REFS}/{short}/");
        let cancel = CancellationToken::new();
        let found = self
            .git()
            .refs(std::slice::from_ref(&root), &cancel)
            .await?;
        Ok(found.into_iter().find_map(|(at, name)| {
            let branch = BranchName::new(name.strip_prefix(&root)?);
            Some(Stack { branch, at })
        }))
    }

    /// Forgets what a thread's branch stood on.
    pub(crate) async fn unstack(&self, short: &str, cancel: &CancellationToken) -> Result<()> {
        if let Some(stack) = self.stack_of(short).await? {
            let name = format!("{REFS}/{short}/{}", stack.branch);
            self.git()
                .call(["update-ref", "-d", &name])
                .run(cancel)
                .await?;
        }
        Ok(())
    }

    /// The commit where `head` of a branch left what it stands on; nothing where the
    /// two share no history.
    pub(crate) async fn left_at(
        &self,
        branch: &BranchName,
        head: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<Option<String>> {
        let short = short_of(branch).unwrap_or_default();
        self.left(self.git(), short, head.as_str(), cancel).await
    }

    /// The same by the short id of its thread, asked by any git of this clone.
    pub(crate) async fn left(
        &self,
        git: &Git,
        short: &str,
        head: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<String>> {
        let base = git.merge_base(&self.default_ref(), head, cancel).await?;
        let stack = match short.is_empty() {
            true => None,
            false => self.stack_of(short).await?,
        };
        if let Some(stack) = stack {
            let at = stack.at.as_str();
            // A newer default branch was merged in, or the branch was put on it.
            let stands = git.is_ancestor(at, head, cancel).await?
                && (base.is_empty() || git.is_ancestor(&base, at, cancel).await?);
            if stands {
                return Ok(Some(stack.at.to_string()));
            }
        }
        Ok((!base.is_empty()).then_some(base))
    }
}

impl Worktree {
    /// What this branch stands on now; nothing once it stands on the default branch.
    pub async fn stacked(&self, cancel: &CancellationToken) -> Result<Option<Stack>> {
        let Some(stack) = self.repo().stack_of(self.short()).await? else {
            return Ok(None);
        };
        let default = self.repo().default_ref();
        let left = self.repo().left(self.git(), self.short(), "HEAD", cancel);
        let here = left.await?.as_deref() == Some(stack.at.as_str());
        // The default branch may have got the very commits of the branch below.
        let (git, at) = (self.git(), stack.at.as_str());
        let stands = here && !git.is_ancestor(at, &default, cancel).await?;
        Ok(stands.then_some(stack))
    }

    /// Puts the branch's own commits on the fetched default branch, now that what it
    /// stood on is part of that, and pushes. Does nothing to one that stands on no other.
    /// Fails as for [`Worktree::push`]; a conflict changes nothing.
    pub async fn unstack(&self, cancel: &CancellationToken) -> Result<CommitSha> {
        self.repo().fetch(cancel).await?;
        match self.stacked(cancel).await? {
            Some(_) => self.rebase_on_default(cancel).await,
            None => self.push(cancel).await,
        }
    }
}
