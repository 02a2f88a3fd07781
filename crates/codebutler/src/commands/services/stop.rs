//! `codebutler stop`: ends the services of this repo.

use super::Place;
use crate::{CliError, Exit, Ui};

/// Stop the services of this repo; running tools get a moment
///
/// What was being worked on is taken up again by `codebutler start`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let place = Place::here()?;
    let installed = place.installed()?;
    place.manager.stop(&place.repo, &installed)?;
    ui.line(format_args!("stopped: {}", installed.join(", ")))?;
    ui.note("they start again at the next login; `codebutler uninstall` removes them");
    Ok(Exit::Done)
}
