//! `codebutler configure --show`: every value with where it comes from.

use std::{fs, path::Path};

use butler_config::{FOLDER, Origin, SchemaName, Settings, Shown, shown};
use serde_json::{Value, json};

use crate::{CliError, Exit, Paint, Ui, commands::environment};

pub(super) fn run(settings: &Settings, as_json: bool, ui: &Ui) -> Result<Exit, CliError> {
    let folder = settings.root.join(FOLDER);
    let files = [
        (SchemaName::Machine, settings.home.join("config.json")),
        (SchemaName::Repo, folder.join("config.json")),
        (SchemaName::Policy, folder.join("policy.json")),
    ];
    let mut all = Vec::new();
    for (name, path) in &files {
        let text = fs::read_to_string(path).ok();
        all.push((path, shown(*name, path, text.as_deref())?));
    }
    if as_json {
        let values = all
            .iter()
            .flat_map(|(path, keys)| keys.iter().map(move |one| as_value(path, one)));
        return ui.done_json(Value::Array(values.collect()));
    }
    for (path, keys) in &all {
        ui.line(path.display().to_string().bold())?;
        for one in keys {
            let key = &one.key;
            ui.line(format_args!(
                "  {key} = {}  {}",
                one.value,
                origin(one).dimmed()
            ))?;
        }
    }
    for ask in settings.waiting() {
        ui.line(format_args!(
            "not in effect, nobody agreed to it: {}",
            ask.words
        ))?;
    }
    ui.note("the team follows the repository's files as they are on its default branch; flags and `codebutler configure --help` change values");
    Ok(Exit::Done)
}

/// Where a value comes from, in words.
fn origin(one: &Shown) -> String {
    match &one.from {
        Origin::Line(line) => format!("line {line}"),
        Origin::Variables(line, names) => {
            let unset = names.iter().any(|name| environment(name).is_none());
            let words = if unset { "not set here" } else { "set" };
            format!("line {line}, environment {} ({words})", names.join(", "))
        }
        Origin::Default => "default".to_owned(),
    }
}

fn as_value(path: &Path, one: &Shown) -> Value {
    let (from, line, variables) = match &one.from {
        Origin::Line(line) => ("file", Some(line), &[][..]),
        Origin::Variables(line, names) => ("environment", Some(line), names.as_slice()),
        Origin::Default => ("default", None, &[][..]),
    };
    json!({"file": path, "key": one.key, "value": one.value, "from": from, "line": line,
        "variables": variables})
}
