//! An empty folder in the place of a protected path that does not exist.
//!
//! Something must be there to be covered. It is a folder even where a file is
//! expected, because git does not see empty folders and because only an empty one
//! can be removed. Its mode marks it as ours, so that one left behind by a crash
//! is recognised and goes with the next command.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use butler_protocol::fault;

/// Readable, not writable, sticky: nobody makes such a folder by accident.
const MARK: u32 = 0o1555;

/// How many running commands hold each one: removing it under a running command
/// would take the cover off.
static HELD: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

/// One held placeholder; removed when the last holder lets go.
#[derive(Debug)]
pub(crate) struct Placeholder {
    path: PathBuf,
}

impl Placeholder {
    /// Puts one at `path`, whose parent exists.
    pub(crate) fn take(path: &Path) -> io::Result<Self> {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        fault("sandbox.before-placeholder");
        match fs::DirBuilder::new().mode(MARK).create(path) {
            // The mode given to mkdir passes through the umask, which seldom changes this one.
            Ok(()) if has_mark(path) => {}
            Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(MARK))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        fault("sandbox.after-placeholder");
        *held.entry(path.to_owned()).or_default() += 1;
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// Whether this is the one at `path`.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        self.path == path
    }
}

/// Whether what was `found` at `path` is a placeholder.
pub(crate) fn is(path: &Path, found: &fs::Metadata) -> bool {
    is_marked(found) && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn is_marked(found: &fs::Metadata) -> bool {
    found.is_dir() && found.mode() & 0o7777 == MARK
}

fn has_mark(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| is_marked(&found))
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = held.get_mut(&self.path) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            held.remove(&self.path);
            // One that somebody filled stays: only an empty folder can be removed.
            if has_mark(&self.path)
                && let Err(error) = fs::remove_dir(&self.path)
            {
                tracing::warn!(path = %self.path.display(), %error, "a placeholder stays behind");
            }
        }
    }
}
