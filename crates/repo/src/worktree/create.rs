//! Making a thread's worktree, and finding it again.
//!
//! A worktree is made in small steps, each of which may be the last before a
//! crash: branch, empty worktree (locked by git with a reason of ours), mark,
//! files, unlock, push. Making it again continues where the first attempt stopped.
//!
//! Where somebody else has the thread's branch checked out, the worktree is on no
//! branch: the branch on the remote is the thread's, the local one is left alone.

use std::{
    fs,
    path::{Path, PathBuf},
};

use butler_protocol::{BranchName, CommitSha, ThreadId, fault};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Repo, Result, Worktree,
    lock::FileLock,
    worktree::{
        name,
        ours::{Entry, making},
    },
};

/// What a new worktree shows.
#[derive(Debug, Clone)]
pub(crate) enum Shows<'a> {
    /// A branch, which exists and which nobody has checked out.
    Branch(&'a BranchName),
    /// A commit, on no branch.
    Commit(&'a CommitSha),
}

impl Repo {
    /// The worktree of a thread, made if there is none: its branch
    /// `codebutler/<slug>-<id>` from the fetched default branch, or the branch
    /// that another machine already pushed; and pushed.
    /// Fails when the remote cannot be reached or a step of git fails. Calling again continues.
    pub async fn create(
        &self,
        thread: &ThreadId,
        title: &str,
        cancel: &CancellationToken,
    ) -> Result<Worktree> {
        if let Some(there) = self.here(thread).await?
            && (self.remote().is_none()
                || self
                    .resolve(&self.tracking_ref(&there.branch))
                    .await?
                    .is_some())
        {
            return Ok(there);
        }
        let writer = self.writer(&thread.short(), cancel).await?;
        self.fetch(cancel).await?;
        let branch = match self.branch_of(thread, cancel).await? {
            Some(branch) => branch,
            None => name::branch(thread, title),
        };
        self.working(&branch, &writer, cancel).await
    }

    /// The worktree of a thread, if this clone or the remote knows its branch.
    /// A branch that is only on the remote gets its worktree here.
    /// Fails when the remote has to be asked and cannot be reached.
    pub async fn find(&self, thread: &ThreadId) -> Result<Option<Worktree>> {
        let cancel = CancellationToken::new();
        if let Some(there) = self.here(thread).await? {
            return Ok(Some(there));
        }
        if self.remote().is_some() {
            let pattern = format!("{}*-{}", name::BRANCH_PREFIX, thread.short());
            self.fetch_refs(
                &[format!(
                    "+refs/heads/{pattern}:{}",
                    self.tracking_ref(&BranchName::new(&pattern))
                )],
                &cancel,
            )
            .await?;
        }
        let Some(branch) = self.branch_of(thread, &cancel).await? else {
            return Ok(None);
        };
        let writer = self.writer(&thread.short(), &cancel).await?;
        self.working(&branch, &writer, &cancel).await.map(Some)
    }

    /// Every thread's worktree in this clone, knowledge worktrees left out.
    pub async fn list(&self, _cancel: &CancellationToken) -> Result<Vec<Worktree>> {
        let entries = self.entries().await?.into_iter();
        let made = entries.filter(|entry| entry.is_whole() && !entry.making);
        Ok(made
            .filter_map(|entry| {
                let branch = entry.for_branch().filter(|b| !name::is_knowledge(b))?;
                Some(Worktree::new(self, &entry.path, branch))
            })
            .collect())
    }

    /// The complete worktree of a thread in this clone.
    pub(crate) async fn here(&self, thread: &ThreadId) -> Result<Option<Worktree>> {
        let all = self.list(&CancellationToken::new()).await?;
        Ok(all
            .into_iter()
            .find(|worktree| name::belongs_to(&worktree.branch, thread)))
    }

    /// The branch of a thread, local before remote.
    pub(crate) async fn branch_of(
        &self,
        thread: &ThreadId,
        cancel: &CancellationToken,
    ) -> Result<Option<BranchName>> {
        if let Some(local) = self.branches_of(thread, "refs/heads/", cancel).await?.pop() {
            return Ok(Some(local));
        }
        let Some(remote) = self.remote() else {
            return Ok(None);
        };
        let root = format!("refs/remotes/{}/", remote.name);
        Ok(self.branches_of(thread, &root, cancel).await?.pop())
    }

    /// The working branches of a thread below a root of refs.
    pub(crate) async fn branches_of(
        &self,
        thread: &ThreadId,
        root: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<BranchName>> {
        let names = self
            .git()
            .call(["for-each-ref", "--format=%(refname)", "--sort=-refname"])
            .arg(format!("{root}codebutler/"))
            .run(cancel)
            .await?;
        Ok(names
            .lines()
            .filter_map(|name| Some(BranchName::new(name.strip_prefix(root)?)))
            .filter(|branch| name::belongs_to(branch, thread))
            .collect())
    }

    /// The worktree of a branch of ours: whatever is missing of branch, folder,
    /// files and remote branch is made.
    pub(crate) async fn working(
        &self,
        branch: &BranchName,
        writer: &FileLock,
        cancel: &CancellationToken,
    ) -> Result<Worktree> {
        let there = self.ours(branch.as_str()).await?;
        let own = there.as_ref().map(|entry| entry.git_dir.as_path());
        let holder = self.holder(branch, own).await?;
        if let Some(holder) = &holder {
            tracing::warn!(%branch, holder = %holder.display(), "the thread's branch is checked out elsewhere; the team leaves the local one alone and works on no branch");
        }
        let asleep = self.sleeping(branch);
        let tip;
        let shows = match asleep {
            Some(asleep) if asleep.on_no_branch || holder.is_some() => {
                tip = asleep.tip;
                Shows::Commit(&tip)
            }
            None if holder.is_some() => {
                tip = self.tip_beside(branch).await?;
                Shows::Commit(&tip)
            }
            _ => {
                let fresh = there.is_none() && asleep.is_none();
                self.make_branch(branch, fresh, cancel).await?;
                Shows::Branch(branch)
            }
        };
        let path = self
            .check_out(branch.as_str(), &shows, writer, cancel)
            .await?;
        let worktree = Worktree::new(self, &path, branch.clone());
        worktree.publish(writer, cancel).await?;
        Ok(worktree)
    }

    /// Where a worktree begins whose branch somebody else has: where the remote is,
    /// or where the branch is.
    async fn tip_beside(&self, branch: &BranchName) -> Result<CommitSha> {
        for name in [self.tracking_ref(branch), format!("refs/heads/{branch}")] {
            if let Some(tip) = self.resolve(&name).await? {
                return Ok(tip);
            }
        }
        self.start(branch).await
    }

    /// The local branch, made if it is missing; for a `fresh` worktree brought up
    /// to the remote's if it is only behind.
    async fn make_branch(
        &self,
        branch: &BranchName,
        fresh: bool,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let local = format!("refs/heads/{branch}");
        let theirs = self.resolve(&self.tracking_ref(branch)).await?;
        let (to, from) = match (self.resolve(&local).await?, theirs) {
            (None, Some(theirs)) => (theirs, String::new()),
            (None, None) => (self.start(branch).await?, String::new()),
            (Some(at), Some(theirs)) if fresh && at != theirs => {
                let git = self.git();
                if !git
                    .is_ancestor(at.as_str(), theirs.as_str(), cancel)
                    .await?
                {
                    return Ok(());
                }
                (theirs, at.to_string())
            }
            _ => return Ok(()),
        };
        fault("repo.before-branch");
        let made = self
            .git()
            .call(["update-ref", "-m", "codebutler: new branch", &local])
            .args([to.as_str(), &from])
            .run(cancel)
            .await;
        if made.is_err() && self.resolve("refs/heads/codebutler").await?.is_some() {
            let branch = branch.clone();
            return Err(Error::InTheWay { branch });
        }
        made?;
        fault("repo.after-branch");
        Ok(())
    }

    async fn start(&self, branch: &BranchName) -> Result<CommitSha> {
        let short = name::short_of(branch).unwrap_or_default();
        let stack = self.stack_of(short).await?;
        if let Some(stack) = stack.filter(|_| !name::is_knowledge(branch)) {
            return Ok(stack.at);
        }
        let start = self.resolve(&self.default_ref()).await?;
        start.ok_or_else(|| Error::Empty {
            branch: self.default_branch().clone(),
        })
    }

    /// Our worktree for `mark` with all its files; gives its folder. One that is
    /// there is left as it is.
    pub(crate) async fn check_out(
        &self,
        mark: &str,
        shows: &Shows<'_>,
        writer: &FileLock,
        cancel: &CancellationToken,
    ) -> Result<PathBuf> {
        let entry = {
            let alone = self.alone(cancel).await?;
            self.add(mark, shows, &alone, cancel).await?
        };
        if !entry.making {
            return Ok(entry.path);
        }
        let git = self.git().elsewhere(&entry.path);
        clear_index_lock(&entry.git_dir);
        self.bring(&git, &["HEAD"], cancel).await?;
        fault("repo.before-files");
        // Not by `reset`, which would write the branch too.
        git.call(["read-tree", "--reset", "-u", "HEAD"])
            .holding(writer)
            .run(cancel)
            .await?;
        fault("repo.after-files");
        if let Some(branch) = entry.for_branch() {
            match self.sleeping(&branch) {
                Some(_) => self.wake(&branch, &entry, writer, cancel).await?,
                None => self.put_back_work(&branch, &git, writer, cancel).await?,
            }
        }
        fault("repo.before-unlock");
        entry.set_made()?;
        fault("repo.after-unlock");
        if let Some(branch) = entry.for_branch() {
            self.forget_sleep(&name::lock_name(&branch)).await;
        }
        Ok(entry.path)
    }

    /// Our worktree for `mark`, added without files if there is none.
    async fn add(
        &self,
        mark: &str,
        shows: &Shows<'_>,
        alone: &FileLock,
        cancel: &CancellationToken,
    ) -> Result<Entry> {
        let branches = self.make_branches_folder()?;
        let mut taken = Vec::new();
        for entry in self.entries().await? {
            if entry.is(mark) && !entry.going {
                entry.write_mark(mark)?;
                return Ok(entry);
            }
            match entry.going {
                true => self.take_rest_away(&entry).await?,
                false => taken.push(entry.path),
            }
        }
        let path = free_place(&branches, &folder_name(mark), &taken);
        fault("repo.before-add");
        // Forced past a branch that is checked out in a folder that is gone:
        // that nobody else has it was seen before.
        let call = self
            .git()
            .call(["worktree", "add", "--quiet", "--no-checkout", "--lock"])
            .args(["--force", "--reason", &making(mark)]);
        let call = match shows {
            Shows::Branch(branch) => call.arg(&path).arg(branch.as_str()),
            Shows::Commit(commit) => call.arg("--detach").arg(&path).arg(commit.as_str()),
        };
        call.holding(alone).run(cancel).await?;
        fault("repo.after-add");
        let added = self.ours(mark).await?;
        let added = added.ok_or(Error::NotARepo { path })?;
        added.write_mark(mark)?;
        Ok(added)
    }
}

/// The usual folder of what a mark names.
fn folder_name(mark: &str) -> String {
    let branch = BranchName::new(mark);
    match name::is_ours(&branch) {
        true => name::folder(Path::new(""), &branch).display().to_string(),
        false => mark.to_owned(),
    }
}

/// A folder that is free. What stands in the usual place without being ours is
/// somebody's, and so is what git remembers there.
fn free_place(branches: &Path, name: &str, taken: &[PathBuf]) -> PathBuf {
    let numbered = (2..u32::MAX).map(|n| branches.join(format!("{name}-{n}")));
    let mut places = std::iter::once(branches.join(name)).chain(numbered);
    let is_free = |path: &PathBuf| !taken.contains(path) && fs::symlink_metadata(path).is_err();
    places.find(is_free).unwrap_or_else(|| branches.join(name))
}

/// We hold the writer's lock, and so did any git of ours that made this file:
/// whoever made it is gone.
pub(crate) fn clear_index_lock(git_dir: &Path) {
    let lock = git_dir.join("index.lock");
    if fs::remove_file(&lock).is_ok() {
        tracing::warn!(lock = %lock.display(), "took away the index lock of a git that was killed");
    }
}
