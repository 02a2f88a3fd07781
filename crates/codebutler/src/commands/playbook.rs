//! The playbook as a command sees it: the files on disk, where people try things
//! out, or with `--committed` the default branch, which is what agents read.

pub(crate) mod memory;
pub(crate) mod roadmap;
pub(crate) mod roles;
pub(crate) mod skill;

use std::{fs, io, path::Path};

use butler_agent::playbook_at;
use butler_config::FOLDER;
use butler_playbook::{Playbook, Problem};
use butler_repo::Repo;

use crate::{CliError, Ui, commands::talk::pr, process};

/// Which playbook
#[derive(Debug, clap::Args)]
pub(crate) struct From {
    /// Read the default branch, as agents do, instead of the files on disk
    #[arg(long)]
    pub committed: bool,
}

impl From {
    /// Reads it.
    pub(crate) fn read(&self, root: &Path) -> Result<Playbook, CliError> {
        if !self.committed {
            return on_disk(root);
        }
        process::run(async |_| {
            let repo = Repo::open(root).await.map_err(pr::trouble)?;
            let branch = repo.default_ref();
            playbook_at(&repo, &branch).await.map_err(pr::trouble)
        })
    }
}

/// The files on disk, those that git would ignore left out.
pub(crate) fn on_disk(root: &Path) -> Result<Playbook, CliError> {
    let mut paths = vec![];
    walk(root, "", &mut paths)?;
    let mut files = Vec::new();
    for path in paths {
        match fs::read_to_string(root.join(&path)) {
            Ok(text) => files.push((path, text)),
            Err(error) => {
                let what = format!("cannot read {}: {error}", root.join(&path).display());
                return Err(CliError::user(what));
            }
        }
    }
    Ok(Playbook::new(files))
}

/// Folders that hold other people's files or our own working files.
const SKIPPED: [&str; 7] = [
    ".git",
    "node_modules",
    "target",
    "vendor",
    ".codebutler/threads",
    ".codebutler/branches",
    ".codebutler/images",
];

/// Collects what belongs to a playbook. Links are not followed: what they point
/// to counts under its own name.
fn walk(root: &Path, folder: &str, found: &mut Vec<String>) -> Result<(), CliError> {
    let entries = match fs::read_dir(root.join(folder)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        // A name that is no text is none of ours.
        let Some(name) = name.to_str() else { continue };
        let path = if folder.is_empty() {
            name.to_owned()
        } else {
            format!("{folder}/{name}")
        };
        let kind = entry.file_type()?;
        let hidden =
            name.starts_with('.') && !matches!(name, ".codebutler" | ".claude" | ".agents");
        let skipped = SKIPPED.contains(&name) || SKIPPED.contains(&path.as_str());
        if kind.is_dir() && !hidden && !skipped {
            walk(root, &path, found)?;
        } else if kind.is_file() && Playbook::wants(&path) {
            found.push(path);
        }
    }
    Ok(())
}

/// Says what is wrong with a playbook's files, each with file and line.
pub(crate) fn show_problems(problems: &[Problem], ui: &Ui) {
    for problem in problems {
        let also = problem
            .also
            .as_ref()
            .map_or_else(String::new, |also| format!("{} and ", place(also)));
        let file = place(&problem.file);
        ui.note(format_args!(
            "  {also}{file}:{}: {}",
            problem.line, problem.what
        ));
    }
}

/// Files of our own folder are named from there on; others from the root.
fn place(file: &str) -> String {
    if file.starts_with('.') {
        return file.to_owned();
    }
    format!("{FOLDER}/{file}")
}
