//! What a start finds: worktrees as they are, compared with what git remembers.
//! It repairs links and lock files of processes that are gone, and reports the
//! rest. It deletes no file and moves no branch.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use butler_protocol::BranchName;
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Repo, Result, Saved, Worktree,
    git::path_of,
    lock::FileLock,
    worktree::{
        name,
        ours::{Entry, MARK},
        status::{changes, unfinished},
    },
};

/// Older than any git command of ours may run.
const STALE: Duration = Duration::from_secs(600);

/// Something about one worktree that somebody should know at start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oddity {
    pub path: PathBuf,
    /// Its branch, if it is on one.
    pub branch: Option<BranchName>,
    pub what: Odd,
}

/// What can be odd about a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Odd {
    /// Its making was interrupted; [`Repo::create`] continues it.
    HalfMade,
    /// Its folder is gone; the branch is still there, and [`Repo::create`] or
    /// [`Repo::find`] bring the folder back.
    FolderGone,
    /// A folder among the worktrees that git does not know. Left alone.
    Stray,
    /// A rebase or the like was begun and not ended. A copy of everything is
    /// saved; [`Worktree::settle`] goes back to before it.
    Unfinished(&'static str),
    /// On no branch.
    Detached,
    /// Uncommitted changes in this many files.
    Uncommitted(usize),
    /// A git that was killed had left its lock on the index; it was moved aside.
    StaleLock,
}

impl Repo {
    /// Looks at every worktree of ours. Safe to run at any time, by any process.
    pub async fn reconcile(&self, cancel: &CancellationToken) -> Result<Vec<Oddity>> {
        let Some(branches) = self.branches_folder() else {
            return Ok(Vec::new());
        };
        let folders = folders(&branches);
        let entries = self.entries().await?;
        let mut odd = Vec::new();
        for entry in entries.iter().filter(|entry| entry.mark.is_some()) {
            let again = |other: &Entry| other.is_whole() && other.mark == entry.mark;
            if entry.is_whole() || !entries.iter().any(again) {
                self.look_at(entry, &mut odd, cancel).await?;
            }
        }
        for path in folders {
            if !entries.iter().any(|entry| entry.path == path) {
                odd.push(Oddity {
                    path,
                    branch: None,
                    what: Odd::Stray,
                });
            }
        }
        Ok(odd)
    }

    async fn look_at(
        &self,
        entry: &Entry,
        odd: &mut Vec<Oddity>,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let mut note = |what| {
            odd.push(Oddity {
                path: entry.path.clone(),
                branch: entry.branch.clone(),
                what,
            });
        };
        if entry.making {
            note(Odd::HalfMade);
            return Ok(());
        }
        if !entry.is_whole() {
            note(Odd::FolderGone);
            return Ok(());
        }
        let git = self.git().elsewhere(&entry.path);
        let git_dir = git.git_dir()?;
        let folder = entry.path.file_name().unwrap_or_default().to_string_lossy();
        let lock = folder_lock(&folder);
        if let Some(_writer) = FileLock::try_take(&self.lock_file(&format!("{lock}.writer")))?
            && move_stale_lock(&git_dir)
        {
            note(Odd::StaleLock);
        }
        // Our own checkouts of single commits are meant to be on no branch.
        let ours = !folder.starts_with('_');
        if let Some(operation) = unfinished(&git_dir) {
            self.save_state(&git, &lock, "found unfinished at start", cancel)
                .await?;
            note(Odd::Unfinished(operation));
        } else if ours && entry.branch.is_none() {
            note(Odd::Detached);
        }
        match changes(&git, cancel).await?.len() {
            0 => {}
            count => note(Odd::Uncommitted(count)),
        }
        Ok(())
    }

    /// A clone that was moved leaves its worktrees pointing to the old place. Not by
    /// `git worktree repair`, which writes into the person's worktrees too.
    /// Costs a look at a few files, and is done whenever the clone is opened.
    pub(crate) async fn repair(&self, cancel: &CancellationToken) -> Result<()> {
        let folders = self.branches_folder().map(|branches| folders(&branches));
        let folders = folders.unwrap_or_default();
        let broken: Vec<_> = folders.iter().filter_map(|path| cut_off(path)).collect();
        if broken.is_empty() {
            return Ok(());
        }
        let _alone = self.alone(cancel).await?;
        for (path, id) in broken {
            let git_dir = self.common().join("worktrees").join(id);
            let pointer = git_dir.join("gitdir");
            let Ok(old) = fs::read_to_string(&pointer) else {
                continue;
            };
            // Of the same name and nowhere else: it is this one.
            let old = Path::new(old.trim_end());
            let same = old.parent().and_then(Path::file_name) == path.file_name();
            if same && !old.exists() && git_dir.join(MARK).exists() {
                let dot = path.join(".git");
                fs::write(&dot, format!("gitdir: {}\n", git_dir.display()))
                    .map_err(Error::file(&dot))?;
                fs::write(&pointer, format!("{}\n", dot.display()))
                    .map_err(Error::file(&pointer))?;
            }
        }
        Ok(())
    }
}

impl Worktree {
    /// Goes back to before an unfinished rebase, merge or the like. Everything
    /// is saved first, conflict marks and all. Nothing unfinished, nothing done.
    pub async fn settle(&self, cancel: &CancellationToken) -> Result<Option<Saved>> {
        let writer = self.writer(cancel).await?;
        let Some(operation) = unfinished(&self.git().git_dir()?) else {
            return Ok(None);
        };
        self.stand_aside(cancel).await?;
        let repo = self.repo();
        let saved = repo
            .save_state(self.git(), self.short(), "before going back", cancel)
            .await?;
        let abort: &[&str] = match operation {
            "bisect" => &["bisect", "reset"],
            "merge" => &["merge", "--abort"],
            "cherry-pick" => &["cherry-pick", "--abort"],
            "revert" => &["revert", "--abort"],
            _ => &["rebase", "--abort"],
        };
        let tip = repo.resolve(&format!("refs/heads/{}", self.branch)).await?;
        let left = self.leave_branch(cancel).await?;
        self.git().call(abort).holding(&writer).run(cancel).await?;
        if let Some(tip) = tip {
            self.come_back(left, &tip).await?;
        }
        Ok(saved)
    }
}

fn folders(branches: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir(branches)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && !path.is_symlink())
        .collect();
    folders.sort();
    folders
}

/// The name of a folder's lock: the thread's short id, or the folder itself.
fn folder_lock(folder: &str) -> String {
    let branch = BranchName::new(format!("{}{folder}", name::BRANCH_PREFIX));
    match name::short_of(&branch) {
        Some(short) if !folder.starts_with('_') => short.to_owned(),
        _ => folder.to_owned(),
    }
}

/// A folder whose git state is not where it says, and the name of that state.
fn cut_off(path: &Path) -> Option<(&Path, OsString)> {
    let text = fs::read(path.join(".git")).ok()?;
    let target = path_of(text.strip_prefix(b"gitdir: ")?.trim_ascii_end());
    let id = target.file_name()?.to_owned();
    (!target.exists()).then_some((path, id))
}

/// Moves an index lock aside whose maker must be gone: we hold the writer's
/// lock, and it is older than any command may take. A person's own git in the
/// worktree does not know our locks, hence the age.
pub(crate) fn move_stale_lock(git_dir: &Path) -> bool {
    let lock = git_dir.join("index.lock");
    let old = fs::metadata(&lock)
        .and_then(|meta| meta.modified())
        .is_ok_and(|at| {
            SystemTime::now()
                .duration_since(at)
                .is_ok_and(|age| age > STALE)
        });
    old && fs::rename(&lock, git_dir.join("index.lock.stale")).is_ok()
}
