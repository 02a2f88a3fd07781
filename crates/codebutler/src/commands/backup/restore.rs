//! `codebutler restore FILE`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use butler_config::{FOLDER, Settings};
use butler_hub::{HubError, StorePlace};

use super::archive::{self, MACHINE, PRIVATE, STORE, Sheet, THREADS};
use crate::{
    CliError, Exit, Ui, commands::settings_here, hub_access, log::now_ms, names, process::running,
    wiring,
};

/// Put back what `codebutler backup` saved, here or on another machine
///
/// Run it in a clone of the repository, while no team runs. Threads go on with the next
/// start.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The backup
    file: PathBuf,

    /// Move what is here out of the way; nothing is deleted
    #[arg(long)]
    replace: bool,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let settings = settings_here()?;
    hub_access::beside_hub(&settings)?;
    let root = settings.root.clone();
    let home = &settings.home;
    fs::create_dir_all(home)?;
    // On the same disk as its destination.
    let threads = root.join(FOLDER).join("threads");
    let staging = tempfile::Builder::new()
        .prefix(".restore-")
        .tempdir_in(root.join(FOLDER))?;
    let sheet = archive::unpack(&args.file, staging.path())?;
    let store = store_folder(home, &sheet)?;
    nobody_runs(home, &root, &store, &sheet)?;
    if let Some(other) = names::adopt(home, &sheet.repo, &root)? {
        return Err(CliError::user(format!(
            "the backup is of a repository called {}, and on this machine that is {}",
            sheet.repo,
            other.display()
        )));
    }
    let place = place_of(&settings, &store)?;
    // What is in a database stays there; it has to be an empty one.
    let in_database = place.database().is_some();
    let places: &[&Path] = match in_database {
        true => &[&threads],
        false => &[&store, &threads],
    };
    let taken = taken(args.replace, places)?;
    // Before anything is moved: what is here goes on where the backup is refused.
    let copy = staging.path().join(STORE);
    let beside = tempfile::Builder::new()
        .prefix(".restore-")
        .tempdir_in(home)?;
    let made = beside.path().join("store");
    if copy.exists() {
        let place = match in_database {
            true => place,
            false => StorePlace::from(&made),
        };
        butler_hub::put_back(&copy, &place).map_err(not_put_back)?;
    }
    make_room(&taken, places, ui)?;
    if made.is_dir() {
        fs::rename(&made, &store)?;
    }
    if staging.path().join(THREADS).is_dir() {
        fs::rename(staging.path().join(THREADS), &threads)?;
    }
    ui.line(format_args!(
        "restored the conversations and threads of {} (made by {})",
        sheet.repo, sheet.version
    ))?;
    secrets(&staging.path().join(MACHINE), home, &sheet, ui)?;
    ui.note("`codebutler up` or `codebutler start` goes on with them");
    Ok(Exit::Done)
}

/// The built-in workspace and the mirror of Slack have folders of their own.
fn store_folder(home: &Path, sheet: &Sheet) -> Result<PathBuf, CliError> {
    match sheet.store.as_str() {
        "hub" | "hub-slack" => Ok(home.join(&sheet.store)),
        other => Err(CliError::user(format!(
            "the backup names a strange place: {other}"
        ))),
    }
}

/// The folder, or the database that this machine's settings name in its place.
fn place_of(settings: &Settings, store: &Path) -> Result<StorePlace, CliError> {
    let configured = wiring::hub_store(settings);
    if configured.database().is_none() {
        return Ok(store.into());
    }
    if wiring::hub_folder(settings) != store {
        let error =
            "the backup is of a workspace with Slack and this machine's is without, or the reverse";
        return Err(CliError::user(error)
            .hint("set or remove the tokens under `slack` in config.json first"));
    }
    Ok(configured)
}

fn not_put_back(error: HubError) -> CliError {
    let taken = matches!(error, HubError::Taken(_));
    let error = CliError::because(error);
    match taken {
        true => error.hint("name an empty one: another `?schema=` in `hub.database` will do"),
        false => error,
    }
}

fn nobody_runs(home: &Path, root: &Path, store: &Path, sheet: &Sheet) -> Result<(), CliError> {
    let hub = butler_hub::runs_in(store).map_err(CliError::internal)?;
    let own = wiring::repo_name(home, root)?;
    let names = [own.as_str(), sheet.repo.as_str()];
    let runs = |repo: &&str| running::names().any(|name| running::look(home, repo, name).is_some());
    if hub || names.iter().any(runs) {
        let error = CliError::user("a team or a hub runs on this machine");
        return Err(error.hint("stop it first: `codebutler stop`, or Ctrl-C where `up` runs"));
    }
    Ok(())
}

/// What is here already; refuses to write over it unless it may be moved aside.
fn taken<'a>(replace: bool, places: &[&'a Path]) -> Result<Vec<&'a Path>, CliError> {
    let is_taken = |place: &&Path| {
        let mut items = fs::read_dir(place).into_iter().flatten();
        items.next().is_some()
    };
    let taken: Vec<&Path> = places.iter().copied().filter(is_taken).collect();
    if let [first, ..] = taken.as_slice()
        && !replace
    {
        let error = CliError::user(format!("there is something already: {}", first.display()));
        return Err(error.hint("--replace moves it out of the way; nothing is deleted"));
    }
    Ok(taken)
}

/// Moves aside what is in the way.
fn make_room(taken: &[&Path], places: &[&Path], ui: &Ui) -> Result<(), CliError> {
    for place in taken {
        let mut aside = place.as_os_str().to_owned();
        aside.push(format!(".before-restore-{}", now_ms()));
        fs::rename(place, &aside)?;
        // In a clone it has another name than what `.gitignore` names, and is as private.
        fs::write(Path::new(&aside).join(".gitignore"), "*\n")?;
        ui.note(format_args!(
            "what was here is now {}",
            Path::new(&aside).display()
        ));
    }
    for place in places {
        // An empty folder may be left.
        let _ = fs::remove_dir(place);
    }
    Ok(())
}

/// Files with secrets are put where there are none.
fn secrets(machine: &Path, home: &Path, sheet: &Sheet, ui: &Ui) -> Result<(), CliError> {
    if !sheet.secrets {
        ui.note("keys and tokens were not in it: this machine uses its own, `codebutler init` asks for missing ones");
    }
    for name in PRIVATE {
        let (from, to) = (machine.join(name), home.join(name));
        if !from.exists() {
            continue;
        }
        if to.exists() {
            ui.note(format_args!("{} is left as it is", to.display()));
        } else {
            butler_config::write_private(&to, &fs::read_to_string(from)?)?;
            ui.note(format_args!("restored {}", to.display()));
        }
    }
    Ok(())
}
