//! A configuration file that a command changes: everything else in it stays as the
//! person wrote it, and what could not be used afterwards is not staged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use butler_config::{Change, RepoFiles, Settings, edit};
use serde_json::Value;

use crate::{
    CliError,
    commands::{
        environment,
        setup::init::{Access, Staged},
    },
};

/// What is said besides when a command has written nothing yet.
pub(crate) const NOTHING_CHANGED: &str =
    "nothing was changed; correct the file and run the command again";

/// The file as it is, and as it will be.
pub(crate) struct ConfigFile {
    path: PathBuf,
    is_new: bool,
    before: String,
    text: String,
}

impl ConfigFile {
    /// One that is not there yet begins with `fresh`.
    pub(crate) fn open(path: PathBuf, fresh: &str) -> Result<Self, CliError> {
        match path.exists() {
            true => Self::existing(path),
            false => Ok(Self::with(path, true, fresh.to_owned())),
        }
    }

    /// One that is there.
    pub(crate) fn existing(path: PathBuf) -> Result<Self, CliError> {
        let text = fs::read_to_string(&path)
            .map_err(|error| CliError::user(format!("cannot read {}: {error}", path.display())))?;
        Ok(Self::with(path, false, text))
    }

    fn with(path: PathBuf, is_new: bool, text: String) -> Self {
        Self {
            path,
            is_new,
            before: text.clone(),
            text,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.before != self.text
    }

    pub(crate) fn set(&mut self, key: &[impl AsRef<str>], value: Value) -> Result<(), CliError> {
        self.change(key, &Change::Set(value))
    }

    pub(crate) fn remove(&mut self, key: &[impl AsRef<str>]) -> Result<(), CliError> {
        self.change(key, &Change::Remove)
    }

    fn change(&mut self, key: &[impl AsRef<str>], change: &Change) -> Result<(), CliError> {
        let key: Vec<&str> = key.iter().map(AsRef::as_ref).collect();
        let changed = edit(&self.text, &key, change);
        let wrong = |error| CliError::user(format!("{}: {error}", self.path.display()));
        self.text = changed.map_err(wrong)?;
        Ok(())
    }

    /// As the machine config.
    pub(crate) fn stage_for_machine(&self, staged: &mut Staged) -> Result<(), CliError> {
        Settings::check_machine(&self.path, &self.text, &environment)?;
        staged.replace(&self.path, &self.text, Access::Private)
    }

    /// As the config of the repo at `root`.
    pub(crate) fn stage_for_repo(&self, root: &Path, staged: &mut Staged) -> Result<(), CliError> {
        let files = RepoFiles {
            config: Some(self.text.clone()),
            ..RepoFiles::on_disk(root)?
        };
        Settings::load_from(root, &files, &environment)?;
        staged.replace(&self.path, &self.text, Access::Shared)
    }
}
