//! Which files there are, with what changes when one of them does. Links are not
//! followed; what git ignores is left out unless it is tracked all the same.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ignore::{WalkBuilder, WalkState};

use super::{is_folder, is_gits};

/// A file that changed so shortly before it was looked at may change again without
/// its time telling.
const FRESH: Duration = Duration::from_millis(50);

/// The runtime's own, whatever the ignore rules say.
const RUNTIME: [&str; 2] = [".codebutler/branches", ".codebutler/threads"];

/// The files below a folder, in the order of the bytes of their paths: to compare paths
/// by their parts takes longer than all the rest.
#[derive(Debug, Default)]
pub(super) struct Files(Vec<(OsString, Stamp)>);

/// What changes with a file. Nothing of one that may change unseen.
type Stamp = Option<(u64, u64, u32, i128, i128)>;

/// What is different now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    There(PathBuf),
    Gone(PathBuf),
}

impl Files {
    /// Looks at every file below `root`, and at the `tracked` ones, which are sorted.
    pub(super) fn below(root: &Path, tracked: &[OsString]) -> Self {
        let fresh = SystemTime::now() - FRESH;
        let fresh = fresh
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_nanos()) as i128;
        let found = Mutex::new(Vec::new());
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .ignore(false)
            .git_global(false)
            .require_git(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build_parallel();
        walk.run(|| {
            let mut own = Batch(Vec::new(), &found);
            Box::new(move |entry| {
                if let Ok(entry) = entry
                    && entry.file_type().is_some_and(|kind| !kind.is_dir())
                    && let Ok(path) = entry.path().strip_prefix(root)
                    && let Some(stamp) = stamp(entry.path(), fresh)
                {
                    own.0.push((path.as_os_str().to_owned(), stamp));
                }
                WalkState::Continue
            })
        });
        let mut files = found.into_inner().unwrap_or_default();
        let is_runtime = |path: &OsString| {
            let path = Path::new(path);
            RUNTIME.iter().any(|own| path.starts_with(own))
        };
        files.retain(|(path, _)| !is_runtime(path));
        files.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let missed = missed(&files, tracked).filter(|path| {
            let path = Path::new(path);
            !is_gits(path) && is_reached(root, path)
        });
        let missed =
            missed.filter_map(|path| Some((path.clone(), stamp(&root.join(path), fresh)?)));
        let missed: Vec<_> = missed.collect();
        if !missed.is_empty() {
            files.extend(missed);
            files.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        }
        Self(files)
    }

    /// What is not as it was then; everything, when there is no then.
    pub(super) fn since(&self, before: Option<&Self>) -> Vec<Change> {
        let mut then = before.map_or(&[][..], |before| &before.0).iter().peekable();
        let (mut gone, mut there) = (Vec::new(), Vec::new());
        for (path, stamp) in &self.0 {
            while let Some((old, _)) = then.next_if(|(old, _)| old < path) {
                gone.push(Change::Gone(old.into()));
            }
            let known = then.next_if(|(old, _)| old == path);
            if stamp.is_none() || known.map(|(_, stamp)| stamp) != Some(stamp) {
                there.push(Change::There(path.into()));
            }
        }
        gone.extend(then.map(|(old, _)| Change::Gone(old.into())));
        // A file that became a folder goes before what is in the folder comes.
        gone.append(&mut there);
        gone
    }
}

/// Those of two sorted lists that are only in the second.
fn missed<'a>(
    files: &[(OsString, Stamp)],
    tracked: &'a [OsString],
) -> impl Iterator<Item = &'a OsString> {
    let mut files = files.iter().peekable();
    tracked.iter().filter(move |path| {
        while files.next_if(|(file, _)| file < *path).is_some() {}
        files.peek().is_none_or(|(file, _)| file != *path)
    })
}

/// What one thread found, handed over when it is done.
struct Batch<'a>(Vec<(OsString, Stamp)>, &'a Mutex<Vec<(OsString, Stamp)>>);

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if let Ok(mut all) = self.1.lock() {
            all.append(&mut self.0);
        }
    }
}

/// Whether no link stands on the way to a file.
fn is_reached(root: &Path, path: &Path) -> bool {
    let way = path
        .ancestors()
        .skip(1)
        .filter(|part| !part.as_os_str().is_empty());
    way.into_iter().all(|part| is_folder(&root.join(part)))
}

/// Nothing for what is neither a file nor a link.
fn stamp(path: &Path, fresh: i128) -> Option<Stamp> {
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_file() && !found.is_symlink() {
        return None;
    }
    let time = |seconds: i64, nanoseconds: i64| {
        i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
    };
    let changed = time(found.ctime(), found.ctime_nsec());
    let modified = time(found.mtime(), found.mtime_nsec());
    Some((changed < fresh).then_some((found.ino(), found.len(), found.mode(), modified, changed)))
}
