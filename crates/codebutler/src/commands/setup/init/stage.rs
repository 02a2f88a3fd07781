//! Files that are written next to their place first, and moved into it only when
//! all of them could be written. Dropping the stage removes whatever it made.

use std::{
    fs::{self, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use butler_protocol::fault;
use tempfile::NamedTempFile;

use crate::{CliError, Ui};

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Its owner: files with secrets.
    Private,
    /// Everybody: files that are committed.
    Shared,
}

/// What is about to be written.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    files: Vec<(NamedTempFile, PathBuf)>,
    folders: Vec<PathBuf>,
    kept: Vec<PathBuf>,
    done: bool,
}

/// What became of the files.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// New or changed.
    pub made: Vec<PathBuf>,
    /// Found and left alone.
    pub kept: Vec<PathBuf>,
}

impl Staged {
    /// An empty stage.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a file unless there is one already, which is kept.
    pub(crate) fn add(&mut self, path: &Path, text: &str, access: Access) -> Result<(), CliError> {
        if path.symlink_metadata().is_ok() {
            self.kept.push(path.to_owned());
            return Ok(());
        }
        self.replace(path, text, access)
    }

    /// Adds a file that takes the place of what is there.
    pub(crate) fn replace(
        &mut self,
        path: &Path,
        text: &str,
        access: Access,
    ) -> Result<(), CliError> {
        self.write(path, text, access).map_err(|error| {
            CliError::user(format!("cannot write {}: {error}", path.display()))
                .hint("nothing was changed; make the folder writable and run the command again")
        })
    }

    fn write(&mut self, path: &Path, text: &str, access: Access) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        self.make_folder(folder, access)?;
        let mode = match access {
            Access::Private => 0o600,
            // What the file had before, else what is usual for a text in a repository.
            Access::Shared => match path.metadata() {
                Ok(found) => found.permissions().mode() & 0o777,
                Err(_) => 0o644,
            },
        };
        let mut file = NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file()
            .set_permissions(Permissions::from_mode(mode))?;
        file.as_file().sync_all()?;
        self.files.push((file, path.to_owned()));
        Ok(())
    }

    /// Makes a folder and those above it, remembering which ones are new.
    fn make_folder(&mut self, folder: &Path, access: Access) -> io::Result<()> {
        let missing: Vec<_> = folder.ancestors().take_while(|dir| !dir.exists()).collect();
        let mode = match access {
            Access::Private => 0o700,
            Access::Shared => 0o755,
        };
        for dir in missing.into_iter().rev() {
            fs::DirBuilder::new().mode(mode).create(dir)?;
            self.folders.push(dir.to_owned());
        }
        Ok(())
    }

    /// Moves every file into its place.
    pub(crate) fn persist(mut self) -> Result<Written, CliError> {
        self.done = true;
        let mut made = Vec::new();
        for (file, path) in std::mem::take(&mut self.files) {
            fault("init.before-file");
            file.persist(&path).map_err(|error| {
                CliError::internal(error.error)
                    .hint(format!("{} could not be moved into place", path.display()))
                    .hint("run the command again; what was written is kept")
            })?;
            sync_folder(&path)?;
            fault("init.after-file");
            made.push(path);
        }
        Ok(Written {
            made,
            kept: std::mem::take(&mut self.kept),
        })
    }

    /// Moves every file into its place, and names them.
    pub(crate) fn write_out(self, ui: &Ui) -> Result<(), CliError> {
        for path in self.persist()?.made {
            ui.line(format_args!("wrote    {}", path.display()))?;
        }
        Ok(())
    }
}

/// Makes a rename last through a power cut.
fn sync_folder(path: &Path) -> io::Result<()> {
    fs::File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

impl Drop for Staged {
    fn drop(&mut self) {
        // The temporary files go first, or their folders would not be empty.
        self.files.clear();
        if !self.done {
            for folder in self.folders.iter().rev() {
                let _ = fs::remove_dir(folder);
            }
        }
    }
}
