//! Takes something out of a configuration file, and leaves everything else in it
//! as the person wrote it.

use std::path::Path;

use butler_config::{FOLDER, machine_folder};

use crate::{
    CliError, Ui,
    commands::{
        environment,
        setup::{config_file::ConfigFile, init::Staged},
    },
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
    let home = machine_folder(&environment).unwrap_or_default();
    if let Some(machine) = without(&home, removals, true)? {
        machine.stage_for_machine(&mut staged)?;
    }
    if let Some(repo) = without(&root.join(FOLDER), removals, false)? {
        repo.stage_for_repo(root, &mut staged)?;
    }
    staged.write_out(ui)
}

/// The folder's file without what is to go; nothing when it stays as it is.
fn without(
    folder: &Path,
    removals: &[Removal],
    machine: bool,
) -> Result<Option<ConfigFile>, CliError> {
    let ours = |removal: &&Removal| removal.is_of_machine() == machine;
    let ours: Vec<&Removal> = removals.iter().filter(ours).collect();
    if ours.is_empty() {
        return Ok(None);
    }
    let mut file = ConfigFile::existing(folder.join("config.json"))?;
    for removal in ours {
        let one = file.text().to_owned();
        for key in removal.keys() {
            file.remove(&key)?;
        }
        if file.text() == one
            && let Removal::Check(name) = removal
        {
            let file = file.path().display();
            let error = CliError::user(format!("{file} has no check called {name}"));
            return Err(error.hint("`codebutler configure --show` lists them"));
        }
    }
    Ok(file.is_changed().then_some(file))
}
