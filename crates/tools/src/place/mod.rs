//! One folder the tools work in, and the only way to its files.
//!
//! A [`Workplace`] holds a descriptor of its root. Every path is resolved by the
//! kernel beneath that descriptor, so that neither `..` nor a link nor a folder
//! that is swapped at the wrong moment leads out of it.

mod beneath;
mod error;
mod guard;
mod outgoing;
mod path;
mod replace;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    sync::Arc,
};

use butler_policy::Redactor;
use butler_sandbox::Limits;

use crate::Cache;

pub(crate) use beneath::Opened;
pub(crate) use beneath::is_dependency;
pub use error::PlaceError;
pub(crate) use guard::holds_secrets;
pub(crate) use path::Inside;

/// A check of the repo's config: what RunChecks runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// As in `test`, `lint`, `build`.
    pub name: String,
    /// A shell command, run in the root.
    pub command: String,
}

/// What commands that run in a workplace may see besides it. File tools never
/// leave the root; this is for the sandbox.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The home of the person who runs us: where credentials lie.
    pub home: PathBuf,
    /// Not readable for commands, also when they do not exist yet.
    pub hidden: Vec<PathBuf>,
    /// Visible read-only: the common git directory of a linked worktree.
    pub readable: Vec<PathBuf>,
    /// Files that people attached to the thread. File tools read them too, by their
    /// whole path: it is the one that commands use.
    pub attached: Option<PathBuf>,
    /// Writable besides the root.
    pub writable: Vec<PathBuf>,
    /// What package managers download, for all worktrees of the repo.
    pub cache: Option<Cache>,
    /// Further certificate authorities for pages, from the machine's own config.
    pub ca_file: Option<PathBuf>,
    /// Knows the secrets of this machine; what goes out must not hold one.
    pub redactor: Option<Arc<Redactor>>,
    /// Added to the scrubbed environment, from the machine's own config.
    pub env: BTreeMap<OsString, OsString>,
    /// How much a command may use; the time is set by the tool.
    pub limits: Limits,
}

/// One folder the tools work in. Holds a directory descriptor; every path is
/// resolved beneath it.
#[derive(Debug)]
pub struct Workplace {
    given: PathBuf,
    root: PathBuf,
    dir: OwnedFd,
    checks: Vec<Check>,
    surroundings: Surroundings,
}

impl Workplace {
    /// Opens `root`, which must be a folder.
    pub fn open(
        root: &Path,
        checks: Vec<Check>,
        surroundings: Surroundings,
    ) -> Result<Self, PlaceError> {
        let failed = |source: std::io::Error| PlaceError::Io {
            path: root.display().to_string(),
            source,
        };
        let real = root.canonicalize().map_err(failed)?;
        let dir = beneath::open_root(&real).map_err(|errno| failed(errno.into()))?;
        Ok(Self {
            given: root.to_owned(),
            root: real,
            dir,
            checks,
            surroundings,
        })
    }

    /// Where it is, without links in the way.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The repo's checks, in the order in which they run.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// What the sandbox is told.
    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Reads a path as a model wrote it.
    pub fn locate(&self, text: &str) -> Result<Inside, PlaceError> {
        Inside::parse(text, &[&self.root, &self.given])
    }

    pub(crate) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

/// A text in a folder whose files others wrote, as a clone's are: a regular file of at most
/// `cap` bytes that lies in the folder, wherever links lead. Nothing where there is none.
/// Fails: says why what is there is not read.
pub fn text_in(root: &Path, path: &str, cap: u64) -> Result<Option<String>, PlaceError> {
    let place = Workplace::open(root, Vec::new(), Surroundings::default())?;
    let opened = place.locate(path).and_then(|path| place.open_file(&path));
    match opened.and_then(|opened| opened.read(cap, "make it shorter")) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(PlaceError::Missing { .. } | PlaceError::NotFolder { .. }) => Ok(None),
        Err(PlaceError::Folder { .. } | PlaceError::TooBig { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_text_that_others_wrote_is_one_of_their_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("root");
        fs::create_dir_all(root.join("docs")).unwrap();
        fs::write(scratch.path().join("key"), "the person's").unwrap();
        fs::write(root.join("docs/rules"), "theirs").unwrap();
        fs::write(root.join("long"), "x".repeat(101)).unwrap();
        symlink("docs/rules", root.join("inside")).unwrap();
        symlink("../key", root.join("out")).unwrap();
        symlink(scratch.path().join("key"), root.join("far")).unwrap();
        symlink("/dev/zero", root.join("endless")).unwrap();
        symlink("nowhere", root.join("broken")).unwrap();
        let read = |path: &str| text_in(&root, path, 100);
        for (path, text) in [
            ("docs/rules", Some("theirs")),
            ("inside", Some("theirs")),
            ("none", None),
            ("docs", None),
            ("long", None),
            ("broken", None),
        ] {
            assert_eq!(read(path).unwrap().as_deref(), text, "{path}");
        }
        for path in ["out", "far", "endless"] {
            assert!(read(path).is_err(), "{path}");
        }
    }
}
