//! Undo: before something may delete or overwrite files, they are saved under
//! `refs/codebutler/saved/<name>/<n>`, and can be brought back byte for byte.
//!
//! Saved is every file that git does not ignore, untracked ones too, as its bytes
//! are on disk: no filter and no line-end rule of the repository plays a part. A
//! save costs a walk over the files, and nothing more when none has changed; one git
//! process otherwise, which is told the bytes and never looks at the files itself.
//!
//! Not saved: ignored files, empty folders, owners, and rights but "executable".

mod files;
mod restore;
mod stream;

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use butler_protocol::{CommitSha, fault};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::{Error, Git, Result, Saved, git::path_of, refs::save, repo::resolve};
use files::{Change, Files};

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
}

/// What git tracks, and by which index.
#[derive(Debug, Clone)]
struct Tracked {
    index: Option<(u64, u64, i64, i64)>,
    paths: Arc<Vec<PathBuf>>,
}

/// A saved state, as people choose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedFiles {
    /// What it is called: `<name>/<n>`.
    pub name: String,
    /// The commit that holds it.
    pub commit: CommitSha,
    /// What was about to happen.
    pub why: String,
    /// When, in seconds since 1970.
    pub at: i64,
    /// Where the files were.
    pub folder: PathBuf,
}

/// What bringing a saved state back did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Restored {
    /// Files that were written.
    pub written: usize,
    /// Files that were not there then, and went.
    pub removed: usize,
}

impl Undo {
    /// For the files below `root`, which git keeps the history of; nothing where it
    /// does not.
    #[must_use]
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
    ///
    /// # Errors
    /// When a file cannot be read, or git fails.
    pub async fn save(&self, why: &str, cancel: &CancellationToken) -> Result<Option<Saved>> {
        let mut last = self.last.lock().await;
        let tracked = self.tracked(last.as_ref(), cancel).await?;
        let now = self.look(Arc::clone(&tracked.paths)).await?;
        let changes = now.since(last.as_ref().map(|last| &last.files));
        if last.is_some() && changes.is_empty() {
            return Ok(None);
        }
        let saved = self.write(why, last.as_ref(), changes, cancel).await?;
        *last = Some(Last {
            saved: saved.clone(),
            files: now,
            tracked,
        });
        Ok(Some(saved))
    }

    /// What git tracks although a rule ignores it would be missed by a walk. Asked
    /// again only when its index is another one.
    async fn tracked(&self, last: Option<&Last>, cancel: &CancellationToken) -> Result<Tracked> {
        let index = fs::metadata(self.git.git_dir()?.join("index")).ok();
        let index =
            index.map(|found| (found.ino(), found.len(), found.ctime(), found.ctime_nsec()));
        if let Some(last) = last.filter(|last| last.tracked.index == index) {
            return Ok(last.tracked.clone());
        }
        let prefix = self.root.strip_prefix(self.git.dir());
        let prefix = prefix.unwrap_or(Path::new("")).to_owned();
        let output = self.git.call(["ls-files", "-z", "--cached"]);
        let output = output.run(cancel).await?;
        let paths = output.fields().map(path_of);
        let own = paths.filter_map(|path| Some(path.strip_prefix(&prefix).ok()?.to_owned()));
        Ok(Tracked {
            index,
            paths: Arc::new(own.collect()),
        })
    }

    async fn look(&self, tracked: Arc<Vec<PathBuf>>) -> Result<Files> {
        let root = self.root.clone();
        let looked = tokio::task::spawn_blocking(move || Files::below(&root, &tracked));
        looked.await.map_err(|_| Error::Cancelled {
            what: "looking at the files".to_owned(),
        })
    }

    async fn write(
        &self,
        why: &str,
        last: Option<&Last>,
        changes: Vec<Change>,
        cancel: &CancellationToken,
    ) -> Result<Saved> {
        let number = match last {
            Some(last) => save::number(&last.saved.name),
            None => save::newest(&self.git, &self.name, cancel).await?,
        };
        let name = format!("{}/{}/{}", save::SAVED, self.name, number + 1);
        let from = match last {
            Some(last) => Some(last.saved.commit.clone()),
            None => resolve(&self.git, "HEAD").await?,
        };
        let head = stream::Head {
            name: &name,
            message: format!("saved: {why}\n\n{FOLDER}{}\n", self.root.display()),
            from: from.as_ref(),
            whole: last.is_none(),
        };
        let root = self.root.clone();
        let text = head.text();
        let told = tokio::task::spawn_blocking(move || stream::tell(text, &root, &changes));
        let told = told.await.map_err(|_| Error::Cancelled {
            what: "reading the files".to_owned(),
        })??;
        fault("repo.before-undo-save");
        let import = self
            .git
            .call(["fast-import", "--quiet", "--done", "--force"]);
        let imported = import.input(told).run(cancel).await?;
        fault("repo.after-undo-save");
        let commit = imported.text();
        if commit.len() < 40 {
            return Err(imported.unreadable());
        }
        Ok(Saved {
            name,
            commit: CommitSha::new(commit),
        })
    }

    /// All saved states of this clone and its worktrees, newest first.
    ///
    /// # Errors
    /// When git fails.
    pub async fn list(&self, cancel: &CancellationToken) -> Result<Vec<SavedFiles>> {
        let format = "--format=%(objectname)%00%(refname)%00%(committerdate:unix)%00%(contents)%00";
        let output = self
            .git
            .call(["for-each-ref", "--sort=-committerdate", format, save::SAVED])
            .run(cancel)
            .await?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let fields: Vec<&str> = text.split('\0').collect();
        let mut found: Vec<SavedFiles> = fields.chunks_exact(4).filter_map(saved_files).collect();
        found.sort_by_key(|saved| std::cmp::Reverse((saved.at, save::number(&saved.name))));
        Ok(found)
    }

    /// Brings the files back as they were; what is there now is saved first.
    ///
    /// # Errors
    /// When it is of another folder, a file cannot be written, or git fails.
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
        restored
    }
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
