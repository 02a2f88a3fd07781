//! `codebutler demo`: the whole team on a sample project, no accounts. The
//! model plays a scenario; hub, agents, git, tools, tests and pull request are
//! the real ones. Everything lives in a temporary folder and goes with it.

mod play;
mod stage;

use std::sync::Arc;

use butler_rehearsal::{Rehearsal, Scenario};
use butler_settings::Settings;
use tokio_util::sync::CancellationToken;

use self::stage::Stage;
use crate::{
    commands::up::{Place, Team, login_link},
    error::CliError,
    exit::Exit,
    process,
    supervise::LineSink,
    ui::Ui,
};

/// Watch the whole team work on a sample project, without any account
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Play the person too, print the thread, and stop when it is merged
    #[arg(long)]
    play: bool,

    /// Show what hub and agents write to their logs
    #[arg(long)]
    logs: bool,
}

/// The story, and the words that start it.
const SCENARIO: &str = include_str!("../../../demo/scenarios/json-flag.yaml");
const REQUEST: &str = "add a --json flag to list, so that other programs can read the notes";

pub fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let scenario = Scenario::parse(SCENARIO).map_err(CliError::internal)?;
    process::run(async move |cancel| {
        let any = ([127, 0, 0, 1], 0).into();
        let model = Rehearsal::start(any, scenario, args.play, cancel.clone())
            .await
            .map_err(CliError::internal)?;
        let stage = Stage::set(&model.base_url())?;
        let settings = stage.settings()?;
        let place = Place {
            root: stage.repo(),
            home: stage.home(),
            listen: if args.play {
                any
            } else {
                settings.machine.hub.listen
            },
        };
        let team = Team::start(&place, line_sink(args.logs), cancel.clone()).await?;
        let outcome = show(args, &stage, &settings, &team, ui, &cancel).await;
        cancel.cancel();
        team.ended().await;
        model.stop().await;
        outcome
    })
}

async fn show(
    args: &Args,
    stage: &Stage,
    settings: &Settings,
    team: &Team,
    ui: &Ui,
    cancel: &CancellationToken,
) -> Result<Exit, CliError> {
    if args.play {
        return play::play(stage, settings, &team.url, REQUEST, ui, cancel).await;
    }
    ui.line("The team is ready. The model is scripted, everything else is real.")?;
    ui.line(format_args!("Open  {}", login_link(settings, &team.url)?))?;
    ui.line(format_args!("and write:  {REQUEST}"))?;
    ui.line("Ctrl-C ends the demo and removes everything it made.")?;
    cancel.cancelled().await;
    Ok(Exit::Done)
}

fn line_sink(show: bool) -> LineSink {
    Arc::new(move |name, line| {
        if show {
            Ui::new().note(format_args!("{name:>10} │ {line}"));
        }
    })
}
