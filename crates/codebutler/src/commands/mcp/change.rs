//! Changes the repo's `mcp.json`, and leaves the rest of it as it was written. Values
//! of variables and headers go to the machine config, never into the repo.

use std::{collections::BTreeMap, fs, path::Path};

use butler_config::{Change, FOLDER, RepoFiles, Settings, edit};
use butler_protocol::Role;
use serde_json::{Map, Value, json};

use crate::{
    commands::{
        environment,
        setup::init::{Access, Staged},
    },
    error::CliError,
    exit::Exit,
    ui::Ui,
    wiring::mcp,
};

#[derive(Debug, clap::Args)]
pub(super) struct Add {
    /// What to call it: letters, digits, - and _
    name: String,
    /// The address of a server that speaks streamable HTTP, instead of a command
    #[arg(long, conflicts_with = "command")]
    url: Option<String>,
    /// A variable for the program, or a header for the address; its value is kept on this machine
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// A role that may use it; without, all may
    #[arg(long = "for", value_name = "ROLE", value_parser = crate::cli::role())]
    roles: Vec<Role>,
    /// Let the program use the network
    #[arg(long)]
    network: bool,
    /// The command, after --
    #[arg(last = true, required_unless_present = "url")]
    command: Vec<String>,
}

/// One server on its way into the files.
struct New {
    name: String,
    entry: Map<String, Value>,
    secrets: BTreeMap<String, String>,
}

pub(super) fn add(settings: &Settings, add: &Add, ui: &Ui) -> Result<Exit, CliError> {
    let mut entry = Map::new();
    match &add.url {
        Some(url) => drop(entry.insert("url".into(), json!(url))),
        None => {
            entry.insert("command".into(), json!(add.command.first()));
            entry.insert("args".into(), json!(add.command[1..]));
        }
    }
    if !add.roles.is_empty() {
        entry.insert("roles".into(), json!(add.roles));
    }
    if add.network {
        entry.insert("network".into(), json!(true));
    }
    let mut secrets = BTreeMap::new();
    for pair in &add.env {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| CliError::user(format!("--env {pair}: write NAME=VALUE")))?;
        secrets.insert(name.to_owned(), value.to_owned());
    }
    write(settings, vec![New::with(&add.name, entry, secrets)], ui)
}

pub(super) fn import(settings: &Settings, file: &Path, ui: &Ui) -> Result<Exit, CliError> {
    let shown = file.display();
    let text = fs::read_to_string(file)
        .map_err(|error| CliError::user(format!("cannot read {shown}: {error}")))?;
    let found: Value = serde_json::from_str(&text)
        .map_err(|error| CliError::user(format!("{shown} is not JSON: {error}")))?;
    // Claude and Cursor, VS Code's own file, VS Code's settings.
    let places = ["/mcpServers", "/servers", "/mcp/servers"];
    let mut servers = places
        .iter()
        .filter_map(|at| found.pointer(at)?.as_object());
    let servers = servers.next().ok_or_else(|| {
        CliError::user(format!("{shown} has no servers")).hint("they stand under `mcpServers`")
    })?;
    let mut new = Vec::new();
    for (name, server) in servers {
        let Some(server) = server.as_object() else {
            continue;
        };
        let known = ["command", "args", "url"].iter();
        let known = known.filter_map(|key| Some(((*key).to_owned(), server.get(*key)?.clone())));
        let entry: Map<String, Value> = known.collect();
        let values = ["env", "headers"].iter();
        let values = values.filter_map(|key| server.get(*key)?.as_object());
        let secrets = values.flatten().map(|(name, value)| {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            (name.clone(), value)
        });
        new.push(New::with(name, entry, secrets.collect()));
    }
    write(settings, new, ui)
}

impl New {
    /// The repo's file says which secrets there are, not what they are.
    fn with(name: &str, mut entry: Map<String, Value>, secrets: BTreeMap<String, String>) -> Self {
        let names = secrets.keys();
        let names: Map<String, Value> = names
            .map(|name| (name.clone(), json!(format!("${{{name}}}"))))
            .collect();
        let key = if entry.contains_key("url") {
            "headers"
        } else {
            "env"
        };
        if !names.is_empty() {
            entry.insert(key.to_owned(), names.into());
        }
        Self {
            name: name.to_owned(),
            entry,
            secrets,
        }
    }
}

fn write(settings: &Settings, new: Vec<New>, ui: &Ui) -> Result<Exit, CliError> {
    let file = settings.root.join(FOLDER).join("mcp.json");
    let machine = settings.home.join("config.json");
    let read = |file: &Path| fs::read_to_string(file).unwrap_or_else(|_| "{}\n".to_owned());
    let (mut servers, mut private) = (read(&file), read(&machine));
    let before = private.clone();
    let names: Vec<String> = new.iter().map(|one| one.name.clone()).collect();
    for one in new {
        if settings.mcp.contains_key(&one.name) {
            return Err(
                CliError::user(format!("there is a server `{}` already", one.name)).hint(format!(
                    "take it out first: `codebutler mcp remove {}`",
                    one.name
                )),
            );
        }
        servers = changed(
            &file,
            &servers,
            &["servers", &one.name],
            Value::Object(one.entry),
        )?;
        for (key, value) in one.secrets {
            let path = ["mcp", "secrets", &one.name, &key];
            // What another tool would ask for is a text here.
            let value = value.replace("${", "$${");
            private = changed(&machine, &private, &path, json!(value))?;
        }
    }
    let mut staged = Staged::new();
    if private != before {
        Settings::check_machine(&machine, &private, &environment)?;
        staged.replace(&machine, &private, Access::Private)?;
    }
    staged.replace(&file, &servers, Access::Shared)?;
    for path in staged.persist()?.made {
        ui.line(format_args!("wrote    {}", path.display()))?;
    }
    let now = Settings::load(&settings.root, &environment)?;
    for name in names {
        if now.mcp.contains_key(&name) {
            ui.line(format_args!(
                "accept it with `codebutler mcp accept {name}`"
            ))?;
        }
    }
    for notice in now
        .notices
        .iter()
        .filter(|one| one.file.ends_with("mcp.json"))
    {
        ui.note(notice);
    }
    Ok(Exit::Done)
}

fn changed(file: &Path, text: &str, path: &[&str], value: Value) -> Result<String, CliError> {
    edit(text, path, &Change::Set(value))
        .map_err(|error| CliError::user(format!("{}: {error}", file.display())))
}

pub(super) fn remove(settings: &Settings, name: &str, ui: &Ui) -> Result<Exit, CliError> {
    let file = settings.root.join(FOLDER).join("mcp.json");
    let text = RepoFiles::on_disk(&settings.root)?.mcp.unwrap_or_default();
    let mut without = text.clone();
    for list in ["servers", "mcpServers"] {
        if text.contains(&format!("\"{list}\"")) {
            without = edit(&without, &[list, name], &Change::Remove)
                .map_err(|error| CliError::user(format!("{}: {error}", file.display())))?;
        }
    }
    if without == text {
        return Err(
            CliError::user(format!("{} has no `{name}`", file.display()))
                .hint("a server of this machine stands in its own config.json"),
        );
    }
    let mut staged = Staged::new();
    staged.replace(&file, &without, Access::Shared)?;
    staged.persist()?;
    mcp::forget(settings, name)?;
    ui.line(format_args!("took {name} out of {}", file.display()))?;
    Ok(Exit::Done)
}
