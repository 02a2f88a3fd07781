//! Putting a quiet thread's worktree to sleep, and waking it up as it was.
//!
//! What git can hold goes under a saved ref, as before every removal. What it
//! cannot (ignored files, the index, a rebase in the middle) is kept beside the
//! locks, under `codebutler/asleep/<id>`. The branch itself stays. Making the
//! worktree again, which any message in the thread leads to, puts all of it back.
//!
//! From the moment files are moved git's own lock marks the worktree as "being
//! made", so a crash on either way ends in a waking, never in half a worktree.

use std::{
    fs,
    path::{Path, PathBuf},
};

use butler_protocol::{BranchName, CommitSha, ThreadId, fault};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Git, Repo, Result, Worktree,
    git::path_of,
    lock::FileLock,
    refs::save::rebase_start,
    repo::resolve,
    worktree::{
        aside::is_detached,
        checkout::review_name,
        delete, name,
        ours::{Entry, MARK},
        status::unfinished,
    },
};

/// Belongs to the place of a worktree, not to its state.
const OF_THE_PLACE: &[&str] = &["gitdir", "commondir", "locked", MARK];

/// What is known of a sleeping worktree.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Asleep {
    /// Where its branch was. If it has moved since, the files are not put on it.
    pub tip: CommitSha,
    /// Whether it was on no branch, because somebody else had its own.
    #[serde(default)]
    pub on_no_branch: bool,
    /// The commit whose tree the files were.
    files: CommitSha,
    /// Moved, relative to the worktree.
    moved: Vec<PathBuf>,
}

impl Repo {
    /// Saves everything of a thread's worktree and takes its folder away;
    /// [`Repo::find`] and [`Repo::create`] bring it back as it was. Says whether
    /// there was one.
    /// Fails with [`Error::Busy`] while somebody holds the worktree's lock.
    pub async fn hibernate(&self, thread: &ThreadId, cancel: &CancellationToken) -> Result<bool> {
        let short = thread.short();
        let _held = self.lock_soon(thread).await?;
        let _writer = self.writer(&short, cancel).await?;
        let review = review_name(thread);
        let mut slept = false;
        for entry in self.entries().await? {
            if entry.may_go(|mark| mark == review) {
                self.take_away(&entry, &short, cancel).await?;
            }
            let Some(branch) = entry.for_branch() else {
                continue;
            };
            if !entry.may_go(|_| name::belongs_to(&branch, thread)) {
                continue;
            }
            // One that was being put to sleep is: only its folder is still to go.
            let going = entry.making || entry.going;
            if !going && !self.put_to_sleep(&entry, &branch, &short, cancel).await? {
                continue;
            }
            self.take_away(&entry, &short, cancel).await?;
            slept = true;
        }
        Ok(slept)
    }

    /// Says whether it could be: a folder of ours that somebody uses for another
    /// branch stays.
    async fn put_to_sleep(
        &self,
        entry: &Entry,
        branch: &BranchName,
        short: &str,
        cancel: &CancellationToken,
    ) -> Result<bool> {
        let worktree = Worktree::new(self, &entry.path, branch.clone());
        match worktree.stand_aside(cancel).await {
            Err(error @ Error::OtherBranch { .. }) => {
                tracing::warn!(%error, "not put to sleep");
                return Ok(false);
            }
            outcome => outcome?,
        }
        let (path, git) = (&entry.path, worktree.git());
        let missing = || Error::NotARepo { path: path.clone() };
        let head = resolve(git, "HEAD").await?.ok_or_else(missing)?;
        let on_no_branch = self.checked_out(&entry.git_dir).await?.is_empty();
        let tip = match on_no_branch {
            true => rebase_start(&entry.git_dir).unwrap_or_else(|| head.clone()),
            false => {
                let local = self.resolve(&format!("refs/heads/{branch}")).await?;
                local.ok_or_else(missing)?
            }
        };
        let saved = self.save_state(git, short, "hibernated", cancel).await?;
        let asleep = Asleep {
            tip,
            on_no_branch,
            files: saved.map_or(head, |saved| saved.commit),
            moved: beyond_git(git, cancel).await?,
        };
        let folder = self.asleep(short);
        self.write_down(&entry.git_dir, short, &asleep).await?;
        fault("repo.before-sleep");
        entry.set_making()?;
        fault("repo.after-sleep");
        move_all(path, &folder.join("files"), &asleep.moved)?;
        Ok(true)
    }

    /// The record is complete before its name is there. What an earlier sleep left
    /// is kept under another name: its files may be the only ones.
    async fn write_down(&self, git_dir: &Path, short: &str, asleep: &Asleep) -> Result<()> {
        let (folder, new) = (self.asleep(short), format!("{short}.new"));
        let beside = self.asleep(&new);
        self.forget_sleep(&new).await;
        copy(git_dir, &beside.join("git"), OF_THE_PLACE)?;
        let record = beside.join("asleep.json");
        let bytes = serde_json::to_vec(asleep).unwrap_or_default();
        fs::write(&record, bytes).map_err(Error::file(&record))?;
        match folder.join("files").exists() {
            true => put_away(&folder)?,
            false => self.forget_sleep(short).await,
        }
        fs::rename(&beside, &folder).map_err(Error::file(&folder))
    }

    /// What is known of a branch's sleeping worktree.
    pub(crate) fn sleeping(&self, branch: &BranchName) -> Option<Asleep> {
        read(&self.asleep(&name::lock_name(branch)))
    }

    /// Puts back what was kept of a sleeping worktree whose files are being made.
    pub(crate) async fn wake(
        &self,
        branch: &BranchName,
        entry: &Entry,
        writer: &FileLock,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let folder = self.asleep(&name::lock_name(branch));
        let Some(asleep) = read(&folder) else {
            return Ok(());
        };
        let path = &entry.path;
        let worktree = Worktree::new(self, path, branch.clone());
        let git = worktree.git();
        let came_back = unfinished(&entry.git_dir).is_some();
        if !came_back && resolve(git, "HEAD").await? != Some(asleep.tip) {
            tracing::warn!(%branch, "the branch moved while its worktree slept; what was saved stays under refs/codebutler/saved");
            return move_back(&folder.join("files"), path, &asleep.moved);
        }
        fault("repo.before-wake");
        git.call(["read-tree", "--reset", "-u"])
            .arg(format!("{}^{{tree}}", asleep.files))
            .holding(writer)
            .run(cancel)
            .await?;
        let kept = folder.join("git");
        let but: &[&str] = match is_detached(&kept) {
            true => OF_THE_PLACE,
            // It is on its branch again, or somebody else has that now.
            false => &[OF_THE_PLACE, &["HEAD"]].concat(),
        };
        copy(&kept, &entry.git_dir, but)?;
        worktree.stand_aside(cancel).await?;
        fault("repo.after-wake");
        move_back(&folder.join("files"), path, &asleep.moved)?;
        tracing::info!(%branch, "the worktree is back as it was");
        Ok(())
    }

    /// Forgets what was kept: it is in a worktree again, or a person ended the thread.
    pub(crate) async fn forget_sleep(&self, short: &str) {
        let way = ["codebutler", "asleep"];
        let gone = delete::folder(self.common(), &way, short, |_| true).await;
        if let Err(error) = gone {
            tracing::warn!(%error, short, "what was kept of a sleeping worktree is left behind");
        }
    }

    fn asleep(&self, short: &str) -> PathBuf {
        let locks = self.lock_file("");
        locks.with_file_name("asleep").join(short)
    }
}

/// Where the worktree has what no commit of ours holds: ignored files and nested
/// repositories, folders as a whole.
async fn beyond_git(git: &Git, cancel: &CancellationToken) -> Result<Vec<PathBuf>> {
    let list = async |extra: &[&str]| {
        git.call(["ls-files", "-z", "--others", "--exclude-standard"])
            .args(extra)
            .run(cancel)
            .await
    };
    let ignored = list(&["--ignored", "--directory"]).await?;
    let others = list(&[]).await?;
    let nested = others.fields().filter(|path| path.ends_with(b"/"));
    Ok(ignored
        .fields()
        .chain(nested)
        .map(|path| path_of(path.strip_suffix(b"/").unwrap_or(path)))
        .collect())
}

fn read(folder: &Path) -> Option<Asleep> {
    serde_json::from_slice(&fs::read(folder.join("asleep.json")).ok()?).ok()
}

fn put_away(folder: &Path) -> Result<()> {
    let mut free = (1..u32::MAX).map(|n| folder.with_extension(format!("{n}")));
    match free.find(|other| !other.exists()) {
        Some(other) => fs::rename(folder, &other).map_err(Error::file(folder)),
        None => Ok(()),
    }
}

/// Renames what is there; what a crash has already moved is not.
fn move_all(from: &Path, to: &Path, paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        let (old, new) = (from.join(path), to.join(path));
        if fs::symlink_metadata(&old).is_err() {
            continue;
        }
        if let Some(parent) = new.parent() {
            fs::create_dir_all(parent).map_err(Error::file(parent))?;
        }
        fs::rename(&old, &new).map_err(Error::file(&old))?;
    }
    Ok(())
}

/// The same back; a file that has appeared in the meantime is not replaced.
fn move_back(from: &Path, to: &Path, paths: &[PathBuf]) -> Result<()> {
    let free = |path: &&PathBuf| fs::symlink_metadata(to.join(path)).is_err();
    let paths: Vec<PathBuf> = paths.iter().filter(free).cloned().collect();
    move_all(from, to, &paths)
}

fn copy(from: &Path, to: &Path, but: &[&str]) -> Result<()> {
    fs::create_dir_all(to).map_err(Error::file(to))?;
    for entry in fs::read_dir(from).map_err(Error::file(from))? {
        let entry = entry.map_err(Error::file(from))?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if but.iter().any(|left| text == *left) || text.ends_with(".lock") {
            continue;
        }
        let (old, new) = (entry.path(), to.join(&name));
        if old.is_dir() {
            copy(&old, &new, &[])?;
        } else {
            fs::copy(&old, &new).map_err(Error::file(&old))?;
        }
    }
    Ok(())
}
