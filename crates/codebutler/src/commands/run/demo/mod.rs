//! `codebutler demo`: the whole team on a sample project, no accounts. The
//! model plays a scenario; hub, agents, git, tools, tests and pull request are
//! the real ones. Everything lives in a temporary folder and goes with it. The
//! stories can be asked for in any order, every offered button leads on, and what
//! no story knows gets an answer that says so.

mod farewell;
mod play;
mod stage;
mod stories;

use std::sync::Arc;

use butler_config::Settings;
use butler_rehearsal::Rehearsal;
use tokio_util::sync::CancellationToken;

use crate::commands::git_will_do;
use crate::commands::run::demo::{stage::Stage, stories::Story};
use crate::commands::run::up::{Place, Team, login_link};
use crate::{CliError, Exit, Ui, process, supervise::LineSink};

/// Watch the whole team work on a sample project, without any account
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Play the person too, print the thread, and stop when it is merged
    #[arg(long)]
    play: bool,

    /// Which story to play
    #[arg(long, value_enum, default_value_t = Story::Feature, requires = "play")]
    story: Story,

    /// Answer at once instead of at a pace that can be watched
    #[arg(long)]
    fast: bool,

    /// Show what hub and agents write to their logs
    #[arg(long)]
    logs: bool,
}

/// What everybody who opens the page should know.
pub(crate) const BANNER: &str = "Scripted model, everything else real: \
    the hub, six agents, git, the sandbox, the tests and the pull requests.";

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    git_will_do()?;
    let scenarios = Story::ALL
        .iter()
        .map(|story| {
            let story = story.scenario()?;
            Ok(if args.fast { story } else { story.paced() })
        })
        .collect::<Result<Vec<_>, CliError>>()?;
    process::run(async move |cancel| {
        let any = ([127, 0, 0, 1], 0).into();
        let requests: Vec<String> = scenarios
            .iter()
            .map(|one| one.request().to_owned())
            .collect();
        let model = Rehearsal::start_all(any, scenarios, false, cancel.clone())
            .await
            .map_err(CliError::internal)?;
        let stage = Stage::set(&model.base_url(), BANNER, &requests)?;
        let settings = stage.settings()?;
        let place = Place {
            root: stage.repo(),
            home: stage.home(),
            listen: if args.play {
                any
            } else {
                settings.machine.hub.listen
            },
            exact: false,
            reachable: false,
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
        return play::play(stage, settings, &team.url, args.story, ui, cancel).await;
    }
    ui.line(format_args!("The team is ready. {BANNER}"))?;
    ui.line(format_args!("Open  {}", login_link(settings, &team.url)?))?;
    ui.line("and press one of the requests, or write it:")?;
    for story in Story::ALL {
        ui.line(format_args!("  · {}", story.scenario()?.request()))?;
    }
    ui.line("Ctrl-C ends the demo and removes everything it made.")?;
    farewell::watch(settings, &team.url, ui, cancel).await?;
    Ok(Exit::Done)
}

fn line_sink(show: bool) -> LineSink {
    Arc::new(move |name, line| {
        if show {
            Ui::new().note(format_args!("{name:>10} │ {line}"));
        }
    })
}
