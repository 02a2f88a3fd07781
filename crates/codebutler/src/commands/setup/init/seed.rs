//! What the seeded files say. They hold what is particular to this repository
//! and this machine; everything else is a default that `docs/configuration.md`
//! lists.

use std::{fs, io, path::Path};

use butler_config::{Change, FOLDER, JoinedHub, Models, RepoFiles, Settings, edit};
use butler_playbook::builtin_files;
use serde_json::{Value, json};

use crate::commands::playbook::roles;
use crate::commands::setup::init::{
    answers::Answers,
    stage::{Access, Staged},
};
use crate::{commands::environment, error::CliError};

/// Folders of `.codebutler/` that never leave this machine.
const IGNORED: [&str; 3] = ["threads", "branches", "images"];

const CONFIG: &str = "\
// What this team agrees on. Committed; holds no secret.
// All keys with their defaults: docs/configuration.md, or `codebutler schema repo`.
{}
";

const POLICY: &str = "\
// The repo's own rules. What tightens holds at once; what loosens holds on a
// machine only after a person there agreed to it.
{
  // \"tool_overrides\": { \"bash\": { \"destructive\": [\"npm publish\"], \"safe\": [] } },
  // \"require_approval\": { \"git_push_to\": [\"release/*\"] }
}
";

const MACHINE: &str = "\
// This machine's own settings: keys, endpoints, hub, approvers. Keep it private (mode 600).
// All keys with their defaults: docs/configuration.md, or `codebutler schema machine`.
{}
";

/// Stages the machine config: new, or with the endpoint added that was asked for, and the
/// hub that the repo joined.
pub(crate) fn machine(
    home: &Path,
    root: &Path,
    answers: &Answers,
    joined: Option<&JoinedHub>,
    staged: &mut Staged,
) -> Result<(), CliError> {
    let file = home.join("config.json");
    let old = read(&file)?;
    let mut text = old.clone().unwrap_or_else(|| MACHINE.to_owned());
    for (path, value) in answers.machine_keys() {
        text = set(&file, &text, &path, value)?;
    }
    if let Some(joined) = joined {
        let path = ["joined".to_owned(), root.display().to_string()];
        text = set(&file, &text, &path, json!(joined))?;
    }
    Settings::check_machine(&file, &text, &environment)?;
    if old.as_ref() == Some(&text) {
        staged.add(&file, &text, Access::Private)
    } else {
        staged.replace(&file, &text, Access::Private)
    }
}

/// Stages the repo's folder and the lines of `.gitignore`.
pub(crate) fn repository(
    root: &Path,
    answers: &Answers,
    staged: &mut Staged,
) -> Result<(), CliError> {
    let folder = root.join(FOLDER);
    config(root, answers, staged)?;
    staged.add(&folder.join("policy.json"), POLICY, Access::Shared)?;
    // So that a later release can tell its own changes from the team's.
    if let Some(base) = roles::seeded(&folder)? {
        staged.replace(&folder.join(roles::BASE_FILE), &base, Access::Shared)?;
    }
    // Role files belong to the team from here on; later runs keep what it made of them.
    for file in builtin_files() {
        staged.add(&folder.join(file.name), file.text, Access::Shared)?;
    }
    ignore(root, staged)
}

/// Stages the repo's settings: new, or with what flags asked for.
fn config(root: &Path, answers: &Answers, staged: &mut Staged) -> Result<(), CliError> {
    let file = root.join(FOLDER).join("config.json");
    let old = read(&file)?;
    let mut text = old.clone().unwrap_or_else(|| CONFIG.to_owned());
    for (path, value) in answers.repo_keys(&models(root)) {
        text = set(&file, &text, &path, value)?;
    }
    if old.as_ref() == Some(&text) {
        return staged.add(&file, &text, Access::Shared);
    }
    let files = RepoFiles {
        config: Some(text.clone()),
        ..RepoFiles::on_disk(root)?
    };
    Settings::load_from(root, &files, &environment)?;
    staged.replace(&file, &text, Access::Shared)
}

/// The models that the repo has now. What is wrong with its files is told when
/// they are checked.
fn models(root: &Path) -> Models {
    let files = RepoFiles::on_disk(root).ok();
    let settings = files.and_then(|files| Settings::load_from(root, &files, &environment).ok());
    settings.map_or_else(Models::default, |settings| settings.repo.models)
}

fn set(file: &Path, text: &str, path: &[String], value: Value) -> Result<String, CliError> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    edit(text, &path, &Change::Set(value)).map_err(|error| {
        CliError::user(format!("{}: {error}", file.display()))
            .hint("nothing was changed; correct the file and run the command again")
    })
}

/// Adds the lines that are missing, and leaves the rest of the file alone.
fn ignore(root: &Path, staged: &mut Staged) -> Result<(), CliError> {
    let file = root.join(".gitignore");
    let old = read(&file)?.unwrap_or_default();
    let covered = |name: &str| {
        let mut lines = old.lines().map(|line| line.trim().trim_start_matches('/'));
        lines.any(|line| line.trim_end_matches('/') == format!("{FOLDER}/{name}"))
    };
    let missing: Vec<_> = IGNORED.into_iter().filter(|name| !covered(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut text = old;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str("# CodeButler's working files\n");
    for name in missing {
        text.push_str(&format!("/{FOLDER}/{name}/\n"));
    }
    staged.replace(&file, &text, Access::Shared)
}

fn read(file: &Path) -> Result<Option<String>, CliError> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::user(format!(
            "cannot read {}: {error}",
            file.display()
        ))),
    }
}
