//! `codebutler roadmap import|export`: items from issues with a label, and issues
//! from items. Both write the issue's number into the file on disk, so that doing it
//! again adds nothing; what changed is the person's to look at and commit.

use std::{fs, path::Path};

use butler_config::FOLDER;
use butler_playbook::{Item, Roadmap, Status};
use butler_protocol::count_of;
use butler_repo::{Author, Forge, Issue, NewIssue, Repo};
use tokio_util::sync::CancellationToken;

use crate::{
    CliError, Exit, Ui,
    commands::{
        set_up_here,
        talk::pr::{forge_of, trouble},
    },
    process,
};

/// Which issues
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The label that such issues carry
    #[arg(long, default_value = "roadmap")]
    label: String,
}

/// Which way.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    Import,
    Export,
}

pub(super) fn run(args: &Args, way: Way, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    let file = root.join(FOLDER).join("roadmap.md");
    let before = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "# Roadmap\n".to_owned(),
        Err(error) => return Err(cannot("read", &file, &error)),
    };
    let roadmap = Roadmap::parse(before);
    process::run(async move |cancel| {
        let repo = Repo::open(&root).await.map_err(trouble)?;
        let forge = forge_of(&repo, &root).await.map_err(trouble)?;
        let (changed, lines) = match way {
            Way::Import => {
                let issues = forge.issues(true, &cancel).await.map_err(trouble)?;
                imported(&roadmap, &issues, &args.label)?
            }
            Way::Export => export(&roadmap, &forge, &args.label, &file, &cancel).await?,
        };
        for line in &lines {
            ui.line(line)?;
        }
        if lines.is_empty() {
            ui.note(match way {
                Way::Import => format!(
                    "no open issue with the label \"{}\" that the roadmap does not have",
                    args.label
                ),
                Way::Export => "every pending item has its issue".to_owned(),
            });
            return Ok(Exit::Done);
        }
        write(&file, &changed)?;
        ui.note(format!(
            "{} in .codebutler/roadmap.md; look at it and commit it",
            count_of(lines.len(), "item")
        ));
        Ok(Exit::Done)
    })
}

fn write(file: &Path, roadmap: &Roadmap) -> Result<(), CliError> {
    fs::write(file, roadmap.text()).map_err(|error| cannot("write", file, &error))
}

fn cannot(what: &str, file: &Path, error: &std::io::Error) -> CliError {
    CliError::user(format!("cannot {what} {}: {error}", file.display()))
}

/// The roadmap with an item for each issue that has the label and none yet, oldest
/// first. What the issue lists as open boxes counts as its criteria.
fn imported(
    roadmap: &Roadmap,
    issues: &[Issue],
    label: &str,
) -> Result<(Roadmap, Vec<String>), CliError> {
    let mut changed = roadmap.clone();
    let mut lines = Vec::new();
    let known = |roadmap: &Roadmap, issue: &Issue| {
        let mut items = roadmap.items().iter();
        items.any(|item| item.issue == Some(issue.number.0))
    };
    let mut wanted: Vec<&Issue> = issues.iter().collect();
    wanted.sort_by_key(|issue| issue.number);
    for issue in wanted {
        let labelled = issue.labels.iter().any(|one| one == label);
        if !issue.open || !labelled || known(&changed, issue) {
            continue;
        }
        let added = changed.add(&issue.title, &[], &boxes(&issue.body));
        let (number, with) = added.map_err(CliError::internal)?;
        let with = with.set_issue(number, issue.number.0);
        changed = with.map_err(CliError::internal)?;
        lines.push(format!("{number}. {} from {}", issue.title, issue.number));
    }
    Ok((changed, lines))
}

fn boxes(body: &str) -> Vec<String> {
    let lines = body.lines().map(str::trim);
    let open = lines.filter_map(|line| {
        let line = line.trim_start_matches(['-', '*', '+']).trim_start();
        line.strip_prefix("[ ]").map(str::trim)
    });
    open.filter(|one| !one.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Opens an issue for each pending item that has none. The file is written after each:
/// what fails in the middle loses nothing, and the key finds the issue again.
async fn export(
    roadmap: &Roadmap,
    forge: &Forge,
    label: &str,
    file: &Path,
    cancel: &CancellationToken,
) -> Result<(Roadmap, Vec<String>), CliError> {
    let mut changed = roadmap.clone();
    let mut lines = Vec::new();
    let items = roadmap.items().iter();
    for item in items.filter(|item| item.status == Status::Pending && item.issue.is_none()) {
        let new = NewIssue {
            author: Author::Person("you".to_owned()),
            title: item.title.clone(),
            body: body(item),
            labels: vec![label.to_owned()],
            key: format!("roadmap-{}-{}", item.number, item.title),
        };
        let issue = forge.open_issue(&new, cancel).await.map_err(trouble)?;
        changed = changed
            .set_issue(item.number, issue.number.0)
            .map_err(CliError::internal)?;
        write(file, &changed)?;
        lines.push(format!("{} {}. {}", issue.number, item.number, item.title));
    }
    Ok((changed, lines))
}

fn body(item: &Item) -> String {
    let mut text = String::new();
    for criterion in &item.criteria {
        text.push_str(&format!("- [ ] {criterion}\n"));
    }
    if !item.depends_on.is_empty() {
        let before: Vec<String> = item.depends_on.iter().map(ToString::to_string).collect();
        text.push_str(&format!(
            "\nAfter items {} of the roadmap.\n",
            before.join(", ")
        ));
    }
    text
}
