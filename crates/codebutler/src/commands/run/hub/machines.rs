//! `codebutler hub invite`, `machines`, `revoke`, `certificate`: agents on other
//! machines. They work on the hub's store; the hub need not run.

use std::time::Duration;

use butler_config::Settings;
use butler_hub::{HubTls, RepoChannel};
use butler_protocol::Role;
use butler_tls::Fingerprint;
use serde_json::json;

use crate::{
    CliError, Exit, Ui, cli,
    commands::people::refused,
    hub_access::{
        self,
        address::{JoinLink, is_loopback},
    },
    log, roles, wiring,
};

/// Invite another machine to run agents, by a link that works once
#[derive(Debug, clap::Args)]
pub(crate) struct Invite {
    /// The roles that it may run, as in coder,reviewer [default: all]
    #[arg(long, value_delimiter = ',', value_name = "ROLES", value_parser = cli::role(), ignore_case = true, hide_possible_values = true)]
    roles: Vec<Role>,

    /// For this repository [default: the one here]
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,

    /// How many minutes the link can be used
    #[arg(long, value_name = "MINUTES", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=10_080))]
    minutes: u64,
}

pub(super) fn invite(args: &Invite, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let own = wiring::own_repo(settings)?;
    let wanted = match &args.repo {
        Some(name) if Some(name) != own.as_ref() => named(name)?,
        _ if own.is_some() => hub_access::repo_channel(settings)?,
        _ => {
            let error = CliError::user("there is no repository here to invite a machine for");
            return Err(error.hint("name one with --repo, or run this in a clone of it"));
        }
    };
    if own.as_ref() == Some(&wanted.repo) {
        hub_access::tell_caps(settings)?;
    }
    let mut store = hub_access::store(settings)?;
    let known = store.repos().map_err(CliError::internal)?;
    let is_new = !known.iter().any(|(repo, _)| *repo == wanted.repo);
    let pinned = own_fingerprint(settings)?;
    let base = match &settings.machine.hub.public_url {
        Some(url) => url.clone(),
        None => wiring::hub_url(settings)?.to_string(),
    };
    hub_access::tokens_of(settings, &wanted)?;
    let mut roles = args.roles.clone();
    if roles.is_empty() {
        roles = Role::ALL.to_vec();
    }
    roles.sort_unstable();
    roles.dedup();
    let life = Duration::from_secs(args.minutes * 60);
    let invited = store.invite_machine(&wanted.repo, &roles, life);
    let code = invited.map_err(CliError::internal)?;
    ui.line(JoinLink::written(&base, &code, pinned.as_ref()))?;
    let repo = &wanted.repo;
    ui.note(format_args!(
        "In a clone of {repo} on the other machine: codebutler init --join 'LINK', in quotes\n\
         It may run {}. The link works once, within {} minutes.",
        roles::words(&roles),
        args.minutes
    ));
    if is_new {
        ui.note(format_args!(
            "{repo} is new to this hub, with the usual limits on what it may spend."
        ));
    }
    let here = url::Url::parse(&base).is_ok_and(|url| is_loopback(&url));
    if here {
        ui.note("It works on this machine; `hub.publicUrl` names the address for others (docs/machines.md).");
    }
    Ok(Exit::Done)
}

/// A repo of which only the name is known.
fn named(name: &str) -> Result<RepoChannel, CliError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.len() > 100 || !name.chars().all(fits) {
        let error = CliError::user(format!("--repo {name}: that is no name of a repository"));
        return Err(error.hint("a name has letters, digits, dots and dashes, as in my-app"));
    }
    Ok(RepoChannel {
        id: None,
        name: format!("codebutler-{name}"),
        bots: Vec::new(),
        repo: name.to_owned(),
    })
}

/// What the hub's own certificate is known by, where it makes one.
fn own_fingerprint(settings: &Settings) -> Result<Option<Fingerprint>, CliError> {
    if wiring::hub_tls(settings)? != Some(HubTls::Own) {
        return Ok(None);
    }
    let pem = own_certificate(settings)?;
    let fingerprint = Fingerprint::of_pem(&pem);
    Ok(Some(fingerprint.map_err(CliError::internal)?))
}

fn own_certificate(settings: &Settings) -> Result<String, CliError> {
    let kept = hub_access::store(settings)?.own_certificate();
    kept.map_err(CliError::internal)?.ok_or_else(|| {
        CliError::user("the hub has made no certificate yet")
            .hint("set `hub.tls` to \"self\" in the machine config, and start the hub once")
    })
}

/// Prints the certificate, for programs that want a file of it.
pub(super) fn certificate(settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    ui.line(own_certificate(settings)?.trim_end())?;
    if let Some(fingerprint) = own_fingerprint(settings)? {
        ui.note(format_args!("SHA-256 {fingerprint}"));
    }
    Ok(Exit::Done)
}

pub(super) fn list(settings: &Settings, as_json: bool, ui: &Ui) -> Result<Exit, CliError> {
    let found = hub_access::store(settings)?.machines();
    let (machines, invites) = found.map_err(CliError::internal)?;
    if as_json {
        return ui.done_json(json!({"machines": machines, "invites": invites}));
    }
    for one in &machines {
        ui.line(format_args!(
            "{}  {}  {}  {}",
            one.id,
            one.name,
            one.repo,
            roles::words(&one.roles)
        ))?;
    }
    for one in &invites {
        let minutes = (one.expires_ms - log::now_ms()).max(0) / 60_000;
        ui.line(format_args!(
            "{}  invited, {minutes} more minutes  {}  {}",
            one.id,
            one.repo,
            roles::words(&one.roles)
        ))?;
    }
    if machines.is_empty() && invites.is_empty() {
        ui.note("no other machine has joined; `codebutler hub invite` invites one");
    }
    Ok(Exit::Done)
}

pub(super) fn revoke(settings: &Settings, id: &str, ui: &Ui) -> Result<Exit, CliError> {
    let mut store = hub_access::store(settings)?;
    store.revoke_machine(id).map_err(|error| {
        refused(error).hint("`codebutler hub machines` lists machines and invitations")
    })?;
    ui.done(format_args!("{id} opens this hub no longer"))
}
