//! `codebutler threads`: the threads of this repo, what each is about, how it stands
//! and what it needs from whom; with branch, files and pull request. Read from disk
//! and git; no hub is asked.

mod act;
mod show;
mod summary;

use std::path::Path;

use butler_config::{FOLDER, Settings};
use butler_journal::ThreadDir;
use butler_protocol::ThreadId;
use butler_repo::{PullRequest, PullState, Repo, Status, Worktree, short_of};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::commands::talk::{
    pr,
    threads::summary::{State, Summary},
    which::Threads,
};
use crate::{
    CliError, Exit, Paint, Ui,
    commands::{environment, set_up_here},
    hub_access, log, process,
};

pub(crate) use summary::title;

/// Without `--all` the list ends with the newest so many.
const SHOWN: usize = 20;

/// List the threads: what each is about, how it stands, what it needs from whom
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// Every thread, not only the newest 20
    #[arg(long)]
    all: bool,
    /// As JSON, for scripts; every thread
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

/// What is known about one thread; its short id joins the sources.
#[derive(Default)]
struct Row {
    short: String,
    number: Option<usize>,
    thread: Option<ThreadId>,
    summary: Summary,
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
        let most = if args.all || args.json {
            usize::MAX
        } else {
            SHOWN
        };
        let (rows, older) = rows(&root, most, &cancel, ui).await?;
        if args.json {
            return ui.done_json(Value::Array(rows.iter().map(as_json).collect()));
        }
        if older > 0 {
            ui.note(
                format_args!("… {older} older; `codebutler threads --all` lists them").dimmed(),
            );
        }
        for row in &rows {
            show_row(row, ui)?;
        }
        if rows.is_empty() {
            ui.note("no threads yet");
        }
        Ok(Exit::Done)
    })
}

/// The newest `most` rows, oldest first, and how many were left out.
async fn rows(
    root: &Path,
    most: usize,
    cancel: &CancellationToken,
    ui: &Ui,
) -> Result<(Vec<Row>, usize), CliError> {
    let repo = Repo::open(root).await.map_err(pr::trouble)?;
    let folder = root.join(FOLDER).join("threads");
    let known = Threads::in_folder(&folder)?;
    let mut threads = ThreadDir::list(&folder).map_err(CliError::internal)?;
    threads.sort_by(|one, other| one.root.cmp(&other.root));
    let mut rows: Vec<Row> = Vec::new();
    for thread in threads {
        let short = thread.short();
        let row = row(&mut rows, &short);
        row.number = known.number(&thread);
        row.thread = Some(thread);
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
    let older = rows.len().saturating_sub(most);
    rows.drain(..older);
    let runs = runs(root);
    for row in &mut rows {
        let over = row
            .pull
            .as_ref()
            .filter(|pull| pull.state != PullState::Open);
        let over = over.map(|pull| pr::state_word(&pull.state));
        if let Some(thread) = &row.thread {
            row.summary = summary::of(&folder, thread, over, runs)?;
        }
    }
    Ok((rows, older))
}

/// Whether a hub is there: without one nobody works, whatever the logs say.
fn runs(root: &Path) -> bool {
    let settings = Settings::load(root, &environment);
    settings.is_ok_and(|settings| hub_access::hub_runs(&settings).unwrap_or(false))
}

/// Without a remote there are none; one that cannot be reached is told and the
/// rest is shown all the same.
async fn pulls(repo: &Repo, cancel: &CancellationToken, ui: &Ui) -> Vec<PullRequest> {
    if repo.remote().is_none() {
        return Vec::new();
    }
    let asked = match pr::forge_of(repo, repo.root()).await {
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
            ..Row::default()
        });
        rows.len() - 1
    });
    &mut rows[at]
}

/// Number, id, age and title; below it how it stands, pull request, branch and files.
fn show_row(row: &Row, ui: &Ui) -> std::io::Result<()> {
    let number = row.number.map(|number| number.to_string());
    let Summary {
        title,
        person,
        state,
        last_ms,
    } = &row.summary;
    let age = match *last_ms {
        0 => String::new(),
        last => age(log::now_ms() - last),
    };
    let title = match (title.as_str(), &row.pull) {
        ("", Some(pull)) => &pull.title,
        (title, _) => title,
    };
    ui.line(format_args!(
        "{:>3}  {}  {age:>6}  {title}",
        number.unwrap_or_default(),
        row.short.bold(),
    ))?;
    let words = state.words(person);
    let mut parts = vec![match state {
        State::Needs(_) => words.yellow().to_string(),
        _ => words,
    }];
    if row.thread.is_none() {
        parts = vec!["its thread is not in this clone".to_owned()];
    }
    if let Some(pull) = &row.pull {
        parts.push(format!("{} {}", pull.number, pr::state_word(&pull.state)));
    }
    if let Some((worktree, status)) = &row.work {
        parts.push(format!("{} {}", worktree.branch, files(status)));
    }
    ui.line(format_args!("{:>21}{}", "", parts.join(" · ")))
}

/// As in `3 min`.
fn age(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

fn files(status: &Status) -> String {
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
    let Summary {
        title,
        person,
        state,
        last_ms,
    } = &row.summary;
    let needs = match state {
        State::Needs(what) => json!({"from": person, "what": what}),
        _ => Value::Null,
    };
    json!({
        "short": row.short,
        "number": row.number,
        "thread": row.thread.as_ref().map(ThreadId::dir_name),
        "title": title,
        "state": state.word(),
        "needs": needs,
        "lastMs": last_ms,
        "worktree": work,
        "pull": row.pull,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        for (ms, words) in [
            (-5, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (7_200_000, "2 h"),
            (200_000_000, "2 d"),
        ] {
            assert_eq!(age(ms), words);
        }
    }
}
