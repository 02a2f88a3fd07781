//! `codebutler pr`: the team's pull requests, wherever they live.

mod decide;

use std::path::Path;

use butler_config::{FOLDER, Settings};
use butler_journal::ThreadDir;
use butler_protocol::{Choice, PrNumber, Receipt, Record, Role};
use butler_repo::{
    Author, Check, CheckState, Error, Forge, PullRequest, PullState, Repo, short_of, without_marks,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    CliError, Exit, Paint, Ui,
    commands::{environment, set_up_here, talk::thread_logs::logs},
    process,
    wiring::forge_hosts,
};

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

/// The forge of a clone that is set up here, by what this machine knows of forges.
pub(crate) async fn forge_of(repo: &Repo, root: &Path) -> Result<Forge, Error> {
    let settings = Settings::load(root, &environment);
    let hosts = settings.map(|settings| forge_hosts(&settings.machine));
    Forge::of(repo, &hosts.unwrap_or_default()).await
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    process::run(async move |cancel| {
        let repo = Repo::open(&root).await.map_err(trouble)?;
        let forge = forge_of(&repo, &root).await.map_err(trouble)?;
        match &args.verb {
            Verb::Merge(args) => decide::run(args, Choice::Merge, &root, &forge, &cancel, ui).await,
            Verb::Close(args) => decide::run(args, Choice::Close, &root, &forge, &cancel, ui).await,
            Verb::List { all, json } => list(&forge, *all, *json, &cancel, ui).await,
            Verb::Show { number, json } => {
                let pull = forge.view(PrNumber(*number), &cancel).await;
                let pull = pull.map_err(trouble)?;
                let checks = forge.checks(pull.number, &cancel).await.map_err(trouble)?;
                let receipt = receipt(&root, &pull)?;
                show(&pull, &checks, receipt.as_ref(), *json, ui)
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
        return ui.done_json(pulls);
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

/// The checks as the team ran them last: which role, when, and what came.
fn receipt(root: &Path, pull: &PullRequest) -> Result<Option<(Role, i64, Receipt)>, CliError> {
    let threads = root.join(FOLDER).join("threads");
    let known = ThreadDir::list(&threads).map_err(CliError::internal)?;
    let short = short_of(&pull.branch);
    let thread = known.iter().find(|one| Some(&*one.short()) == short);
    let Some(thread) = thread else {
        return Ok(None);
    };
    let logs = logs(&threads, thread)?.into_iter();
    let runs = logs.flat_map(|(role, log)| {
        log.into_iter().filter_map(move |entry| match entry.record {
            Record::Checked { receipt } => Some((role, entry.at_ms, receipt)),
            _ => None,
        })
    });
    Ok(runs.max_by_key(|(_, at_ms, _)| *at_ms))
}

fn show(
    pull: &PullRequest,
    checks: &[Check],
    receipt: Option<&(Role, i64, Receipt)>,
    as_json: bool,
    ui: &Ui,
) -> Result<Exit, CliError> {
    if as_json {
        let receipt = receipt
            .map(|(role, at, receipt)| json!({"role": role, "atMs": at, "receipt": receipt}));
        return ui.done_json(json!({"pull": pull, "checks": checks, "receipt": receipt}));
    }
    ui.line(format_args!("{}", headline(pull).bold()))?;
    ui.line(format_args!(
        "{} into {}, at {}",
        pull.branch, pull.base, pull.head
    ))?;
    if let Some(url) = &pull.url {
        ui.line(url)?;
    }
    let body = without_marks(&pull.body);
    if !body.is_empty() {
        ui.line(format_args!("\n{body}"))?;
    }
    ui.line("")?;
    for check in checks {
        ui.line(format_args!(
            "check {}: {}",
            check.name,
            check_word(check.state)
        ))?;
    }
    match receipt {
        Some((role, at, receipt)) => {
            let at = jiff::Timestamp::from_millisecond(*at).unwrap_or_default();
            let at = at.strftime("%Y-%m-%d %H:%M");
            ui.line(format_args!(
                "checks that the {} ran, {at} UTC:",
                role.title()
            ))?;
            for run in &receipt.checks {
                ui.line(format_args!("  {}: {}", run.name, run.said()))?;
            }
        }
        None if checks.is_empty() => ui.line("no check has run")?,
        None => {}
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
        Error::NoRemote { .. } => CliError::user(error).hint("pull requests live on the remote"),
        Error::NotARepo { .. } | Error::WhichRemote { .. } | Error::Empty { .. } => {
            CliError::user(error)
        }
        error => CliError::internal(error),
    }
}
