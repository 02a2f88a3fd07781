//! Taking a thread's worktree away, without losing anything: what is not on the
//! remote is saved first.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use butler_vocab::{BranchName, CommitSha, ThreadId, fault};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Git, Merged, Repo, Result,
    checkout::review_name,
    create::MAKING,
    name,
    repo::resolve,
    status::{changes, unfinished},
};

impl Repo {
    /// Removes a thread's worktree, local branch and review checkout. Anything
    /// that is only there is kept under `refs/codebutler/saved/<id>/…` first.
    /// The remote branch stays. Removing what is not there is fine.
    ///
    /// # Errors
    /// [`Error::Busy`] while somebody holds the worktree's lock.
    pub async fn remove(&self, thread: &ThreadId, cancel: &CancellationToken) -> Result<()> {
        let short = thread.short();
        let _held = self.try_lock(thread)?.ok_or_else(|| Error::Busy {
            what: format!("the worktree of {short}"),
        })?;
        let _writer = self.writer(&short, cancel).await?;
        let review = self.branches().join(review_name(thread));
        for entry in self.entries(cancel).await? {
            let mine = entry
                .branch
                .as_ref()
                .is_some_and(|branch| name::belongs_to(branch, thread));
            // A rebase detaches the head, so the folder's name counts too.
            let folder = entry.path.starts_with(self.branches())
                && entry.path.to_string_lossy().ends_with(&format!("-{short}"))
                && !entry.path.ends_with(format!("_knowledge-{short}"));
            if mine || folder || entry.path == review {
                self.take_away(&entry.path, &short, cancel).await?;
            }
        }
        self.drop_branches(thread, cancel).await?;
        self.forget_sleep(&short);
        Ok(())
    }

    /// Saves and removes one worktree.
    pub(crate) async fn take_away(
        &self,
        path: &Path,
        short: &str,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let git = self.git().elsewhere(path);
        let making = git
            .git_dir()
            .ok()
            .and_then(|dir| fs::read_to_string(dir.join("locked")).ok())
            .is_some_and(|reason| reason.trim() == MAKING);
        if path.join(".git").exists() && !making && !self.all_landed(&git, cancel).await? {
            self.save_state(&git, short, "worktree removed", cancel)
                .await?;
        }
        let alone = self.alone(cancel).await?;
        fault("worktree.before-remove");
        if let Err(error) = self.forget(path, &alone, cancel).await {
            // Build tools leave folders that nobody may write to.
            make_writable(path);
            tracing::debug!(%error, "removing again after opening the folders");
            if path.exists() {
                fs::remove_dir_all(path).map_err(Error::file(path))?;
            }
            if self.entries(cancel).await?.iter().any(|e| e.path == path) {
                self.forget(path, &alone, cancel).await?;
            }
        }
        fault("worktree.after-remove");
        Ok(())
    }

    /// Deletes the thread's local branches; saves those that nothing else holds.
    async fn drop_branches(&self, thread: &ThreadId, cancel: &CancellationToken) -> Result<()> {
        while let Some(branch) = self.local_branch_of(thread, cancel).await? {
            self.drop_branch(&branch, &thread.short(), cancel).await?;
        }
        Ok(())
    }

    /// Deletes one local branch; saves it if nothing else holds it.
    pub(crate) async fn drop_branch(
        &self,
        branch: &BranchName,
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let local = format!("refs/heads/{branch}");
        let Some(tip) = self.resolve(&local).await? else {
            return Ok(());
        };
        if !self.is_kept(&tip, cancel).await? && !self.landed(&tip, cancel).await? {
            self.save_commit(&tip, name, "branch removed", cancel)
                .await?;
        }
        fault("worktree.before-branch-drop");
        self.git()
            .call(["update-ref", "-d", &local, tip.as_str()])
            .run(cancel)
            .await?;
        fault("worktree.after-branch-drop");
        Ok(())
    }

    /// Whether a worktree holds nothing but work that is in the default branch.
    async fn all_landed(&self, git: &Git, cancel: &CancellationToken) -> Result<bool> {
        if unfinished(&git.git_dir()?).is_some() || !changes(git, cancel).await?.is_empty() {
            return Ok(false);
        }
        match resolve(git, "HEAD").await? {
            Some(head) => self.landed(&head, cancel).await,
            None => Ok(false),
        }
    }

    /// Whether the default branch has what a commit did, as after a squash: then
    /// no ref is needed to keep it. Work that adds up to nothing (made and taken
    /// back) has landed nowhere.
    async fn landed(&self, commit: &CommitSha, cancel: &CancellationToken) -> Result<bool> {
        let Some(how) = self.merged(commit, None, cancel).await? else {
            return Ok(false);
        };
        if how == Merged::ByHistory {
            return Ok(true);
        }
        let fork = self
            .git()
            .call(["merge-base", &self.default_ref(), commit.as_str()])
            .accept(&[0, 1])
            .run(cancel)
            .await?
            .text();
        let same = self
            .git()
            .call(["diff", "--quiet", &fork, commit.as_str()])
            .accept(&[0, 1, 128, 129])
            .run(cancel)
            .await?;
        Ok(same.code == 1)
    }

    async fn local_branch_of(
        &self,
        thread: &ThreadId,
        cancel: &CancellationToken,
    ) -> Result<Option<BranchName>> {
        let Some(branch) = self.branch_of(thread, cancel).await? else {
            return Ok(None);
        };
        let there = self.resolve(&format!("refs/heads/{branch}")).await?;
        Ok(there.map(|_| branch))
    }
}

fn make_writable(path: &Path) {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return;
    };
    if !meta.is_dir() {
        return;
    }
    let mut mode = meta.permissions();
    mode.set_mode(mode.mode() | 0o700);
    let _ = fs::set_permissions(path, mode);
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        make_writable(&entry.path());
    }
}
