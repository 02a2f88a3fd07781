//! The way to the hub's tokens, for every process that has a repo: agents, the
//! person at the terminal, scripts.

use std::{
    thread,
    time::{Duration, Instant},
};

use butler_config::Settings;
use butler_hub::{HubError, RepoChannel, RepoTokens, Tokens, runs_in};
use butler_protocol::ChannelId;

use crate::{error::CliError, wiring};

/// A hub that runs looks for a repo's channel within seconds; Slack may be slow.
const FINDING: Duration = Duration::from_secs(30);
/// A hub that somebody has just started may not have its folder yet.
const STARTING: Duration = Duration::from_secs(3);
const GLANCE: Duration = Duration::from_millis(50);

/// How to get a hub.
pub(crate) const STARTS_A_HUB: &str =
    "`codebutler up` starts the hub and all agents; `codebutler hub` the hub alone";

/// Whether a hub is where this repo looks for one. The address that an earlier
/// hub left behind does not tell: its lock does, which ended with it.
pub(crate) fn hub_runs(settings: &Settings) -> Result<bool, CliError> {
    runs_in(&wiring::hub_folder(settings)).map_err(CliError::internal)
}

/// A client for the hub of this machine: plain HTTP, and no proxy.
pub(crate) fn client() -> Result<reqwest::Client, CliError> {
    let builder = reqwest::Client::builder().tls_backend_preconfigured(butler_tls::plain());
    builder.no_proxy().build().map_err(CliError::internal)
}

/// Whether Slack is behind the hub of this machine.
pub(crate) fn relays(settings: &Settings) -> bool {
    let tokens = &settings.machine.slack;
    tokens.bot_token.is_some() || tokens.app_token.is_some()
}

/// The channel that this repo wants, and whose bots it hears.
pub(crate) fn repo_channel(settings: &Settings) -> Result<RepoChannel, CliError> {
    let channel = &settings.repo.slack;
    let repo = wiring::repo_name(&settings.home, &settings.root)?;
    let name = channel.channel_name.clone();
    Ok(RepoChannel {
        id: channel.channel_id.clone().map(ChannelId::new),
        name: name.unwrap_or_else(|| format!("codebutler-{repo}")),
        bots: channel.allowed_bots.clone(),
        repo,
    })
}

/// Tells the hub how much this repo may spend: a hub that another repo started
/// has only that one's limits.
pub(crate) fn tell_caps(settings: &Settings) -> Result<(), CliError> {
    let repo = wiring::repo_name(&settings.home, &settings.root)?;
    Tokens::open(wiring::hub_store(settings))
        .and_then(|mut tokens| tokens.set_caps(&repo, &wiring::caps(settings)))
        .map_err(CliError::internal)
}

/// The tokens of this repo. With Slack behind it the hub has to find the channel
/// first: while it does, this waits.
pub(crate) fn repo_tokens(settings: &Settings) -> Result<RepoTokens, CliError> {
    let folder = wiring::hub_folder(settings);
    let mut tokens = Tokens::open(wiring::hub_store(settings)).map_err(CliError::internal)?;
    let wanted = repo_channel(settings)?;
    if relays(settings) {
        tokens
            .request_channel(&wanted)
            .map_err(CliError::internal)?;
    }
    let begun = Instant::now();
    loop {
        match tokens.ensure_repo(&wanted.repo, &wanted.name) {
            Ok(found) => return Ok(found),
            Err(error @ HubError::NoChannel(_)) => {
                let runs = runs_in(&folder).map_err(CliError::internal)?;
                let longest = if runs { FINDING } else { STARTING };
                if begun.elapsed() > longest {
                    return Err(CliError::user(error));
                }
                thread::sleep(GLANCE);
            }
            Err(error @ HubError::Slack(_)) => return Err(CliError::user(error)),
            Err(error) => return Err(CliError::internal(error)),
        }
    }
}
