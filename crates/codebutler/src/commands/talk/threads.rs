//! `codebutler threads`: the threads of this repo with their branch, the state
//! of its files, and the pull request. Read from disk and git; no hub is asked.

mod act;
mod show;

pub(crate) use show::find;

use std::path::Path;

use butler_config::FOLDER;
use butler_journal::ThreadDir;
use butler_protocol::ThreadId;
use butler_repo::{Forge, PullRequest, Repo, Status, Worktree, short_of};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::commands::talk::pr;
use crate::{commands::set_up_here, error::CliError, exit::Exit, process, ui::Ui};

/// List the threads of this repo, with their branches and pull requests
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Show(show::Args),
    /// Put a thread away: its worktree sleeps, everything is kept
    Archive(act::Args),
    /// Go on in a thread that was held, stopped or archived
    Resume(act::Args),
}

/// What is known about one thread; its short id joins the three sources.
struct Row {
    short: String,
    thread: Option<ThreadId>,
    work: Option<(Worktree, Status)>,
    pull: Option<PullRequest>,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    match &args.action {
        None => {}
        Some(Action::Show(args)) => return show::run(args, ui),
        Some(Action::Archive(args)) => return act::run(args, "archive", ui),
        Some(Action::Resume(args)) => return act::run(args, "go on", ui),
    }
    let root = set_up_here()?;
    process::run(async move |cancel| {
        let rows = rows(&root, &cancel, ui).await?;
        if args.json {
            ui.line(Value::Array(rows.iter().map(as_json).collect()))?;
            return Ok(Exit::Done);
        }
        for row in &rows {
            ui.line(in_words(row))?;
        }
        if rows.is_empty() {
            ui.note("no threads yet");
        }
        Ok(Exit::Done)
    })
}

async fn rows(root: &Path, cancel: &CancellationToken, ui: &Ui) -> Result<Vec<Row>, CliError> {
    let repo = Repo::open(root).await.map_err(pr::trouble)?;
    let threads = ThreadDir::list(&root.join(FOLDER).join("threads"));
    let mut rows: Vec<Row> = Vec::new();
    for thread in threads.map_err(CliError::internal)? {
        let short = thread.short();
        row(&mut rows, &short).thread = Some(thread);
    }
    for worktree in repo.list(cancel).await.map_err(pr::trouble)? {
        let status = worktree.status(cancel).await.map_err(pr::trouble)?;
        let short = worktree.short().to_owned();
        row(&mut rows, &short).work = Some((worktree, status));
    }
    for pull in pulls(&repo, cancel, ui).await {
        if let Some(short) = short_of(&pull.branch).map(str::to_owned) {
            // Newest first: an older pull request of the same branch is history.
            row(&mut rows, &short).pull.get_or_insert(pull);
        }
    }
    Ok(rows)
}

/// Without a remote there are none; one that cannot be reached is told and the
/// rest is shown all the same.
async fn pulls(repo: &Repo, cancel: &CancellationToken, ui: &Ui) -> Vec<PullRequest> {
    if repo.remote().is_none() {
        return Vec::new();
    }
    let asked = match Forge::of(repo) {
        Ok(forge) => forge.list(false, cancel).await,
        Err(error) => Err(error),
    };
    asked.unwrap_or_else(|error| {
        ui.note(format_args!("pull requests are not shown: {error}"));
        Vec::new()
    })
}

fn row<'a>(rows: &'a mut Vec<Row>, short: &str) -> &'a mut Row {
    let at = rows.iter().position(|row| row.short == short);
    let at = at.unwrap_or_else(|| {
        rows.push(Row {
            short: short.to_owned(),
            thread: None,
            work: None,
            pull: None,
        });
        rows.len() - 1
    });
    &mut rows[at]
}

fn in_words(row: &Row) -> String {
    let mut parts = vec![row.short.clone()];
    parts.extend(row.thread.as_ref().map(ThreadId::dir_name));
    if let Some((worktree, status)) = &row.work {
        parts.push(worktree.branch.to_string());
        parts.push(state(status));
    }
    if let Some(pull) = &row.pull {
        parts.push(format!(
            "{} {}: {}",
            pull.number,
            pr::state_word(&pull.state),
            pull.title
        ));
    }
    parts.join("  ")
}

fn state(status: &Status) -> String {
    let mut parts = Vec::new();
    if let Some(operation) = status.unfinished {
        parts.push(format!("unfinished {operation}"));
    }
    match status.changes.len() {
        0 => {}
        1 => parts.push("1 changed file".to_owned()),
        count => parts.push(format!("{count} changed files")),
    }
    if status.ahead > 0 {
        parts.push(format!("{} not pushed", status.ahead));
    }
    if parts.is_empty() {
        return "clean".to_owned();
    }
    parts.join(", ")
}

fn as_json(row: &Row) -> Value {
    let work = row.work.as_ref().map(|(worktree, status)| {
        json!({
            "branch": worktree.branch,
            "path": worktree.path,
            "head": status.head,
            "changes": status.changes.len(),
            "ahead": status.ahead,
            "behind": status.behind,
            "unfinished": status.unfinished,
        })
    });
    json!({
        "short": row.short,
        "thread": row.thread.as_ref().map(ThreadId::dir_name),
        "worktree": work,
        "pull": row.pull,
    })
}
