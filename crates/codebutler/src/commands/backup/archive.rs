//! The file of a backup: a packed folder with a sheet that says what it is.
//!
//! ```text
//! backup.json     what follows
//! hub.sqlite3     the hub's store
//! threads/        the logs of the repo's threads
//! machine/        config.json and env, where secrets were asked for
//! ```

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde::{Deserialize, Serialize};

use crate::CliError;

pub(super) const SHEET: &str = "backup.json";
pub(super) const STORE: &str = "hub.sqlite3";
pub(super) const THREADS: &str = "threads";
pub(super) const MACHINE: &str = "machine";
/// Files of the machine's folder that hold secrets.
pub(super) const PRIVATE: [&str; 2] = ["config.json", "env"];

/// The form that this build writes.
const FORM: u32 = 1;

/// What a backup is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sheet {
    pub form: u32,
    /// Of the build that wrote it.
    pub version: String,
    pub made_ms: i64,
    /// The repo's name, by which the hub knows it.
    pub repo: String,
    /// The folder of the store: built-in workspace and mirror of Slack are two.
    pub store: String,
    /// Whether keys and tokens are in it.
    pub secrets: bool,
}

impl Sheet {
    pub(super) fn new(repo: &str, store: &str, secrets: bool) -> Self {
        Self {
            form: FORM,
            version: crate::cli::VERSION.to_owned(),
            made_ms: crate::log::now_ms(),
            repo: repo.to_owned(),
            store: store.to_owned(),
            secrets,
        }
    }
}

/// Packs a folder into a file that only its owner may read; whole or not at all.
pub(super) fn pack(folder: &Path, sheet: &Sheet, file: &Path) -> io::Result<()> {
    fs::write(folder.join(SHEET), serde_json::to_vec_pretty(sheet)?)?;
    let beside = file
        .parent()
        .filter(|beside| !beside.as_os_str().is_empty());
    // Made readable by the owner alone.
    let temporary = tempfile::NamedTempFile::new_in(beside.unwrap_or(Path::new(".")))?;
    let mut tar = tar::Builder::new(GzEncoder::new(temporary, Compression::default()));
    tar.follow_symlinks(false);
    // First, so that whoever looks at the file need not unpack it.
    tar.append_path_with_name(folder.join(SHEET), SHEET)?;
    for item in fs::read_dir(folder)? {
        let item = item?;
        let name = item.file_name();
        if name == SHEET {
            continue;
        }
        match item.file_type()?.is_dir() {
            true => tar.append_dir_all(&name, item.path())?,
            false => tar.append_path_with_name(item.path(), &name)?,
        }
    }
    let temporary = tar.into_inner()?.finish()?;
    temporary.as_file().sync_all()?;
    temporary.persist(file).map_err(|error| error.error)?;
    Ok(())
}

/// Unpacks a file into a folder; what it is of. Nothing is put outside the folder.
pub(super) fn unpack(file: &Path, folder: &Path) -> Result<Sheet, CliError> {
    let shown = file.display();
    let packed = File::open(file).map_err(|error| CliError::user(format!("{shown}: {error}")))?;
    let mut tar = tar::Archive::new(GzDecoder::new(packed));
    tar.set_preserve_permissions(false);
    let strange = |error: io::Error| {
        CliError::user(format!("{shown} is no whole backup of CodeButler: {error}"))
    };
    fs::create_dir_all(folder)?;
    for entry in tar.entries().map_err(strange)? {
        let mut entry = entry.map_err(strange)?;
        let kind = entry.header().entry_type();
        // A link would lead whoever reads the rest out of the folder.
        if !(kind.is_file() || kind.is_dir()) {
            return Err(strange(io::Error::other("there is more than files in it")));
        }
        entry.unpack_in(folder).map_err(strange)?;
    }
    let text = fs::read(folder.join(SHEET)).map_err(strange)?;
    let sheet: Sheet = serde_json::from_slice(&text).map_err(|error| strange(error.into()))?;
    if sheet.form > FORM {
        let error = CliError::user(format!(
            "{shown} was made by a newer codebutler ({})",
            sheet.version
        ));
        return Err(error.hint("use that one, or a later one"));
    }
    Ok(sheet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_a_backup_leads_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join(MACHINE)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join(MACHINE).join("env")).unwrap();
        let file = dir.path().join("app.backup");
        pack(&from, &Sheet::new("app", "hub", true), &file).unwrap();
        let said = unpack(&file, &to).unwrap_err().plain();
        assert!(said.contains("more than files"), "{said}");
        assert!(!to.join(MACHINE).join("env").is_symlink());
    }

    #[test]
    fn what_was_packed_comes_back_and_anything_else_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join(THREADS).join("one")).unwrap();
        fs::write(from.join(THREADS).join("one/pm.jsonl"), "{}\n").unwrap();
        fs::write(from.join(STORE), "store").unwrap();
        let file = dir.path().join("app.backup");
        let sheet = Sheet::new("app", "hub", false);
        pack(&from, &sheet, &file).unwrap();
        assert_eq!(unpack(&file, &to).unwrap(), sheet);
        let log = fs::read_to_string(to.join(THREADS).join("one/pm.jsonl")).unwrap();
        assert_eq!(log, "{}\n");
        let later = Sheet {
            form: FORM + 1,
            ..sheet
        };
        pack(&from, &later, &file).unwrap();
        let said = unpack(&file, &to).unwrap_err().plain();
        assert!(said.contains("newer codebutler"), "{said}");
        let half = fs::read(&file).unwrap();
        fs::write(&file, &half[..half.len() / 2]).unwrap();
        let said = unpack(&file, &to).unwrap_err().plain();
        assert!(said.contains("no whole backup"), "{said}");
        unpack(&from.join(STORE), &to).unwrap_err();
    }
}
