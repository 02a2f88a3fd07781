//! The folder of one thread: where each file is, and how a whole file is
//! replaced so that a reader sees the old or the new one, never half of either.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use butler_protocol::{RequestId, Role, ThreadId, fault};

use crate::JournalError;

/// The files of one thread, `<threads>/<thread>/…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadDir {
    root: PathBuf,
}

impl ThreadDir {
    /// The folder of `thread` under `threads`. Nothing is made yet.
    #[must_use]
    pub fn new(threads: &Path, thread: &ThreadId) -> Self {
        Self {
            root: threads.join(thread.dir_name()),
        }
    }

    /// Every thread under `threads`, oldest name first; other folders are passed over.
    ///
    /// # Errors
    /// When the folder is there and cannot be listed.
    pub fn list(threads: &Path) -> Result<Vec<ThreadId>, JournalError> {
        let listing = match fs::read_dir(threads) {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(JournalError::io("list", threads)(error)),
        };
        let mut found = Vec::new();
        for item in listing {
            let item = item.map_err(JournalError::io("list", threads))?;
            let name = item.file_name();
            if let Some(Ok(thread)) = name.to_str().map(ThreadId::from_dir_name) {
                found.push(thread);
            }
        }
        found.sort();
        Ok(found)
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The role's talk with the model.
    #[must_use]
    pub fn conversation(&self, role: Role) -> PathBuf {
        self.root.join(format!("conversations/{role}.jsonl"))
    }

    /// One research request's talk with the model.
    #[must_use]
    pub fn research(&self, request: &RequestId) -> PathBuf {
        let name = format!("{}-{request}.jsonl", Role::Researcher);
        self.root.join("conversations").join(name)
    }

    /// What was chosen in the log at this path, and why.
    #[must_use]
    pub fn decisions(&self, log: &Path) -> PathBuf {
        self.beside(log, "decisions")
    }

    /// Every call to a model in the log at this path.
    #[must_use]
    pub fn usage(&self, log: &Path) -> PathBuf {
        self.beside(log, "usage")
    }

    /// Each log has a file of its own there, so that each has one writer.
    fn beside(&self, log: &Path, folder: &str) -> PathBuf {
        let name = log.file_name().unwrap_or_default();
        self.root.join(folder).join(name)
    }

    /// What a session of one agent without a hub is about.
    #[must_use]
    pub fn facts(&self) -> PathBuf {
        self.root.join("thread.json")
    }
}

/// Replaces a whole file. A crash leaves the old one or the new one.
///
/// # Errors
/// When the disk says no; the old file is then still there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), JournalError> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let made_in = create_dirs(parent)?;
    let mut temporary =
        tempfile::NamedTempFile::new_in(parent).map_err(JournalError::io("write in", parent))?;
    temporary
        .write_all(bytes)
        .and_then(|()| temporary.as_file().sync_all())
        .map_err(JournalError::io("write", path))?;
    fault("journal.before-replace");
    temporary
        .persist(path)
        .map_err(|error| JournalError::io("replace", path)(error.error))?;
    sync_dir(parent)?;
    sync_dirs(&made_in)?;
    fault("journal.after-replace");
    Ok(())
}

/// Makes the folders that are missing, private. They are durable once the folders
/// that this gives back are flushed, which costs least when all else is made:
/// the first flush then takes everything along.
pub(crate) fn create_dirs(path: &Path) -> Result<Vec<PathBuf>, JournalError> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(Vec::new());
    }
    let parent = path.parent().unwrap_or(Path::new("."));
    let mut made_in = create_dirs(parent)?;
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => made_in.push(parent.to_owned()),
        // Another role of the same thread was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(JournalError::io("create", path)(error)),
    }
    Ok(made_in)
}

/// Makes durable what was made in `folders`.
pub(crate) fn sync_dirs(folders: &[PathBuf]) -> Result<(), JournalError> {
    folders.iter().try_for_each(|folder| sync_dir(folder))
}

pub(crate) fn sync_dir(path: &Path) -> Result<(), JournalError> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(JournalError::io("flush", path))
}
