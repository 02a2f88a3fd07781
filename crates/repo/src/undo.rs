//! Undo: before something may delete or overwrite files, they are saved under
//! `refs/codebutler/saved/<name>/<n>`, and can be brought back byte for byte.
//!
//! Saved is every file that git does not ignore, untracked ones too, as its bytes
//! are on disk: no filter and no line-end rule of the repository plays a part. A
//! save costs nothing when none has changed, and a look at those that were touched where the
//! kernel tells which (see [`watch`]); else a walk over all of them. The first
//! one is written by git, which is told the bytes and never looks at the files itself;
//! later ones are a few objects that are written here.
//!
//! Not saved: ignored files, empty folders, owners, and rights but "executable".
//!
//! What is old goes in time, see [`prune`].

mod beneath;
mod files;
mod ignored;
mod prune;
mod restore;
mod store;
mod stream;
mod trees;
mod watch;
mod write;

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use butler_protocol::CommitSha;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::{Error, Git, Result, Saved, git::path_of, refs::save};
use files::{Change, Files};
use trees::Trees;

/// The line of a saved commit that says which folder it is of.
const FOLDER: &str = "CodeButler-Folder: ";

/// Saves one folder. Remembers what it saved, so it is made once and kept.
#[derive(Debug)]
pub struct Undo {
    git: Git,
    root: PathBuf,
    name: String,
    last: Mutex<Option<Last>>,
}

#[derive(Debug)]
struct Last {
    saved: Saved,
    files: Files,
    tracked: Tracked,
    /// Where the next save can be written without git.
    trees: Option<Trees>,
}

/// Changes with each file that decides which files count.
type Rules = [Option<(u64, u64, i64, i64)>; 2];

/// What git tracks, and by which index.
#[derive(Debug, Clone)]
struct Tracked {
    rules: Rules,
    /// In the order of their bytes.
    paths: Arc<Vec<OsString>>,
}

/// A saved state, as people choose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedFiles {
    /// What it is called: `<name>/<n>`.
    pub name: String,
    pub commit: CommitSha,
    /// What was about to happen.
    pub why: String,
    /// When, in seconds since 1970.
    pub at: i64,
    pub folder: PathBuf,
}

/// What bringing a saved state back did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Restored {
    pub written: usize,
    /// Files that were not there then, and went.
    pub removed: usize,
    /// The number under which the files were saved as they were before.
    pub before: u64,
}

impl Undo {
    /// For the files below `root`, which git keeps the history of; nothing where it
    /// does not.
    pub fn of(root: &Path, name: &str) -> Option<Self> {
        let root = root.canonicalize().ok()?;
        // An empty folder of that name keeps nothing: the sandbox may have put it there.
        let is_top = |top: &&Path| {
            let git = top.join(".git");
            git.is_file() || git.join("HEAD").exists()
        };
        let top = root.ancestors().find(is_top)?;
        let git = Git::at(top);
        git.git_dir().ok()?;
        Some(Self {
            git,
            root,
            name: name.to_owned(),
            last: Mutex::new(None),
        })
    }

    /// Saves the files, if any has changed since they were saved last.
    /// Fails when a file cannot be read, or git fails.
    pub async fn save(&self, why: &str, cancel: &CancellationToken) -> Result<Option<Saved>> {
        let mut kept = self.last.lock().await;
        let rules = self.rules()?;
        // Taken: should this end halfway, the next save begins anew.
        let mut last = kept.take();
        let tracked = self.tracked(last.as_ref(), rules, cancel).await?;
        let before = last.as_mut().map(|last| std::mem::take(&mut last.files));
        let same = last
            .as_ref()
            .is_some_and(|last| last.tracked.rules == rules);
        let paths = Arc::clone(&tracked.paths);
        let (files, changes) = self.look(before, same, paths).await?;
        if let Some(last) = &mut last
            && changes.is_empty()
        {
            let (saved, trees) = (last.saved.clone(), last.trees.take());
            *kept = Some(Last {
                saved,
                files,
                tracked,
                trees,
            });
            return Ok(None);
        }
        let (saved, trees) = self.write(why, last.as_mut(), changes, cancel).await?;
        *kept = Some(Last {
            saved: saved.clone(),
            files,
            tracked,
            trees,
        });
        Ok(Some(saved))
    }

    /// What decides which files count, beside those themselves: git's index and the rules
    /// that are in no file of the folder.
    fn rules(&self) -> Result<Rules> {
        let stamp = |path: PathBuf| {
            let found = fs::metadata(path).ok()?;
            Some((found.ino(), found.len(), found.ctime(), found.ctime_nsec()))
        };
        let index = stamp(self.git.git_dir()?.join("index"));
        Ok([index, stamp(self.git.common_dir()?.join("info/exclude"))])
    }

    /// What git tracks although a rule ignores it would be missed by a walk. Asked
    /// again only when its index is another one.
    async fn tracked(
        &self,
        last: Option<&Last>,
        rules: Rules,
        cancel: &CancellationToken,
    ) -> Result<Tracked> {
        if let Some(last) = last.filter(|last| last.tracked.rules == rules) {
            return Ok(last.tracked.clone());
        }
        let prefix = self.root.strip_prefix(self.git.dir());
        let prefix = prefix.unwrap_or(Path::new("")).to_owned();
        let output = self.git.call(["ls-files", "-z", "--cached"]);
        let output = output.run(cancel).await?;
        let paths = output.fields().map(path_of);
        let own = paths.filter_map(|path| Some(path.strip_prefix(&prefix).ok()?.into()));
        let mut own: Vec<OsString> = own.collect();
        own.sort_unstable();
        Ok(Tracked {
            rules,
            paths: Arc::new(own),
        })
    }

    /// The files as they are now, and what changed since `before`. Where the same rules
    /// hold, only what was touched is looked at, if that is known.
    async fn look(
        &self,
        before: Option<Files>,
        same: bool,
        tracked: Arc<Vec<OsString>>,
    ) -> Result<(Files, Vec<Change>)> {
        let root = self.root.clone();
        // Below the top, rules of the folders above it hold, which nobody watches.
        let watched = same && root == self.git.dir();
        let looked = tokio::task::spawn_blocking(move || {
            let Some(mut before) = before else {
                let now = Files::below(&root, &tracked);
                let changes = now.since(None);
                return (now, changes);
            };
            if watched && let Some(changes) = before.changed(&root) {
                return (before, changes);
            }
            let now = Files::below(&root, &tracked);
            let changes = now.since(Some(&before));
            (now, changes)
        });
        looked.await.map_err(|_| Error::Cancelled {
            what: "looking at the files".to_owned(),
        })
    }

    /// The number of the last save, which holds the files as they were when
    /// [`save`](Self::save) was called last.
    pub async fn newest(&self) -> Option<u32> {
        let last = self.last.lock().await;
        let number = save::number(&last.as_ref()?.saved.name);
        u32::try_from(number).ok()
    }

    /// All saved states of this clone and its worktrees, newest first.
    pub async fn list(&self, cancel: &CancellationToken) -> Result<Vec<SavedFiles>> {
        list(&self.git, cancel).await
    }

    /// Brings the files back as they were; what is there now is saved first.
    /// Fails when it is of another folder, a file cannot be written, or git fails.
    pub async fn restore(
        &self,
        saved: &SavedFiles,
        cancel: &CancellationToken,
    ) -> Result<Restored> {
        if saved.folder != self.root {
            return Err(Error::NotARepo {
                path: saved.folder.clone(),
            });
        }
        let why = format!("before undo {}", saved.name);
        // Whole: what somebody else saved meanwhile must not be taken for ours.
        *self.last.lock().await = None;
        let now = self.save(&why, cancel).await?;
        let now = now.ok_or(Error::Cancelled { what: why })?;
        let restored =
            restore::from(&self.git, &self.root, &now.commit, &saved.commit, cancel).await;
        *self.last.lock().await = None;
        Ok(Restored {
            before: save::number(&now.name),
            ..restored?
        })
    }
}

async fn list(git: &Git, cancel: &CancellationToken) -> Result<Vec<SavedFiles>> {
    let format = "--format=%(objectname)%00%(refname)%00%(committerdate:unix)%00%(contents)%00";
    let output = git
        .call(["for-each-ref", "--sort=-committerdate", format, save::SAVED])
        .run(cancel)
        .await?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let fields: Vec<&str> = text.split('\0').collect();
    let mut found: Vec<SavedFiles> = fields.chunks_exact(4).filter_map(saved_files).collect();
    found.sort_by_key(|saved| std::cmp::Reverse((saved.at, save::number(&saved.name))));
    Ok(found)
}

fn saved_files(fields: &[&str]) -> Option<SavedFiles> {
    let [commit, name, at, contents] = fields else {
        return None;
    };
    let folder = contents
        .lines()
        .find_map(|line| line.strip_prefix(FOLDER))?;
    let why = contents.lines().next().unwrap_or_default();
    Some(SavedFiles {
        name: name
            .strip_prefix(save::SAVED)?
            .trim_start_matches('/')
            .to_owned(),
        commit: CommitSha::new(commit.trim()),
        why: why.strip_prefix("saved: ").unwrap_or(why).to_owned(),
        at: at.parse().ok()?,
        folder: PathBuf::from(folder),
    })
}

/// Whether a path leads into git's own files, on any file system.
fn is_gits(path: &Path) -> bool {
    let is_git = |part: &std::ffi::OsStr| part.eq_ignore_ascii_case(".git");
    path.iter().any(is_git)
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}
