//! `codebutler uninstall`: removes the services of this repo, and says what stays.

use butler_config::FOLDER;

use super::{Place, service::environment_file};
use crate::{CliError, Exit, Ui};

/// Remove the services of this repo, and say what stays
///
/// Nothing that people or the team wrote is deleted.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let place = Place::here()?;
    let installed = place.manager.installed(&place.repo);
    if installed.is_empty() {
        ui.line(format_args!("no services of {} were installed", place.repo))?;
    } else {
        place.manager.check_session()?;
        place.manager.stop(&place.repo, &installed)?;
        place.manager.remove(&place.repo, &installed)?;
        ui.line(format_args!("removed: {}", installed.join(", ")))?;
    }
    for (what, path) in stays(&place) {
        ui.line(format_args!("stays: {path}  {what}"))?;
    }
    Ok(Exit::Done)
}

/// What is left, with what it is good for.
fn stays(place: &Place) -> Vec<(&'static str, String)> {
    let (root, home) = (&place.root, &place.settings.home);
    let all = [
        (
            "what the team agreed on and learned; committed",
            root.join(FOLDER),
        ),
        ("the logs of all threads", root.join(FOLDER).join("threads")),
        (
            "worktrees of open threads",
            root.join(FOLDER).join("branches"),
        ),
        (
            "keys and settings of this machine, for all repositories",
            home.join("config.json"),
        ),
        ("variables for services", environment_file(home)),
        (
            "the conversations of all repositories",
            crate::wiring::hub_folder(&place.settings),
        ),
        ("logs of the processes", home.join("logs").join(&place.repo)),
    ];
    let there = all.into_iter().filter(|(_, path)| path.exists());
    there
        .map(|(what, path)| (what, path.display().to_string()))
        .collect()
}
