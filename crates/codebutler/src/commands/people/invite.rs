//! `codebutler invite`: a link that lets somebody else in.

use butler_protocol::Standing;

use super::{only_without_slack, refused, standing, store};
use crate::{CliError, Exit, Ui, wiring};

/// Invite somebody to the page, by a link that works once
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Their name
    name: String,
    /// What they may do: guest asks, approver also approves, maintainer also merges, admin also invites
    #[arg(long, value_name = "ROLE", value_parser = standing(), default_value = "approver", hide_possible_values = true)]
    role: Standing,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let (settings, mut tokens) = store()?;
    only_without_slack(&settings)?;
    let code = tokens.invite(&args.name, args.role).map_err(refused)?;
    let public = settings.machine.hub.public_url.clone();
    let page = match &public {
        Some(url) => url.clone(),
        None => wiring::hub_url(&settings)?.to_string(),
    };
    let page = page.trim_end_matches('/');
    ui.line(format_args!("{page}/login?code={}", code.expose()))?;
    ui.note(format_args!(
        "{} {}. The link works once, within seven days.",
        args.name.trim(),
        args.role.in_words()
    ));
    if public.is_none() {
        ui.note("It works on this machine; `hub.publicUrl` names the address for others (docs/page.md).");
    }
    Ok(Exit::Done)
}
