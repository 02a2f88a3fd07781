//! `codebutler roadmap`: what is planned, as a graph of what waits for what; a run
//! over it as it moves; items from issues and back.

mod issues;
mod watch;

use butler_playbook::{Item, Roadmap, Status};
use issues::Way;
use serde_json::{Value, json};

use crate::{
    CliError, Exit, Ui,
    commands::{playbook, set_up_here},
};

/// Show the roadmap as a graph: what is ready, what waits for what
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// Follow the run over the roadmap until it is over
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    from: playbook::From,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Add an item for each open issue with a label
    Import(issues::Args),
    /// Open an issue for each pending item
    Export(issues::Args),
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    match &args.action {
        Some(Action::Import(args)) => return issues::run(args, Way::Import, ui),
        Some(Action::Export(args)) => return issues::run(args, Way::Export, ui),
        None if args.watch => return watch::run(ui),
        None => {}
    }
    let roadmap = args.from.read(&set_up_here()?)?.roadmap();
    let problems = roadmap.problems("roadmap.md");
    if args.json {
        let items: Vec<_> = roadmap
            .items()
            .iter()
            .map(|item| shown(&roadmap, item))
            .collect();
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        return ui.done_json(json!({"items": items, "problems": problems}));
    }
    if roadmap.items().is_empty() {
        ui.note("no items in .codebutler/roadmap.md; \"roadmap: <item>\" in the channel adds one");
        return Ok(Exit::Done);
    }
    ui.line(roadmap.graph())?;
    playbook::show_problems(&problems, ui);
    Ok(if problems.is_empty() {
        Exit::Done
    } else {
        Exit::Findings
    })
}

fn shown(roadmap: &Roadmap, item: &Item) -> Value {
    let (status, reason) = match &item.status {
        Status::Blocked(reason) => ("blocked".to_owned(), Some(reason)),
        other => (other.to_string(), None),
    };
    json!({
        "number": item.number,
        "title": item.title,
        "status": status,
        "reason": reason,
        "branch": item.branch,
        "issue": item.issue,
        "dependsOn": item.depends_on,
        "waitingOn": roadmap.waiting_on(item),
        "ready": roadmap.ready().contains(&item),
        "criteria": item.criteria,
        "line": item.line,
    })
}
