//! Notices afterwards what the weaker walls could not prevent: a protected place
//! below the worktree that a command changed.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::view::Step;

/// Folders with more entries are compared by their first so many.
const MOST: usize = 50_000;

/// Protected places as they were before a command.
#[derive(Debug, Default)]
pub(crate) struct Seals(Vec<(PathBuf, Vec<Mark>)>);

/// What changes when a file does; nobody but the kernel sets the last one.
type Mark = (PathBuf, u64, u64, i64, i64);

impl Seals {
    /// Looks at what `steps` protect below a writable place.
    pub(crate) fn of(steps: &[Step]) -> Self {
        let areas = || {
            steps.iter().filter_map(|step| match step {
                Step::Show { path, write: true } => Some(path.path()),
                _ => None,
            })
        };
        let protected = steps.iter().filter_map(|step| match step {
            Step::Show { path, write: false } | Step::Cover { path, .. } => Some(path.path()),
            _ => None,
        });
        let guarded = protected.filter(|path| areas().any(|area| path.starts_with(area)));
        Self(guarded.map(|path| (path.to_owned(), marks(path))).collect())
    }

    /// The first place that is not what it was.
    pub(crate) fn broken(&self) -> Option<&Path> {
        let changed = self.0.iter().find(|(path, before)| marks(path) != *before);
        changed.map(|(path, _)| path.as_path())
    }
}

fn marks(path: &Path) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        if marks.len() == MOST {
            break;
        }
        let Ok(mark) = mark(&path) else { continue };
        marks.push(mark);
        if path.is_dir() && !path.is_symlink() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            let mut below: Vec<_> = entries.map(|entry| entry.path()).collect();
            below.sort();
            open.extend(below);
        }
    }
    marks
}

fn mark(path: &Path) -> io::Result<Mark> {
    let found = fs::symlink_metadata(path)?;
    Ok((
        path.to_owned(),
        found.ino(),
        found.size(),
        found.ctime(),
        found.ctime_nsec(),
    ))
}
