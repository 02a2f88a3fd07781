//! `codebutler roadmap`: what is planned, as a graph of what waits for what.

use butler_playbook::{Item, Roadmap, Status};
use serde_json::{Value, json};

use crate::{
    commands::{playbook, set_up_here},
    error::CliError,
    exit::Exit,
    ui::Ui,
};

/// Show the roadmap as a graph: what is ready, what waits for what
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    from: playbook::From,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let roadmap = args.from.read(&set_up_here()?)?.roadmap();
    let problems = roadmap.problems("roadmap.md");
    if args.json {
        let items: Vec<_> = roadmap
            .items()
            .iter()
            .map(|item| shown(&roadmap, item))
            .collect();
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        ui.json(json!({"items": items, "problems": problems}))?;
        return Ok(Exit::Done);
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
        "dependsOn": item.depends_on,
        "waitingOn": roadmap.waiting_on(item),
        "ready": roadmap.ready().contains(&item),
        "criteria": item.criteria,
        "line": item.line,
    })
}
