//! One file or folder per command.

pub(crate) mod backup;
pub(crate) mod inspect;
pub(crate) mod mcp;
pub(crate) mod people;
pub(crate) mod playbook;
pub(crate) mod run;
pub(crate) mod services;
pub(crate) mod setup;
pub(crate) mod talk;

use std::{
    env,
    path::{Path, PathBuf},
};

use butler_config::{Settings, bare_repository, machine_folder, set_up_root};

use crate::{CliError, process};

/// The process's environment, as the settings want it.
pub(crate) fn environment(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// The repo that the command was started in.
pub(crate) fn set_up_here() -> Result<PathBuf, CliError> {
    let here = env::current_dir()?;
    set_up_root(&here, machine_folder(&environment).as_deref()).ok_or_else(|| {
        CliError::user(format!("{} is not set up for CodeButler", here.display()))
            .hint("run `codebutler init` in the repository")
    })
}

/// Its settings.
pub(crate) fn settings_here() -> Result<Settings, CliError> {
    Ok(Settings::load(&set_up_here()?, &environment)?)
}

/// The settings around a folder, when it is set up. What is there and cannot be
/// read is an error: rules must not lapse because of a comma.
pub(crate) fn settings_around(folder: &Path) -> Result<Option<Settings>, CliError> {
    match set_up_root(folder, machine_folder(&environment).as_deref()) {
        Some(root) => Ok(Some(Settings::load(&root, &environment)?)),
        None => Ok(None),
    }
}

/// Whether there is a git that will do: said at the start, and not by whichever
/// git command fails first.
pub(crate) fn git_will_do() -> Result<(), CliError> {
    process::run_on_one_thread(async |_| {
        let version = butler_repo::git_version().await;
        version.map(drop).map_err(|error| match error {
            butler_repo::Error::TooOld { .. } => CliError::because(error),
            other => CliError::because(other).hint("install git 2.38 or newer"),
        })
    })
}

/// What is wrong with a folder that no repository's files are around, and the
/// remedy.
pub(crate) fn no_repository(here: &Path) -> (String, String) {
    match bare_repository(here) {
        Some(bare) => {
            let bare = bare.display();
            (
                format!("{bare} is a bare repository, without files to work on"),
                format!("make a working copy and go there: git clone {bare}"),
            )
        }
        None => (
            format!("{} is not in a git repository", here.display()),
            "go to a repository, or run `git init` here".to_owned(),
        ),
    }
}
