//! Taking a thread's worktree away, without losing anything: what is not on the
//! remote is saved first.

use std::{ffi::OsStr, fs, io, os::fd::OwnedFd, path::Path};

use butler_protocol::{BranchName, CommitSha, ThreadId, fault};
use rustix::fs::{Mode, OFlags, openat};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Git, Merged, Repo, Result,
    repo::{BRANCHES, resolve},
    worktree::{
        checkout::review_name,
        delete, name,
        ours::{Entry, Place},
        status::{changes, unfinished},
    },
};

impl Repo {
    /// Removes a thread's worktree, local branch and review checkout. Anything
    /// that is only there is kept under `refs/codebutler/saved/<id>/…` first.
    /// The remote branch stays. Removing what is not there is fine.
    /// Fails with [`Error::Busy`] while somebody holds the worktree's lock.
    pub async fn remove(&self, thread: &ThreadId, cancel: &CancellationToken) -> Result<()> {
        let short = thread.short();
        let _held = self.lock_soon(thread).await?;
        let _writer = self.writer(&short, cancel).await?;
        let review = review_name(thread);
        let of_it = |mark: &str| mark == review || name::belongs_to(&BranchName::new(mark), thread);
        let mut had_files = false;
        for entry in self.entries().await? {
            if entry.may_go(of_it) {
                had_files |= entry.for_branch().is_some();
                self.take_away(&entry, &short, cancel).await?;
            }
        }
        if !had_files {
            // Its folder was deleted: what was kept of it is all there is.
            self.save_work(&short, "worktree removed", cancel).await?;
        }
        for branch in self.branches_of(thread, "refs/heads/", cancel).await? {
            self.drop_branch(&branch, &short, cancel).await?;
        }
        self.forget_sleep(&short).await;
        self.unstack(&short, cancel).await?;
        self.forget_work(&short, cancel).await
    }

    /// Saves and removes one worktree of ours.
    pub(crate) async fn take_away(
        &self,
        entry: &Entry,
        short: &str,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let git = self.git().elsewhere(&entry.path);
        if !entry.making && !entry.going && !self.all_landed(&git, cancel).await? {
            self.save_state(&git, short, "worktree removed", cancel)
                .await?;
        }
        let _alone = self.alone(cancel).await?;
        fault("repo.before-remove");
        entry.set_going()?;
        self.take_rest_away(entry).await?;
        fault("repo.after-remove");
        Ok(())
    }

    /// Deletes what is left of a worktree that is going: its folder, then what
    /// git remembers of it.
    pub(crate) async fn take_rest_away(&self, entry: &Entry) -> Result<()> {
        let name = |path: &Path| path.file_name().and_then(OsStr::to_str).map(str::to_owned);
        let (Some(folder), Some(id)) = (name(&entry.path), name(&entry.git_dir)) else {
            return Ok(());
        };
        if entry.place == Place::Whole {
            let git_dir = entry.git_dir.clone();
            let leads = move |opened: &OwnedFd| leads_there(opened, &git_dir);
            delete::folder(self.root(), BRANCHES, &folder, leads).await?;
        } else if self.branches_folder().as_deref() == entry.path.parent() {
            // Killed before the last step: it is empty, or it is not ours.
            let _ = fs::remove_dir(&entry.path);
        }
        // Hidden from git at once, so that it never sees half of it.
        let gone = format!("gone-{id}");
        let ours = self.common().join("codebutler");
        delete::folder(self.common(), &["codebutler"], &gone, |_| true).await?;
        fs::rename(&entry.git_dir, ours.join(&gone)).map_err(Error::file(&entry.git_dir))?;
        delete::folder(self.common(), &["codebutler"], &gone, |_| true).await?;
        // As git does when the last one goes.
        let _ = fs::remove_dir(self.common().join("worktrees"));
        Ok(())
    }

    /// Deletes one local branch unless somebody has it checked out; saves it if
    /// nothing else holds it.
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
        if let Some(holder) = self.holder(branch, None).await? {
            tracing::info!(%branch, holder = %holder.display(), "left alone: it is checked out");
            return Ok(());
        }
        if !self.is_kept(&tip, cancel).await? && !self.landed(&tip, cancel).await? {
            self.save_commit(&tip, name, "branch removed", cancel)
                .await?;
        }
        fault("repo.before-branch-drop");
        self.git()
            .call(["update-ref", "-d", &local, tip.as_str()])
            .run(cancel)
            .await?;
        fault("repo.after-branch-drop");
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
        let git = self.git();
        let default = self.default_ref();
        let fork = git.merge_base(&default, commit.as_str(), cancel).await?;
        let same = git
            .call(["diff", "--quiet", &fork, commit.as_str()])
            .accept(&[0, 1, 128, 129])
            .run(cancel)
            .await?;
        Ok(same.code == 1)
    }
}

/// Whether an opened folder's `.git` is the file that names this git state.
fn leads_there(opened: &OwnedFd, git_dir: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(file) = openat(opened, ".git", flags, Mode::empty()) else {
        return false;
    };
    let text = io::read_to_string(fs::File::from(file)).unwrap_or_default();
    let Some(named) = text.strip_prefix("gitdir: ") else {
        return false;
    };
    Path::new(named.trim_end())
        .canonicalize()
        .is_ok_and(|named| named == git_dir)
}
