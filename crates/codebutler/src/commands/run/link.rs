//! `codebutler link`: another way into the page of a hub that runs.

use butler_config::Settings;

use crate::commands::run::up::login_link;
use crate::{
    commands::{environment, set_up_here},
    error::CliError,
    exit::Exit,
    hub_access,
    ui::Ui,
    wiring,
};

/// Print another link to the page; each works once
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let settings = Settings::load(&set_up_here()?, &environment)?;
    let url = wiring::hub_url(&settings)?;
    if !hub_access::hub_runs(&settings)? {
        let error = CliError::user(format!("no hub runs at {url}"));
        return Err(error.hint(hub_access::STARTS_A_HUB));
    }
    ui.line(login_link(&settings, url.as_str())?)?;
    Ok(Exit::Done)
}
