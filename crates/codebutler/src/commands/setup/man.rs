//! `codebutler man`: a page for every command, from the same texts as `--help`.

use std::path::PathBuf;

use crate::{CliError, Exit, Ui, cli};

/// Write the man pages into a folder
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder; `man -M` and packages want it to be named man1
    folder: PathBuf,
}

pub(crate) fn run(args: &Args, _: &Ui) -> Result<Exit, CliError> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(cli::command(), folder))
        .map_err(|error| {
            CliError::user(format!(
                "cannot write man pages into {}: {error}",
                folder.display()
            ))
            .hint("name a folder that you may write to")
        })?;
    Ok(Exit::Done)
}
