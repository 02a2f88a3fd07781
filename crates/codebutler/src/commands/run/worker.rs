//! `codebutler worker`: the agents that this machine was given, of every repository that
//! joined a hub on another machine; as `up`, without a hub. For terminals, service
//! managers and containers alike: it ends when it is told to, or when no hub knows this
//! machine any longer.

use std::{env, fs, path::PathBuf, sync::Arc, time::Duration};

use butler_config::{Settings, machine_folder, repository_root};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::up::{self, Agents};
use crate::{
    CliError, Exit, Ui,
    commands::{environment, setup::init},
    hub_access::joining,
    process, roles,
    supervise::READY,
};

/// Between two looks whether the hubs still know this machine.
const GLANCE: Duration = Duration::from_secs(10);

/// Run the agents that this machine was given by a hub on another machine
///
/// Runs them for every repository here that has joined a hub, until Ctrl-C. A hub that
/// is away is waited for. With a link to join by, as for a container's first start, the
/// repository here joins first, unless it has already.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Join first by this link, unless this repository has joined already
    #[arg(
        long,
        value_name = "LINK",
        env = "CODEBUTLER_JOIN",
        hide_env_values = true
    )]
    join: Option<String>,

    /// The same, with the link in a file
    #[arg(
        long,
        value_name = "FILE",
        env = "CODEBUTLER_JOIN_FILE",
        conflicts_with = "join"
    )]
    join_file: Option<PathBuf>,

    /// Show what the agents log; `codebutler logs -f` does so elsewhere
    #[arg(long)]
    logs: bool,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    if let Some(link) = link(args)? {
        join_first(link, ui)?;
    }
    let teams = teams()?;
    process::run(async move |cancel| {
        let lines = up::lines(args.logs);
        let mut running = Vec::new();
        for settings in teams {
            let Some(hub) = settings.joined() else {
                continue;
            };
            let roles = hub.roles();
            let lines = Arc::clone(&lines);
            let agents = Agents::start(&settings.home, &settings.root, &roles, lines, &cancel)?;
            let (titles, repo, url) = (roles::words(&roles), &hub.repo, &hub.url);
            ui.line(format_args!("{READY} {titles} of {repo} for {url}"))?;
            running.push((settings, agents));
        }
        let left = watch(running, &cancel, ui).await;
        let stopped = cancel.is_cancelled();
        for (_, agents) in left {
            agents.end().await;
        }
        if stopped {
            return Ok(Exit::Done);
        }
        let error = CliError::user("no hub knows this machine any longer: it was sent away");
        Err(error.hint("`codebutler hub invite`, beside the hub, invites it again; then `codebutler init --join LINK`"))
    })
}

type Running = Vec<(Settings, Agents)>;

/// Ends the agents of hubs that sent this machine away. Gives the rest back when there
/// is none, or when it is to stop.
async fn watch(mut running: Running, cancel: &CancellationToken, ui: &Ui) -> Running {
    while !running.is_empty() {
        tokio::select! {
            () = cancel.cancelled() => return running,
            () = sleep(GLANCE) => {}
        }
        let mut kept = Vec::new();
        for (settings, agents) in running {
            match joining::was_sent_away(&settings).await {
                false => kept.push((settings, agents)),
                true => {
                    let url = settings.joined().map(|hub| hub.url.as_str());
                    let url = url.unwrap_or_default();
                    ui.note(format_args!("the hub at {url} sent this machine away"));
                    agents.end().await;
                }
            }
        }
        running = kept;
    }
    running
}

fn link(args: &Args) -> Result<Option<String>, CliError> {
    let Some(file) = &args.join_file else {
        return Ok(args.join.clone());
    };
    let text = fs::read_to_string(file).map_err(|error| {
        CliError::user(format!("{}: {error}", file.display()))
            .hint("the file holds the link that `codebutler hub invite` printed")
    })?;
    Ok(Some(text))
}

/// What is joined already stays as it is: a link works once, and a container starts
/// more than once.
fn join_first(link: String, ui: &Ui) -> Result<(), CliError> {
    let (machine, _) = Settings::machine(&environment)?;
    let root = repository_root(&env::current_dir()?);
    let known = root.as_ref().and_then(|root| root.to_str());
    if known.is_some_and(|root| machine.joined.contains_key(root)) {
        return Ok(());
    }
    init::set_up(&init::Args::joining(link), ui).map(drop)
}

/// The repositories of this machine that work for a hub elsewhere.
fn teams() -> Result<Vec<Settings>, CliError> {
    let (machine, _) = Settings::machine(&environment)?;
    let mut teams = Vec::new();
    for root in machine.joined.keys() {
        teams.push(Settings::load(root.as_ref(), &environment)?);
    }
    if teams.is_empty() {
        let home = machine_folder(&environment).unwrap_or_default();
        let error = CliError::user(format!(
            "no repository of this machine has joined a hub ({})",
            home.join("config.json").display()
        ));
        return Err(error.hint(
            "`codebutler hub invite`, beside the hub, prints a link; `codebutler init --join LINK` takes it",
        ));
    }
    Ok(teams)
}
