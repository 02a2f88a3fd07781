//! `codebutler backup FILE`.

use std::{fs, path::PathBuf};

use butler_config::FOLDER;
use butler_hub::FrozenStore;

use super::{
    archive::{self, MACHINE, PRIVATE, STORE, Sheet, THREADS},
    copy::Copied,
};
use crate::{CliError, Exit, Ui, commands::settings_here, hub_access, wiring};

/// Save the conversations and threads of this repo in one file; the team may run
///
/// In it: the hub's store (of all repositories of this machine) and the logs of this
/// repository's threads. Not in it: the repository itself and its worktrees, which git has.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to
    file: PathBuf,

    /// With keys and tokens of this machine: whoever has the file can use them
    #[arg(long)]
    with_secrets: bool,

    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let settings = settings_here()?;
    hub_access::beside_hub(&settings)?;
    let file = &args.file;
    if file.exists() && !args.force {
        let error = CliError::user(format!("{} is there already", file.display()));
        return Err(error.hint("choose another name, or add --force"));
    }
    let beside = file
        .parent()
        .filter(|beside| !beside.as_os_str().is_empty());
    let staging = tempfile::Builder::new()
        .prefix(".codebutler-backup-")
        .tempdir_in(beside.unwrap_or(std::path::Path::new(".")))
        .map_err(|error| CliError::user(format!("{}: {error}", file.display())))?;
    let threads = settings.root.join(FOLDER).join("threads");
    let copy = staging.path().join(THREADS);
    fs::create_dir(&copy)?;
    let mut copied = Copied::default();
    copied.bring_up(&threads, &copy)?;
    let folder = wiring::hub_folder(&settings);
    let frozen = FrozenStore::freeze(&wiring::hub_store(&settings)).map_err(CliError::because)?;
    // A backup without the conversations must not look like one with them.
    let Some(frozen) = frozen else {
        let error = CliError::user(format!(
            "there are no conversations to save: no hub has worked in {}",
            folder.display()
        ));
        return Err(error.hint("run it as the person whose hub it is, on the hub's machine"));
    };
    // Nobody is answered from here on, so what is written now belongs together.
    copied.bring_up(&threads, &copy)?;
    let store = staging.path().join(STORE);
    let stored = frozen.copy(&store, args.with_secrets);
    stored.map_err(CliError::internal)?;
    if args.with_secrets {
        let machine = staging.path().join(MACHINE);
        fs::create_dir(&machine)?;
        for name in PRIVATE {
            let from = settings.home.join(name);
            if from.exists() {
                fs::copy(from, machine.join(name))?;
            }
        }
    }
    let repo = wiring::repo_name(&settings.home, &settings.root)?;
    let store = folder.file_name().unwrap_or_default().to_string_lossy();
    let sheet = Sheet::new(&repo, &store, args.with_secrets);
    archive::pack(staging.path(), &sheet, file)
        .map_err(|error| CliError::user(format!("cannot write {}: {error}", file.display())))?;
    tell(args, copied.count(), ui)?;
    Ok(Exit::Done)
}

fn tell(args: &Args, files: usize, ui: &Ui) -> Result<(), CliError> {
    ui.line(format_args!(
        "saved the conversations and {files} files of threads in {}",
        args.file.display()
    ))?;
    if args.with_secrets {
        ui.note("it holds the keys and tokens of this machine: keep it as private as they are");
    } else {
        ui.note("keys and tokens are not in it; --with-secrets adds them. What people said is: keep it private");
    }
    Ok(())
}
