//! One file or folder per command.

pub mod agent;
pub mod completions;
pub mod demo;
pub mod doctor;
pub mod hub;
pub mod init;
pub mod policy;
pub mod schema;
pub mod up;
pub mod validate;

use std::{env, path::PathBuf};

use butler_settings::{machine_folder, set_up_root};

use crate::error::CliError;

/// The process's environment, as the settings want it.
pub fn environment(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// The repo that the command was started in.
pub fn set_up_here() -> Result<PathBuf, CliError> {
    let here = env::current_dir()?;
    set_up_root(&here, machine_folder(&environment).as_deref()).ok_or_else(|| {
        CliError::user(format!("{} is not set up for CodeButler", here.display()))
            .hint("run `codebutler init` in the repository")
    })
}
