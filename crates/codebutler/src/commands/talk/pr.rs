//! `codebutler pr`: the team's pull requests, wherever they live.

mod decide;

use crate::ui::paint::Paint;
use butler_protocol::{Choice, PrNumber};
use butler_repo::{Author, CheckState, Error, Forge, PullRequest, PullState, Repo};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{commands::set_up_here, error::CliError, exit::Exit, process, ui::Ui};

/// Look at the team's pull requests, merge and close them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the open ones, newest first
    List {
        /// Merged and closed ones too
        #[arg(long)]
        all: bool,
        /// As JSON, for scripts
        #[arg(long)]
        json: bool,
    },
    /// Show one: description, checks, comments
    Show {
        number: u64,
        /// As JSON, for scripts
        #[arg(long)]
        json: bool,
    },
    /// Print what one changes
    Diff { number: u64 },
    /// Merge one: shows what the team saw of it, then asks
    Merge(decide::Args),
    /// Close one without merging: shows what the team saw of it, then asks
    Close(decide::Args),
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    process::run(async move |cancel| {
        let repo = Repo::open(&root).await.map_err(trouble)?;
        let forge = Forge::of(&repo).map_err(trouble)?;
        match &args.verb {
            Verb::Merge(args) => decide::run(args, Choice::Merge, &root, &forge, &cancel, ui).await,
            Verb::Close(args) => decide::run(args, Choice::Close, &root, &forge, &cancel, ui).await,
            Verb::List { all, json } => list(&forge, *all, *json, &cancel, ui).await,
            Verb::Show { number, json } => {
                show(&forge, PrNumber(*number), *json, &cancel, ui).await
            }
            Verb::Diff { number } => {
                let diff = forge.diff(PrNumber(*number), &cancel).await;
                ui.raw(diff.map_err(trouble)?.as_bytes())?;
                Ok(Exit::Done)
            }
        }
    })
}

async fn list(
    forge: &Forge,
    all: bool,
    as_json: bool,
    cancel: &CancellationToken,
    ui: &Ui,
) -> Result<Exit, CliError> {
    let pulls = forge.list(!all, cancel).await.map_err(trouble)?;
    if as_json {
        ui.json(pulls)?;
        return Ok(Exit::Done);
    }
    for pull in &pulls {
        ui.line(headline(pull))?;
    }
    if pulls.is_empty() {
        ui.note(if all {
            "no pull requests"
        } else {
            "no open pull requests"
        });
    }
    Ok(Exit::Done)
}

async fn show(
    forge: &Forge,
    number: PrNumber,
    as_json: bool,
    cancel: &CancellationToken,
    ui: &Ui,
) -> Result<Exit, CliError> {
    let pull = forge.view(number, cancel).await.map_err(trouble)?;
    let checks = forge.checks(number, cancel).await.map_err(trouble)?;
    if as_json {
        ui.json(json!({"pull": pull, "checks": checks}))?;
        return Ok(Exit::Done);
    }
    ui.line(format_args!("{}", headline(&pull).bold()))?;
    ui.line(format_args!(
        "{} into {}, at {}",
        pull.branch, pull.base, pull.head
    ))?;
    if let Some(url) = &pull.url {
        ui.line(url)?;
    }
    if !pull.body.trim().is_empty() {
        ui.line(format_args!("\n{}", pull.body.trim()))?;
    }
    if !checks.is_empty() {
        ui.line("")?;
    }
    for check in &checks {
        ui.line(format_args!(
            "check {}: {}",
            check.name,
            check_word(check.state)
        ))?;
    }
    for comment in &pull.comments {
        let who = match &comment.author {
            Author::Role(role) => role.title(),
            Author::Person(name) => name,
        };
        let place = comment
            .place
            .as_ref()
            .map(|place| format!(" on {}:{}", place.path, place.line));
        ui.line(format_args!(
            "\n{}{}:",
            who.bold(),
            place.unwrap_or_default()
        ))?;
        ui.line(comment.body.trim())?;
    }
    Ok(Exit::Done)
}

fn headline(pull: &PullRequest) -> String {
    format!(
        "{}  {}  {}  {}",
        pull.number,
        state_word(&pull.state),
        pull.branch,
        pull.title
    )
}

/// Where a pull request stands, in a word.
pub(crate) fn state_word(state: &PullState) -> &'static str {
    match state {
        PullState::Open => "open",
        PullState::Merged { .. } => "merged",
        PullState::Closed => "closed",
    }
}

fn check_word(state: CheckState) -> &'static str {
    match state {
        CheckState::Pending => "pending",
        CheckState::Passed => "passed",
        CheckState::Failed => "failed",
        CheckState::Skipped => "skipped",
    }
}

/// What the person can fix, and what the machine did.
pub(crate) fn trouble(error: Error) -> CliError {
    match error {
        Error::NoPull { .. } => CliError::user(error).hint("`codebutler pr list --all` lists them"),
        Error::NoRemote { .. } => CliError::user(error)
            .hint("pull requests live on the remote; add one with `git remote add`"),
        Error::NotARepo { .. } | Error::WhichRemote { .. } | Error::Empty { .. } => {
            CliError::user(error)
        }
        error => CliError::internal(error),
    }
}
