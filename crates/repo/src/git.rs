//! Runs the git command line, always for one folder and always with settings
//! under which the repository cannot make it run anything of its own: no hooks,
//! filters, drivers, monitors, pagers, prompts or helpers that came with the repo.
//! What looks at a working tree runs in the sandbox besides (`inside`).
//!
//! Who may decide what: the person's own git config may say how to reach a
//! remote (credentials, proxies, ssh); a repository's config may not.

mod call;
mod call_folder;
mod clean_config;
mod inside;
mod local_config;
mod objects;
mod outside;
mod process;
mod questions;
mod settings;
mod version;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

pub(crate) use call::path_of;
pub use call::{Call, Output};
pub(crate) use call_folder::clear_scratch;
pub use clean_config::clean_config;
pub use inside::confine_with;
pub(crate) use local_config::{Places, RULES, places};
pub(crate) use process::{Ask, Input, run};
pub use settings::Settings;
pub(crate) use settings::config_entries;
pub use version::git_version;
pub(crate) use version::version;

use crate::{Error, Result};

/// Git in one folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Git {
    dir: PathBuf,
    settings: Arc<Settings>,
    guard: Arc<local_config::Guard>,
    /// Whether commands see the files of the folder.
    files: bool,
}

impl Git {
    /// Git in `dir`, with the environment of this process, scrubbed.
    pub fn at(dir: &Path) -> Self {
        Self::with(dir, Arc::new(Settings::from_process()))
    }

    /// Git in `dir` with given settings.
    pub fn with(dir: &Path, settings: Arc<Settings>) -> Self {
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        Self {
            guard: Arc::new(local_config::Guard::new(&dir)),
            dir,
            settings,
            files: true,
        }
    }

    /// The same without the folder's files: only objects and refs are looked at.
    #[must_use]
    pub(crate) fn without_files(mut self) -> Self {
        self.files = false;
        self
    }

    pub(crate) fn places(&self) -> Result<Places> {
        local_config::places(&self.dir).ok_or_else(|| Error::NotARepo {
            path: self.dir.clone(),
        })
    }

    /// A private folder that commands here can write to.
    pub(crate) fn scratch(&self) -> Result<PathBuf> {
        call_folder::scratch(&self.places()?, &self.dir)
    }

    /// The same settings in another folder.
    pub fn elsewhere(&self, dir: &Path) -> Self {
        Self::with(dir, Arc::clone(&self.settings))
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Prepares a command; nothing runs before [`Call::run`].
    pub fn call<I, S>(&self, args: I) -> Call<'_>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        Call::new(self, args)
    }

    /// Keys of the repository's own config that we do not obey, for people.
    /// Fails when the config cannot be read or includes other files.
    pub async fn disarmed(&self) -> Result<Vec<String>> {
        let overrides = self.guard.overrides(&self.settings).await?;
        let keys = overrides.iter().map(|(key, _)| key.clone());
        Ok(keys.filter(|key| key != "core.attributesFile").collect())
    }

    /// The folder that all worktrees of this repository share.
    /// Fails when `dir` is not the top of a repository or worktree.
    pub fn common_dir(&self) -> Result<PathBuf> {
        self.places().map(|places| places.common)
    }

    /// The folder of this worktree's own git state.
    /// Fails when `dir` is not the top of a repository or worktree.
    pub fn git_dir(&self) -> Result<PathBuf> {
        self.places().map(|places| places.own)
    }
}
