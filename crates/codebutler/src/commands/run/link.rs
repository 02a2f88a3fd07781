//! `codebutler link`: another way into the page of a hub that runs.

use crate::commands::run::up::login_link;
use crate::{CliError, Exit, Ui, commands::settings_here, hub_access, wiring};

/// Print another link to the page; each works once
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let settings = settings_here()?;
    let url = wiring::hub_url(&settings)?;
    if !hub_access::hub_runs(&settings)? {
        let error = CliError::user(format!("no hub runs at {url}"));
        return Err(error.hint(hub_access::STARTS_A_HUB));
    }
    ui.done(login_link(&settings, url.as_str())?)
}
