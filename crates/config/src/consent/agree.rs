//! Writes down what a person on this machine agreed to.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use butler_protocol::fault;
use serde_json::json;

use crate::{
    consent::Ask,
    file::{
        edit::{Change, EditError, edit},
        problem::Problem,
        read,
    },
};

/// Why it could not be written down.
#[derive(Debug, thiserror::Error)]
pub enum AgreeError {
    /// The machine config cannot be used as it is.
    #[error("{0}")]
    Problem(Problem),
    /// The machine config cannot be changed.
    #[error("{file}: {error}", file = file.display())]
    Edit { file: PathBuf, error: EditError },
    /// The machine config cannot be written.
    #[error("cannot write {file}", file = file.display())]
    Write {
        file: PathBuf,
        #[source]
        error: io::Error,
    },
}

/// Remembers that a person agreed to these asks of the repo at `root`.
/// Fails when the machine config is not usable or cannot be written; then none is remembered.
pub fn agree(home: &Path, root: &Path, asks: &[Ask]) -> Result<(), AgreeError> {
    let file = home.join("config.json");
    let text = read::private(&file).map_err(AgreeError::Problem)?;
    let mut text = text.unwrap_or_else(|| "{}\n".to_owned());
    for ask in asks {
        let consent = json!({"repo": root.to_string_lossy(), "sha256": ask.sha256.as_str()});
        let edited = edit(&text, &["consents", "policy"], &Change::Push(consent));
        let (at, failed) = (&file, |file, error| AgreeError::Edit { file, error });
        text = edited.map_err(|error| failed(at.clone(), error))?;
    }
    fault("config.before-agree");
    write_private(&file, &text).map_err(|error| AgreeError::Write { file, error })?;
    fault("config.after-agree");
    Ok(())
}

/// Replaces a file that only its owner may read, whole or not at all.
/// Fails when it cannot be written; the old file is then as it was.
pub fn write_private(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    let private = fs::Permissions::from_mode(0o600);
    new.as_file().set_permissions(private)?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_all()?;
    new.persist(file)?;
    fs::File::open(folder)?.sync_all()
}
