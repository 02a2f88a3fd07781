//! The folder of one call that runs in the sandbox, below the folder that all worktrees
//! share, and what is left of calls whose process is gone.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
};

use super::{local_config::Places, objects};
use crate::{Error, Result, worktree::delete};

/// A folder for one call: what git says on standard error, and new objects.
pub(super) struct CallFolder {
    common: PathBuf,
    parent: String,
    name: String,
    pub path: PathBuf,
}

/// Below the folder that all worktrees share.
const WAY: [&str; 2] = ["codebutler", "tmp"];

impl CallFolder {
    pub(super) fn new(places: &Places, dir: &Path) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let parent = scratch_name(dir);
        let name = COUNT.fetch_add(1, Ordering::Relaxed).to_string();
        let path = scratch(places, dir)?.join(&name);
        private_folder(&path.join("objects"))?;
        Ok(Self {
            common: places.common.clone(),
            parent,
            name,
            path,
        })
    }

    /// Takes over the objects if they are to be kept, and deletes the rest.
    pub(super) async fn close(&self, keep: bool) -> Result<()> {
        let (from, to) = (self.path.join("objects"), self.common.join("objects"));
        if keep {
            let taken = tokio::task::spawn_blocking(move || objects::take_over(&from, &to)).await;
            taken.unwrap_or_else(|lost| Err(Error::file(&self.path)(io::Error::other(lost))))?;
        }
        let way = [WAY[0], WAY[1], &self.parent];
        delete::folder(&self.common, &way, &self.name, |_| true).await
    }
}

/// The folder of one process for one working tree: scratch files of its calls.
pub(crate) fn scratch(places: &Places, dir: &Path) -> Result<PathBuf> {
    let path = places.common.join(WAY.join("/")).join(scratch_name(dir));
    private_folder(&path)?;
    Ok(path)
}

fn scratch_name(dir: &Path) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    dir.hash(&mut hasher);
    format!("{}-{:016x}", std::process::id(), hasher.finish())
}

fn private_folder(path: &Path) -> Result<()> {
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path);
    made.map_err(Error::file(path))
}

/// Deletes what processes left that are gone, after taking over objects of theirs:
/// a rebase that they were in the middle of needs them.
pub(crate) async fn clear_scratch(common: &Path) -> Result<()> {
    let listed = fs::read_dir(common.join(WAY.join("/")));
    for entry in listed.into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name
            .split('-')
            .next()
            .and_then(|number| number.parse().ok());
        let process = process.and_then(Pid::from_raw);
        if process.is_some_and(|process| test_kill_process(process) != Err(Errno::SRCH)) {
            continue;
        }
        for call in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
            let from = call.path().join("objects");
            if from.is_dir() {
                objects::take_over(&from, &common.join("objects"))?;
            }
        }
        delete::folder(common, &WAY, &name, |_| true).await?;
    }
    Ok(())
}

/// The environment that makes git write new objects here and read all others there.
pub(super) fn object_places(folder: &CallFolder) -> [(OsString, OsString); 2] {
    let all = folder.common.join("objects");
    // Quoted, because a colon would part two folders.
    let text = all.to_string_lossy();
    let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    [
        (
            "GIT_OBJECT_DIRECTORY".into(),
            folder.path.join("objects").into(),
        ),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES".into(), quoted.into()),
    ]
}
