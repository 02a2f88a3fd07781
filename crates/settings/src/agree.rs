//! Writes down what a person on this machine agreed to.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use butler_vocab::{Sha256Hex, fault};
use serde_json::json;

use crate::{
    edit::{Change, EditError, edit},
    problem::Problem,
    read,
};

/// What was agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// A repo's policy with its loosening parts.
    Policy,
    /// An MCP server's exact command.
    Mcp,
}

/// Why it could not be written down.
#[derive(Debug, thiserror::Error)]
pub enum AgreeError {
    /// The machine's file cannot be used as it is.
    #[error("{0}")]
    Problem(Problem),
    /// The machine's file cannot be changed.
    #[error("{file}: {error}", file = file.display())]
    Edit {
        /// The file.
        file: PathBuf,
        /// Why.
        error: EditError,
    },
    /// The machine's file cannot be written.
    #[error("cannot write {file}", file = file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
}

/// Remembers that a person agreed to what has this hash in the repo at `root`.
///
/// # Errors
/// When the machine's file is not usable or cannot be written.
pub fn agree(
    home: &Path,
    agreement: Agreement,
    root: &Path,
    sha256: &Sha256Hex,
) -> Result<(), AgreeError> {
    let file = home.join("config.json");
    let text = read::private(&file).map_err(AgreeError::Problem)?;
    let key = match agreement {
        Agreement::Policy => "policy",
        Agreement::Mcp => "mcp",
    };
    let consent = json!({"repo": root.to_string_lossy(), "sha256": sha256.as_str()});
    let text = edit(
        text.as_deref().unwrap_or("{}\n"),
        &["consents", key],
        &Change::Push(consent),
    )
    .map_err(|error| AgreeError::Edit {
        file: file.clone(),
        error,
    })?;
    fault("settings.before-agree");
    write_private(&file, &text).map_err(|error| AgreeError::Write { file, error })?;
    fault("settings.after-agree");
    Ok(())
}

/// Replaces a file that only its owner may read, whole or not at all.
///
/// # Errors
/// When it cannot be written; the old file is then as it was.
pub fn write_private(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.as_file()
        .set_permissions(fs::Permissions::from_mode(0o600))?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_all()?;
    new.persist(file)?;
    fs::File::open(folder)?.sync_all()
}
