//! `codebutler roles`: the role texts of this release against the team's own.
//! What the team changed is kept; where both changed the same lines a person
//! decides, and nothing is overwritten before that.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use butler_config::FOLDER;
use butler_playbook::{BuiltinFile, Conflict, Take, builtin_files, diff, update};

use crate::commands::setup::init::{Access, Staged};
use crate::{CliError, Exit, Ui, commands::set_up_here};

/// The texts as they were shipped when they were last taken, by file.
pub(crate) const BASE_FILE: &str = "shipped.json";

/// Compare the role files with the shipped ones, and bring them up to date
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: RolesCommand,
}

#[derive(Debug, clap::Subcommand)]
enum RolesCommand {
    /// Show what an update would change
    Diff {
        /// Only these files, as in coder.md or skills/test.md
        files: Vec<String>,
    },
    /// Take over what a release changed, and keep what the team changed
    Update {
        /// Only these files, as in coder.md or skills/test.md
        files: Vec<String>,
        /// Where both changed the same lines, keep yours
        #[arg(long, conflicts_with = "theirs")]
        ours: bool,
        /// Where both changed the same lines, take the shipped ones
        #[arg(long)]
        theirs: bool,
        /// Say what would be written, and write nothing
        #[arg(long)]
        dry_run: bool,
    },
}

/// One shipped file, the team's version of it, and what the two make.
struct Row {
    file: BuiltinFile,
    path: PathBuf,
    ours: String,
    text: String,
    conflicts: Vec<Conflict>,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let folder = set_up_here()?.join(FOLDER);
    match &args.command {
        RolesCommand::Diff { files } => show(&rows(&folder, files, Take::Nothing)?, ui),
        RolesCommand::Update {
            files,
            ours,
            theirs,
            dry_run,
        } => {
            let take = match (ours, theirs) {
                (true, _) => Take::Ours,
                (_, true) => Take::Shipped,
                _ => Take::Nothing,
            };
            let rows = rows(&folder, files, take)?;
            apply(&folder, &rows, *dry_run, ui)
        }
    }
}

/// Files that the team threw out stay out.
fn rows(folder: &Path, wanted: &[String], take: Take) -> Result<Vec<Row>, CliError> {
    if let Some(unknown) = wanted.iter().find(|name| {
        let mut names = builtin_files().iter().map(|file| file.name);
        names.all(|known| known != name.as_str())
    }) {
        return Err(CliError::user(format!("{unknown} is not shipped"))
            .hint("names are like coder.md, workflows.md, skills/test.md"));
    }
    let base = base(folder)?;
    let mut rows = Vec::new();
    for file in builtin_files() {
        let path = folder.join(file.name);
        if !wanted.is_empty() && !wanted.iter().any(|name| name == file.name) || !path.exists() {
            continue;
        }
        let ours = read(&path)?;
        let known = base.get(file.name).map(String::as_str);
        // An untouched file has nothing to lose.
        let known = if ours == file.text {
            Some(file.text)
        } else {
            known
        };
        let made = update(known, &ours, file.text, take);
        rows.push(Row {
            file: *file,
            path,
            ours,
            text: made.text,
            conflicts: made.conflicts,
        });
    }
    Ok(rows)
}

fn show(rows: &[Row], ui: &Ui) -> Result<Exit, CliError> {
    let mut shown = 0;
    for row in rows {
        let change = diff(row.file.name, &row.ours, &row.text);
        if !change.is_empty() {
            ui.raw(change.as_bytes())?;
            shown += 1;
        }
        for conflict in &row.conflicts {
            let name = format!("{}:{}", row.file.name, conflict.line);
            ui.raw(diff(&name, &conflict.ours, &conflict.shipped).as_bytes())?;
            shown += 1;
        }
        tell(row, ui);
    }
    if shown == 0 {
        ui.note("nothing to take over: what differs is the team's own");
    }
    Ok(Exit::Done)
}

fn tell(row: &Row, ui: &Ui) {
    for conflict in &row.conflicts {
        ui.note(format_args!(
            "{}:{}: changed by the team and by the release",
            row.path.display(),
            conflict.line
        ));
    }
}

fn apply(folder: &Path, rows: &[Row], dry_run: bool, ui: &Ui) -> Result<Exit, CliError> {
    let mut base = base(folder)?;
    let mut staged = Staged::new();
    let (mut changed, mut open) = (Vec::new(), 0);
    for row in rows {
        if !row.conflicts.is_empty() {
            tell(row, ui);
            open += 1;
            continue;
        }
        base.insert(row.file.name.to_owned(), row.file.text.to_owned());
        if row.text != row.ours {
            changed.push(row.file.name);
            staged.replace(&row.path, &row.text, Access::Shared)?;
        }
    }
    let place = folder.join(BASE_FILE);
    let text = written(&base)?;
    if dry_run {
        drop(staged);
    } else {
        if fs::read_to_string(&place).ok().as_ref() != Some(&text) {
            staged.replace(&place, &text, Access::Shared)?;
        }
        staged.persist()?;
    }
    for name in &changed {
        ui.line(format_args!("{FOLDER}/{name}"))?;
    }
    if changed.is_empty() && open == 0 {
        ui.note("everything is up to date");
    }
    if open > 0 {
        ui.note(format_args!("{open} not touched: look with `codebutler roles diff`, then `roles update --ours` or `--theirs`"));
        return Ok(Exit::Findings);
    }
    Ok(Exit::Done)
}

/// What was shipped when each file was made or last updated; empty when nobody
/// wrote it down.
fn base(folder: &Path) -> Result<BTreeMap<String, String>, CliError> {
    let path = folder.join(BASE_FILE);
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    serde_json::from_str(&read(&path)?).map_err(|error| {
        CliError::user(format!("{} cannot be read: {error}", path.display()))
            .hint("remove it: then every section that differs is asked about")
    })
}

/// The text of the file of bases for freshly seeded files, merged with what it had.
pub(crate) fn seeded(folder: &Path) -> Result<Option<String>, CliError> {
    let mut base = base(folder)?;
    let before = base.clone();
    for file in builtin_files() {
        if !folder.join(file.name).exists() {
            base.insert(file.name.to_owned(), file.text.to_owned());
        }
    }
    if base == before {
        return Ok(None);
    }
    written(&base).map(Some)
}

fn written(base: &BTreeMap<String, String>) -> Result<String, CliError> {
    let text = serde_json::to_string_pretty(base).map_err(CliError::internal)?;
    Ok(format!("{text}\n"))
}

fn read(path: &Path) -> Result<String, CliError> {
    fs::read_to_string(path)
        .map_err(|error| CliError::user(format!("cannot read {}: {error}", path.display())))
}
