//! `codebutler up`: hub and agents as child processes in the foreground. It says in
//! a few lines where the page is, who is there, and what is wrong with the way to fix
//! it; what the processes log is in their files.

mod claim;
mod greeting;
mod opening;
mod quiet;
mod team;

use std::{sync::Arc, time::Duration};

use butler_config::Settings;
use butler_hub::runs_in;
use tokio_util::sync::CancellationToken;

pub(crate) use crate::commands::run::up::team::{Agents, Place, Team};
use crate::commands::run::up::{greeting::Greeting, quiet::problems_only};
use crate::commands::{
    inspect::policy,
    run::{learning, listen::Listen},
    settings_here,
    setup::slack::troubles,
};
use crate::{
    CliError, Exit, Paint, Ui, browser, hub_access, log, model_check, person::Person, process,
    supervise::LineSink, wiring,
};

/// Between two looks whether a model answers by now.
const AGAIN: Duration = Duration::from_secs(10);

/// Run hub and agents in the foreground; Ctrl-C stops all
///
/// A hub that another repository of this machine has started is shared; when it
/// ends, this one takes its place. A repository has one team at a time.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    listen: Listen,

    /// Do not open the page in a browser
    #[arg(long)]
    no_open: bool,

    /// Show what hub and agents log; `codebutler logs -f` does so elsewhere
    #[arg(long)]
    logs: bool,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let settings = settings_here()?;
    let root = settings.root.clone();
    hub_access::beside_hub(&settings)?;
    let listen = args.listen.address(&settings)?;
    // A hub that runs is joined wherever it listens.
    let joins = runs_in(&wiring::hub_folder(&settings)).map_err(CliError::internal)?;
    process::run(async move |cancel| {
        let place = Place {
            root,
            home: settings.home.clone(),
            listen,
            exact: args.listen.is_exact() && !joins,
            reachable: args.listen.listen_anywhere,
        };
        // What is wrong with the files is for the agents to tell, who read the same.
        let in_force = wiring::settings_in_force(&place.root).await.ok();
        let in_force = in_force.as_ref().unwrap_or(&settings);
        policy::tell_waiting(in_force, ui);
        let (team, models) = tokio::join!(
            Team::start(&place, lines(args.logs), cancel.clone()),
            model_check::of_machine(&settings.machine)
        );
        let team = team?;
        let link = login_link(&settings, &team.url)?;
        let greeting = Greeting::new(
            in_force,
            &team.absent,
            &models,
            deaf(&settings, &team.url).await,
        );
        greeting.show(&link, ui);
        if !args.no_open && browser::is_there() {
            // A link works once, so the browser gets one of its own.
            browser::open(&login_link(&settings, &team.url)?).await;
        }
        learning::post(&settings, &team.url, ui).await;
        if greeting.waits_for_a_model() {
            wait_for_a_model(in_force, &team, &cancel, ui).await;
        }
        cancel.cancelled().await;
        ui.note("stopping…");
        team.ended().await;
        Ok(Exit::Done)
    })
}

/// Why the hub does not hear Slack, where it should.
async fn deaf(settings: &Settings, url: &str) -> Vec<String> {
    if !hub_access::relays(settings) {
        return Vec::new();
    }
    let status = match Person::join(settings, url) {
        Ok(person) => person.slack().await,
        Err(error) => Err(error),
    };
    match status {
        Ok(status) if status.is_null() => {
            vec!["the hub that is shared was started without Slack; restart it".to_owned()]
        }
        Ok(status) => troubles(&status),
        Err(error) => vec![error.plain()],
    }
}

/// Says so when a model answers at last.
async fn wait_for_a_model(settings: &Settings, team: &Team, cancel: &CancellationToken, ui: &Ui) {
    loop {
        tokio::select! {
            () = cancel.cancelled() => return,
            () = tokio::time::sleep(AGAIN) => {}
        }
        // As the agents know it: who changes key or address starts them again.
        let models = model_check::of_machine(&settings.machine).await;
        let greeting = Greeting::new(settings, &team.absent, &models, Vec::new());
        if !greeting.waits_for_a_model() {
            ui.note(greeting.who());
            return;
        }
    }
}

/// Everything the children write, or only what somebody must act on.
pub(crate) fn lines(all: bool) -> LineSink {
    let shown: LineSink = Arc::new(|name, line| {
        Ui::new().note(format_args!("{} {line}", format!("{name:>10} │").dimmed()));
    });
    if all || log::format() == log::Format::Json {
        shown
    } else {
        problems_only(shown)
    }
}

/// A link that opens the page, once, as people reach it.
pub(crate) fn login_link(settings: &Settings, url: &str) -> Result<String, CliError> {
    let public = settings.machine.hub.public_url.as_deref();
    let page = public.unwrap_or(url).trim_end_matches('/');
    let code = hub_access::store(settings)?
        .login_link()
        .map_err(CliError::internal)?;
    Ok(format!("{page}/login?code={}", code.expose()))
}
