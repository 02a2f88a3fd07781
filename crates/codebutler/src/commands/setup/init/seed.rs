//! What the seeded files say. They hold what is particular to this repository
//! and this machine; everything else is a default that `docs/configuration.md`
//! lists.

use std::path::Path;

use butler_config::{FOLDER, JoinedHub, Models, RepoFiles, Settings};
use butler_playbook::builtin_files;
use serde_json::{Value, json};

use crate::commands::playbook::roles;
use crate::commands::setup::{
    config_file::{ConfigFile, NOTHING_CHANGED},
    init::{
        answers::Answers,
        stage::{Access, Staged},
    },
};
use crate::{CliError, commands::environment};

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
    let mut file = ConfigFile::open(home.join("config.json"), MACHINE)?;
    set_all(&mut file, answers.machine_keys())?;
    if let Some(joined) = joined {
        let path = vec!["joined".to_owned(), root.display().to_string()];
        set_all(&mut file, vec![(path, json!(joined))])?;
    }
    if file.is_new() || file.is_changed() {
        file.stage_for_machine(staged)
    } else {
        Settings::check_machine(file.path(), file.text(), &environment)?;
        staged.add(file.path(), file.text(), Access::Private)
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
    let path = root.join(FOLDER).join("config.json");
    let mut file = ConfigFile::open(path, CONFIG)?;
    set_all(&mut file, answers.repo_keys(&models(root)))?;
    if file.is_new() || file.is_changed() {
        file.stage_for_repo(root, staged)
    } else {
        staged.add(file.path(), file.text(), Access::Shared)
    }
}

/// The models that the repo has now. What is wrong with its files is told when
/// they are checked.
fn models(root: &Path) -> Models {
    let files = RepoFiles::on_disk(root).ok();
    let settings = files.and_then(|files| Settings::load_from(root, &files, &environment).ok());
    settings.map_or_else(Models::default, |settings| settings.repo.models)
}

fn set_all(file: &mut ConfigFile, keys: Vec<(Vec<String>, Value)>) -> Result<(), CliError> {
    for (key, value) in keys {
        let set = file.set(&key, value);
        set.map_err(|error| error.hint(NOTHING_CHANGED))?;
    }
    Ok(())
}

/// Adds the lines that are missing, and leaves the rest of the file alone.
fn ignore(root: &Path, staged: &mut Staged) -> Result<(), CliError> {
    let file = ConfigFile::open(root.join(".gitignore"), "")?;
    let old = file.text();
    let covered = |name: &str| {
        let mut lines = old.lines().map(|line| line.trim().trim_start_matches('/'));
        lines.any(|line| line.trim_end_matches('/') == format!("{FOLDER}/{name}"))
    };
    let missing: Vec<_> = IGNORED.into_iter().filter(|name| !covered(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut text = old.to_owned();
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
    staged.replace(file.path(), &text, Access::Shared)
}
