//! Which files there are, with what changes when one of them does. Links are not
//! followed; what git ignores is left out unless it is tracked all the same.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use ignore::{WalkBuilder, WalkState};

use super::{
    ignored::Ignored,
    is_folder, is_gits,
    watch::{Told, Watch},
};

/// A file that changed so shortly before it was looked at may change again without
/// its time telling.
const FRESH: Duration = Duration::from_millis(50);

/// After so long all files are looked at, whatever the watch says.
const LONG: Duration = Duration::from_secs(30);

/// The runtime's own, whatever the ignore rules say.
const RUNTIME: [&str; 2] = [".codebutler/branches", ".codebutler/threads"];

/// The files below a folder, in the order of the bytes of their paths: to compare paths
/// by their parts takes longer than all the rest.
#[derive(Debug, Default)]
pub(super) struct Files {
    found: Vec<File>,
    /// What git tracks and a walk does not find, in the same order.
    missed: Vec<OsString>,
    /// Tells which of them to look at again, and since when.
    watch: Option<(Watch, Instant)>,
}

#[derive(Debug)]
struct File {
    path: OsString,
    stamp: Stamp,
    /// Has another name, by which it can change without the watch telling.
    linked: bool,
}

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
        let fresh = fresh();
        let began = Instant::now();
        let watch = Watch::of(root);
        let (mut found, listens) = walk(root, root, None, watch.as_ref());
        let missed = missed(&found, tracked).filter(|path| !is_gits(Path::new(path)));
        let missed: Vec<OsString> = missed.cloned().collect();
        let unlisted = missed.iter().map(Path::new);
        let unlisted = unlisted.filter(|path| is_reached(root, path));
        let mut unlisted: Vec<File> = unlisted
            .filter_map(|path| look(root, path, fresh))
            .collect();
        if !unlisted.is_empty() {
            found.append(&mut unlisted);
            found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        }
        let watch = watch.filter(|_| listens).map(|watch| (watch, began));
        Self {
            found,
            missed,
            watch,
        }
    }

    /// What is not as it was then; everything, when there is no then.
    pub(super) fn since(&self, before: Option<&Self>) -> Vec<Change> {
        let mut then = before
            .map_or(&[][..], |before| &before.found)
            .iter()
            .peekable();
        let (mut gone, mut there) = (Vec::new(), Vec::new());
        for file in &self.found {
            while let Some(old) = then.next_if(|old| old.path < file.path) {
                gone.push(Change::Gone((&old.path).into()));
            }
            let known = then.next_if(|old| old.path == file.path);
            if file.stamp.is_none() || known.map(|old| old.stamp) != Some(file.stamp) {
                there.push(Change::There((&file.path).into()));
            }
        }
        gone.extend(then.map(|old| Change::Gone((&old.path).into())));
        // A file that became a folder goes before what is in the folder comes.
        gone.append(&mut there);
        gone
    }

    /// What changed since this was made or asked last, looking only where something
    /// happened. Nothing when that is not known: then all has to be looked at.
    pub(super) fn changed(&mut self, root: &Path) -> Option<Vec<Change>> {
        let (watch, since) = self.watch.as_ref()?;
        // By a second name that is gone again, or in an ignored folder, a file can change
        // without a word.
        if since.elapsed() > LONG {
            return None;
        }
        let Told::These(mut again) = watch.told() else {
            return None;
        };
        let uncertain = self.found.iter();
        let uncertain = uncertain.filter(|file| file.linked || file.stamp.is_none());
        again.extend(uncertain.map(|file| PathBuf::from(&file.path)));
        let missed = self.missed.iter().map(PathBuf::from);
        again.extend(missed.filter(|path| is_reached(root, path)));
        let fresh = fresh();
        let again = again.into_iter().map(|path| {
            let now = look(root, &path, fresh);
            (path, now)
        });
        let again: Vec<_> = again.collect();
        // Of a second name the first one is not told.
        let is_linked = |(path, now): &(PathBuf, Option<File>)| {
            let now = now.as_ref().is_some_and(|now| now.linked);
            let known = self.at(path).is_ok_and(|at| self.found[at].linked);
            now && !known
        };
        if again.iter().any(is_linked) {
            return None;
        }
        Some(self.take(root, again))
    }

    /// Takes over how some files are now, and says which of them changed.
    fn take(&mut self, root: &Path, again: Vec<(PathBuf, Option<File>)>) -> Vec<Change> {
        let (mut gone, mut there) = (Vec::new(), Vec::new());
        let mut listed = BTreeMap::new();
        for (path, now) in again {
            match (now, self.at(&path)) {
                (Some(now), Ok(at)) => {
                    if now.stamp.is_none() || now.stamp != self.found[at].stamp {
                        there.push(Change::There(path));
                    }
                    self.found[at] = now;
                }
                (None, Ok(at)) => {
                    self.found.remove(at);
                    gone.push(Change::Gone(path));
                }
                (Some(now), Err(at)) => {
                    let folder = path.parent().unwrap_or(Path::new(""));
                    let seen = listed
                        .entry(folder.to_owned())
                        .or_insert_with(|| walk(root, &root.join(folder), Some(1), None).0);
                    if seen.iter().any(|file| file.path == path.as_os_str())
                        || self.missed.iter().any(|missed| *missed == path)
                    {
                        self.found.insert(at, now);
                        there.push(Change::There(path));
                    }
                }
                (None, Err(_)) => {}
            }
        }
        gone.append(&mut there);
        gone
    }

    /// Where a file is in the list, or would be.
    fn at(&self, path: &Path) -> std::result::Result<usize, usize> {
        let path = path.as_os_str();
        self.found
            .binary_search_by(|file| file.path.as_os_str().cmp(path))
    }
}

/// The files below a folder that git does not ignore, sorted, as ways from `root`; and
/// whether the watch listens to all folders.
fn walk(
    root: &Path,
    folder: &Path,
    depth: Option<usize>,
    watch: Option<&Watch>,
) -> (Vec<File>, bool) {
    let fresh = fresh();
    let found = Mutex::new(Vec::new());
    let listens = AtomicBool::new(true);
    let runtime = RUNTIME.map(|own| root.join(own));
    let ignored = Ignored::of(root);
    let walk = WalkBuilder::new(folder)
        .standard_filters(false)
        .max_depth(depth)
        .filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.depth() == 0
                || entry.file_name() != ".git"
                    && !runtime.iter().any(|own| entry.path() == own)
                    && !ignored.has(entry.path(), is_folder)
        })
        .build_parallel();
    walk.run(|| {
        let mut own = Batch(Vec::new(), &found);
        let listens = &listens;
        Box::new(move |entry| {
            let Ok(entry) = entry else {
                return WalkState::Continue;
            };
            let Ok(way) = entry.path().strip_prefix(root) else {
                return WalkState::Continue;
            };
            // A folder is listened to before it is read, so nothing falls between.
            if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                if watch.is_some_and(|watch| !watch.add(entry.path(), way)) {
                    listens.store(false, Ordering::Relaxed);
                }
            } else if let Some(file) = look(root, way, fresh) {
                own.0.push(file);
            }
            WalkState::Continue
        })
    });
    let mut files = found.into_inner().unwrap_or_default();
    files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    (files, listens.into_inner())
}

/// Changed later than this, a file may change again without its time telling.
fn fresh() -> i128 {
    let fresh = SystemTime::now() - FRESH;
    let fresh = fresh.duration_since(UNIX_EPOCH);
    fresh.map_or(0, |time| time.as_nanos()) as i128
}

/// Those of two sorted lists that are only in the second.
fn missed<'a>(files: &[File], tracked: &'a [OsString]) -> impl Iterator<Item = &'a OsString> {
    let mut files = files.iter().peekable();
    tracked.iter().filter(move |path| {
        while files.next_if(|file| file.path < **path).is_some() {}
        files.peek().is_none_or(|file| file.path != **path)
    })
}

/// What one thread found, handed over when it is done.
struct Batch<'a>(Vec<File>, &'a Mutex<Vec<File>>);

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

/// A file as it is now. Nothing for what is neither a file nor a link.
fn look(root: &Path, path: &Path, fresh: i128) -> Option<File> {
    let found = fs::symlink_metadata(root.join(path)).ok()?;
    if !found.is_file() && !found.is_symlink() {
        return None;
    }
    let time = |seconds: i64, nanoseconds: i64| {
        i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
    };
    let changed = time(found.ctime(), found.ctime_nsec());
    let modified = time(found.mtime(), found.mtime_nsec());
    let stamp = (found.ino(), found.len(), found.mode(), modified, changed);
    Some(File {
        path: path.as_os_str().to_owned(),
        stamp: (changed < fresh).then_some(stamp),
        linked: found.nlink() > 1,
    })
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
