//! `codebutler restart`: ends the services of this repo and starts them again.

use super::{Place, start};
use crate::{CliError, Exit, Ui, process};

/// Restart the services of this repo; work goes on where it was
///
/// Running tools get a moment. To let running turns end first, write `!restart` in the
/// channel.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let place = Place::here()?;
    let installed = place.installed()?;
    place.manager.restart(&place.repo, &installed)?;
    process::run_on_one_thread(async |_cancel| {
        let found = start::settled(&place).await?;
        start::tell(&place, &found, ui)
    })
}
