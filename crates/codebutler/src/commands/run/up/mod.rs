//! `codebutler up`: hub and agents as child processes in the foreground.

mod claim;
mod opening;
mod team;

use std::sync::Arc;

use crate::ui::paint::Paint;
use butler_config::Settings;
use butler_hub::{Tokens, runs_in};
use butler_protocol::Role;

pub(crate) use crate::commands::run::up::team::{Place, Team};
use crate::commands::{inspect::policy, run::listen::Listen};
use crate::{
    commands::{environment, set_up_here},
    error::CliError,
    exit::Exit,
    process,
    supervise::LineSink,
    ui::Ui,
    wiring,
};

/// Run hub and agents in the foreground; Ctrl-C stops all
///
/// A hub that another repository of this machine has started is shared; when it
/// ends, this one takes its place. A repository has one team at a time.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    listen: Listen,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    let settings = Settings::load(&root, &environment)?;
    let listen = args.listen.address(settings.machine.hub.listen)?;
    // A hub that runs is joined wherever it listens.
    let joins = runs_in(&wiring::hub_folder(&settings)).map_err(CliError::internal)?;
    process::run(async move |cancel| {
        let lines: LineSink = Arc::new(|name, line| {
            Ui::new().note(format_args!("{} {line}", format!("{name:>10} │").dimmed()));
        });
        let place = Place {
            root,
            home: settings.home.clone(),
            listen,
            exact: args.listen.is_exact() && !joins,
            reachable: args.listen.listen_anywhere,
        };
        // What is wrong with the files is for the agents to tell, who read the same.
        if let Ok(in_force) = wiring::settings_in_force(&place.root).await {
            policy::tell_waiting(&in_force, ui);
        }
        let team = Team::start(&place, lines, cancel.clone()).await?;
        let link = login_link(&settings, &team.url)?;
        ui.line(format_args!("{}: {link}", at_work(&team.absent)))?;
        cancel.cancelled().await;
        ui.note("stopping…");
        team.ended().await;
        Ok(Exit::Done)
    })
}

/// Who is there.
fn at_work(absent: &[Role]) -> String {
    if absent.is_empty() {
        return "the team is at work".to_owned();
    }
    let all = Role::ALL.len();
    let names: Vec<&str> = absent.iter().map(|role| role.title()).collect();
    format!(
        "{} of {all} agents are at work; {} cannot start and will be tried again",
        all - absent.len(),
        names.join(", ")
    )
}

/// A link that opens the page, once, as people reach it.
pub(crate) fn login_link(settings: &Settings, url: &str) -> Result<String, CliError> {
    let public = settings.machine.hub.public_url.as_deref();
    let page = public.unwrap_or(url).trim_end_matches('/');
    let mut tokens = Tokens::open(&wiring::hub_folder(settings)).map_err(CliError::internal)?;
    let code = tokens.login_link().map_err(CliError::internal)?;
    Ok(format!("{page}/login?code={}", code.expose()))
}
