//! The way to the hub and its tokens, for every process that has a repo: agents, the
//! person at the terminal, scripts.

pub(crate) mod address;
pub(crate) mod joining;

use std::{
    thread,
    time::{Duration, Instant},
};

use butler_config::{JoinedHub, JoinedRole, Settings};
use butler_hub::{AgentTokens, HubError, RepoChannel, RepoTokens, Tokens, runs_in};
use butler_protocol::ChannelId;
use butler_slack::Workspace;

use self::address::is_loopback;
use crate::{CliError, roles, wiring};

/// A hub that runs looks for a repo's channel within seconds; Slack may be slow.
const FINDING: Duration = Duration::from_secs(30);
/// A hub that somebody has just started may not have its folder yet.
const STARTING: Duration = Duration::from_secs(3);
const GLANCE: Duration = Duration::from_millis(50);

/// How to get a hub.
pub(crate) const STARTS_A_HUB: &str =
    "`codebutler up` starts the hub and all agents; `codebutler hub` the hub alone";

/// Whether a hub is where this repo looks for one; one on another machine is taken to
/// be. The address that an earlier
/// hub left behind does not tell: its lock does, which ended with it.
pub(crate) fn hub_runs(settings: &Settings) -> Result<bool, CliError> {
    if settings.joined().is_some() {
        return Ok(true);
    }
    runs_in(&wiring::hub_folder(settings)).map_err(CliError::internal)
}

/// A client for a hub; no proxy leads to this machine.
pub(crate) fn client(hub: &Workspace) -> Result<reqwest::Client, CliError> {
    let tls = match hub.base.scheme() {
        "https" => hub.trust.config().map_err(CliError::because)?,
        _ => butler_tls::plain(),
    };
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls);
    let builder = match is_loopback(&hub.base) {
        true => builder.no_proxy(),
        false => builder,
    };
    builder.build().map_err(CliError::internal)
}

/// What only works where the hub's store is.
pub(crate) fn beside_hub(settings: &Settings) -> Result<(), CliError> {
    let Some(joined) = settings.joined() else {
        return Ok(());
    };
    Err(CliError::user(format!(
        "this repository works for the hub at {}; this is done there, on its page or beside it",
        joined.url
    ))
    .hint(format!(
        "here `codebutler worker` runs {}",
        roles::words(&joined.roles())
    )))
}

/// The store of the hub beside which this runs.
pub(crate) fn store(settings: &Settings) -> Result<Tokens, CliError> {
    beside_hub(settings)?;
    Tokens::open(wiring::hub_store(settings)).map_err(CliError::internal)
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
/// has only that one's limits. A hub on another machine is told there.
pub(crate) fn tell_caps(settings: &Settings) -> Result<(), CliError> {
    if settings.joined().is_some() {
        return Ok(());
    }
    let repo = wiring::repo_name(&settings.home, &settings.root)?;
    let told = store(settings)?.set_caps(&repo, &wiring::caps(settings));
    told.map_err(CliError::internal)
}

/// The tokens of this repo. With Slack behind it the hub has to find the channel
/// first: while it does, this waits.
pub(crate) fn repo_tokens(settings: &Settings) -> Result<RepoTokens, CliError> {
    match settings.joined() {
        Some(joined) => Ok(given(joined)),
        None => tokens_of(settings, &repo_channel(settings)?),
    }
}

/// What this machine was given when it joined.
fn given(joined: &JoinedHub) -> RepoTokens {
    let pair = |one: &JoinedRole| AgentTokens {
        bot: one.bot.clone(),
        app: one.app.clone(),
    };
    let agents = joined.tokens.iter().map(|one| (one.role, pair(one)));
    RepoTokens {
        channel: ChannelId::new(joined.channel.clone()),
        agents: agents.collect(),
    }
}

/// The same of any repo, beside the hub.
pub(crate) fn tokens_of(settings: &Settings, wanted: &RepoChannel) -> Result<RepoTokens, CliError> {
    let folder = wiring::hub_folder(settings);
    let mut tokens = store(settings)?;
    if relays(settings) {
        tokens.request_channel(wanted).map_err(CliError::internal)?;
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
