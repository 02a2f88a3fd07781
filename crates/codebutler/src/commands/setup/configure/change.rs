//! Takes something out of a configuration file, and leaves everything else in it
//! as the person wrote it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use butler_config::{Change, FOLDER, RepoFiles, Settings, edit, machine_folder};

use crate::{
    commands::{
        environment,
        setup::init::{Access, Staged},
    },
    error::CliError,
    ui::Ui,
};

/// What is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Removal {
    /// The way to Slack.
    SlackTokens,
    /// A check of the repo.
    Check(String),
}

impl Removal {
    /// The keys that hold it.
    fn keys(&self) -> Vec<Vec<&str>> {
        match self {
            Removal::SlackTokens => vec![vec!["slack", "botToken"], vec!["slack", "appToken"]],
            Removal::Check(name) => vec![vec!["checks", name]],
        }
    }

    fn is_of_machine(&self) -> bool {
        matches!(self, Removal::SlackTokens)
    }
}

/// Takes all of it out, or nothing when a file could not be used afterwards.
pub(super) fn remove(root: &Path, removals: &[Removal], ui: &Ui) -> Result<(), CliError> {
    let mut staged = Staged::new();
    let machine = machine_folder(&environment)
        .unwrap_or_default()
        .join("config.json");
    let repo = root.join(FOLDER).join("config.json");
    if let Some(text) = without(&machine, removals, true)? {
        Settings::check_machine(&machine, &text, &environment)?;
        staged.replace(&machine, &text, Access::Private)?;
    }
    if let Some(text) = without(&repo, removals, false)? {
        let files = RepoFiles {
            config: Some(text.clone()),
            ..RepoFiles::on_disk(root)?
        };
        Settings::load_from(root, &files, &environment)?;
        staged.replace(&repo, &text, Access::Shared)?;
    }
    for path in staged.persist()?.made {
        ui.line(format_args!("wrote    {}", path.display()))?;
    }
    Ok(())
}

/// The file's text without what is to go; nothing when it stays as it is.
fn without(
    file: &PathBuf,
    removals: &[Removal],
    machine: bool,
) -> Result<Option<String>, CliError> {
    let ours: Vec<&Removal> = removals
        .iter()
        .filter(|removal| removal.is_of_machine() == machine)
        .collect();
    if ours.is_empty() {
        return Ok(None);
    }
    let before = fs::read_to_string(file)
        .map_err(|error| CliError::user(format!("cannot read {}: {error}", file.display())))?;
    let mut text = before.clone();
    for removal in ours {
        let one = text.clone();
        for key in removal.keys() {
            text = edit(&text, &key, &Change::Remove)
                .map_err(|error| CliError::user(format!("{}: {error}", file.display())))?;
        }
        if text == one
            && let Removal::Check(name) = removal
        {
            let error = CliError::user(format!("{} has no check called {name}", file.display()));
            return Err(error.hint("`codebutler configure --show` lists them"));
        }
    }
    Ok((text != before).then_some(text))
}
