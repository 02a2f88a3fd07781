//! Making a thread's worktree, and finding it again.
//!
//! A worktree is made in small steps, each of which may be the last before a
//! crash: branch, empty worktree (locked by git with a reason of ours), files,
//! unlock, push. Making it again continues where the first attempt stopped.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use butler_vocab::{BranchName, CommitSha, ThreadId, fault};
use tokio_util::sync::CancellationToken;

use crate::{Error, Output, Repo, Result, Worktree, git::path_of, lock::FileLock, name};

/// Git's own lock on a worktree whose files are not all there yet.
pub(crate) const MAKING: &str = "codebutler: being made";

/// How long a listing waits for a worktree that is being made.
const LIST_PAUSES: [Duration; 5] = [
    Duration::from_millis(10),
    Duration::from_millis(30),
    Duration::from_millis(90),
    Duration::from_millis(270),
    Duration::from_millis(810),
];

/// A worktree as git lists it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub path: PathBuf,
    pub branch: Option<BranchName>,
    pub making: bool,
}

/// What a new worktree shows.
#[derive(Debug, Clone)]
pub(crate) enum Shows<'a> {
    /// A branch, which exists.
    Branch(&'a BranchName),
    /// A commit, on no branch.
    Commit(&'a CommitSha),
}

impl Repo {
    /// The worktree of a thread, made if there is none: its branch
    /// `codebutler/<slug>-<id>` from the fetched default branch, or the branch
    /// that another machine already pushed; and pushed.
    ///
    /// # Errors
    /// When the remote cannot be reached or a step of git fails. Calling again
    /// continues.
    pub async fn create(
        &self,
        thread: &ThreadId,
        title: &str,
        cancel: &CancellationToken,
    ) -> Result<Worktree> {
        if let Some(there) = self.here(thread, cancel).await?
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
    ///
    /// # Errors
    /// When the remote has to be asked and cannot be reached.
    pub async fn find(&self, thread: &ThreadId) -> Result<Option<Worktree>> {
        let cancel = CancellationToken::new();
        if let Some(there) = self.here(thread, &cancel).await? {
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
    ///
    /// # Errors
    /// When git cannot be run.
    pub async fn list(&self, cancel: &CancellationToken) -> Result<Vec<Worktree>> {
        let entries = self.entries(cancel).await?;
        Ok(entries
            .into_iter()
            .filter(|entry| !entry.making && entry.path.join(".git").exists())
            .filter_map(|entry| {
                let branch = entry.branch.filter(name::is_ours)?;
                let hidden = entry.path.file_name()?.to_str()?.starts_with('_');
                (!hidden).then(|| Worktree::new(self, &entry.path, branch))
            })
            .collect())
    }

    /// The complete worktree of a thread in this clone.
    pub(crate) async fn here(
        &self,
        thread: &ThreadId,
        cancel: &CancellationToken,
    ) -> Result<Option<Worktree>> {
        let all = self.list(cancel).await?;
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
        let mut roots = vec!["refs/heads/".to_owned()];
        roots.extend(self.remote().map(|r| format!("refs/remotes/{}/", r.name)));
        for root in roots {
            let names = self
                .git()
                .call(["for-each-ref", "--format=%(refname)"])
                .arg(format!("{root}codebutler/"))
                .run(cancel)
                .await?;
            let found = names.lines().find_map(|name| {
                let branch = BranchName::new(name.strip_prefix(&root)?);
                name::belongs_to(&branch, thread).then_some(branch)
            });
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The worktree of a branch of ours: whatever is missing of branch, folder,
    /// files and remote branch is made.
    pub(crate) async fn working(
        &self,
        branch: &BranchName,
        writer: &FileLock,
        cancel: &CancellationToken,
    ) -> Result<Worktree> {
        let local = format!("refs/heads/{branch}");
        let theirs = self.resolve(&self.tracking_ref(branch)).await?;
        if self.resolve(&local).await?.is_none() {
            let start = match theirs {
                Some(commit) => commit,
                None => self.start().await?,
            };
            fault("worktree.before-branch");
            self.git()
                .call(["update-ref", "-m", "codebutler: new branch", &local])
                .args([start.as_str(), ""])
                .run(cancel)
                .await?;
            fault("worktree.after-branch");
        }
        let path = name::folder(&self.make_room()?, branch);
        self.check_out(&path, &Shows::Branch(branch), writer, cancel)
            .await?;
        let worktree = Worktree::new(self, &path, branch.clone());
        worktree.publish(writer, cancel).await?;
        Ok(worktree)
    }

    /// Where new branches start.
    async fn start(&self) -> Result<CommitSha> {
        let start = self.resolve(&self.default_ref()).await?;
        start.ok_or_else(|| Error::Empty {
            branch: self.default_branch().clone(),
        })
    }

    /// A worktree at `path` with all its files. One that is there is left as it is.
    pub(crate) async fn check_out(
        &self,
        path: &Path,
        shows: &Shows<'_>,
        writer: &FileLock,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let making = {
            let alone = self.alone(cancel).await?;
            self.add(path, shows, &alone, cancel).await?
        };
        if !making {
            return Ok(());
        }
        let git = self.git().elsewhere(path);
        clear_index_lock(&git.git_dir()?);
        fault("worktree.before-files");
        git.call(["reset", "--quiet", "--hard", "HEAD"])
            .holding(writer)
            .run(cancel)
            .await?;
        fault("worktree.after-files");
        if let Shows::Branch(branch) = shows {
            self.wake(branch, path, writer, cancel).await?;
        }
        let alone = self.alone(cancel).await?;
        fault("worktree.before-unlock");
        self.git()
            .call(["worktree", "unlock"])
            .arg(path)
            .holding(&alone)
            .run(cancel)
            .await?;
        fault("worktree.after-unlock");
        if let Shows::Branch(branch) = shows {
            self.forget_sleep(&name::lock_name(branch));
        }
        Ok(())
    }

    /// Adds an empty worktree; says whether its files are still to come.
    async fn add(
        &self,
        path: &Path,
        shows: &Shows<'_>,
        alone: &FileLock,
        cancel: &CancellationToken,
    ) -> Result<bool> {
        let entries = self.entries(cancel).await?;
        if let Some(entry) = entries.iter().find(|entry| entry.path == path) {
            if path.join(".git").exists() {
                return Ok(entry.making);
            }
            // Its folder was deleted by hand; git only remembers it.
            put_aside(path)?;
            self.forget(path, alone, cancel).await?;
        }
        put_aside(path)?;
        fault("worktree.before-add");
        let call = self
            .git()
            .call(["worktree", "add", "--quiet", "--no-checkout", "--lock"])
            .args(["--reason", MAKING]);
        let call = match shows {
            Shows::Branch(branch) => call.arg(path).arg(branch.as_str()),
            Shows::Commit(commit) => call.arg("--detach").arg(path).arg(commit.as_str()),
        };
        call.holding(alone).run(cancel).await?;
        fault("worktree.after-add");
        Ok(true)
    }

    /// Makes git forget a worktree and deletes what is left of its folder.
    pub(crate) async fn forget(
        &self,
        path: &Path,
        alone: &FileLock,
        cancel: &CancellationToken,
    ) -> Result<()> {
        self.git()
            .call(["worktree", "remove", "--force", "--force"])
            .arg(path)
            .holding(alone)
            .run(cancel)
            .await
            .map(drop)
    }

    /// Git cannot list worktrees while another process is half-way through
    /// making one: its folder is there and its files are not. A moment later it
    /// can; what fails every time is a real failure.
    async fn listing(&self, cancel: &CancellationToken) -> Result<Output> {
        let list = || {
            let call = self.git().call(["worktree", "list", "--porcelain", "-z"]);
            call.run(cancel)
        };
        for pause in LIST_PAUSES {
            match list().await {
                Err(error) if error.is_exit(128) => tokio::time::sleep(pause).await,
                done => return done,
            }
        }
        list().await
    }

    /// Every worktree that git knows of.
    pub(crate) async fn entries(&self, cancel: &CancellationToken) -> Result<Vec<Entry>> {
        let listing = self.listing(cancel).await?;
        let mut entries: Vec<Entry> = Vec::new();
        for line in listing.fields() {
            let (word, rest) = match line.iter().position(|b| *b == b' ') {
                Some(at) => (&line[..at], &line[at + 1..]),
                None => (line, &[][..]),
            };
            match (word, entries.last_mut()) {
                (b"worktree", _) => entries.push(Entry {
                    path: path_of(rest),
                    ..Entry::default()
                }),
                (b"branch", Some(entry)) => {
                    let name = String::from_utf8_lossy(rest);
                    entry.branch = name.strip_prefix("refs/heads/").map(BranchName::new);
                }
                (b"locked", Some(entry)) => entry.making = rest == MAKING.as_bytes(),
                _ => {}
            }
        }
        Ok(entries)
    }
}

/// A folder in our place that git does not know may hold somebody's work: it is
/// renamed, never deleted. An empty one can stay.
fn put_aside(path: &Path) -> Result<()> {
    if fs::symlink_metadata(path).is_err() || fs::remove_dir(path).is_ok() {
        return Ok(());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let free = (1..u32::MAX)
        .map(|n| path.with_file_name(format!("_left-{n}-{name}")))
        .find(|other| fs::symlink_metadata(other).is_err());
    match free {
        Some(other) => {
            tracing::warn!(from = %path.display(), to = %other.display(), "an unknown folder stood in a worktree's place; it was renamed");
            fs::rename(path, &other).map_err(Error::file(path))
        }
        None => Ok(()),
    }
}

/// We hold the writer's lock, and so did any git of ours that made this file:
/// whoever made it is gone.
pub(crate) fn clear_index_lock(git_dir: &Path) {
    let lock = git_dir.join("index.lock");
    if fs::remove_file(&lock).is_ok() {
        tracing::warn!(lock = %lock.display(), "took away the index lock of a git that was killed");
    }
}
