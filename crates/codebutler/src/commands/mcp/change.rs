//! Changes the repo's `mcp.json`, and leaves the rest of it as it was written. Values
//! of variables and headers go to the machine config, never into the repo.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use butler_config::{FOLDER, Settings};
use butler_protocol::Role;
use serde_json::{Map, Value, json};

use crate::{
    CliError, Exit, Ui,
    commands::{
        environment,
        setup::{
            config_file::ConfigFile,
            init::{Access, Staged},
        },
    },
    wiring::mcp,
};

use super::look::tell_notices;

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
    let mut servers = ConfigFile::open(servers_of(settings), "{}\n")?;
    let mut private = ConfigFile::open(settings.home.join("config.json"), "{}\n")?;
    let names: Vec<String> = new.iter().map(|one| one.name.clone()).collect();
    for New {
        name,
        entry,
        secrets,
    } in new
    {
        if settings.mcp.contains_key(&name) {
            let error = CliError::user(format!("there is a server `{name}` already"));
            return Err(error.hint(format!("take it out first: `codebutler mcp remove {name}`")));
        }
        servers.set(&["servers", &name], entry.into())?;
        for (key, value) in secrets {
            // What another tool would ask for is a text here.
            let value = value.replace("${", "$${");
            private.set(&["mcp", "secrets", &name, &key], json!(value))?;
        }
    }
    let mut staged = Staged::new();
    if private.is_changed() {
        private.stage_for_machine(&mut staged)?;
    }
    staged.replace(servers.path(), servers.text(), Access::Shared)?;
    staged.write_out(ui)?;
    let now = Settings::load(&settings.root, &environment)?;
    for name in names.iter().filter(|name| now.mcp.contains_key(*name)) {
        ui.line(format_args!(
            "accept it with `codebutler mcp accept {name}`"
        ))?;
    }
    tell_notices(&now, ui);
    Ok(Exit::Done)
}

fn servers_of(settings: &Settings) -> PathBuf {
    settings.root.join(FOLDER).join("mcp.json")
}

pub(super) fn remove(settings: &Settings, name: &str, ui: &Ui) -> Result<Exit, CliError> {
    let mut file = ConfigFile::open(servers_of(settings), "")?;
    let before = file.text().to_owned();
    for list in ["servers", "mcpServers"] {
        if before.contains(&format!("\"{list}\"")) {
            file.remove(&[list, name])?;
        }
    }
    let shown = file.path().display();
    if file.text() == before {
        return Err(CliError::user(format!("{shown} has no `{name}`"))
            .hint("a server of this machine stands in its own config.json"));
    }
    let mut staged = Staged::new();
    staged.replace(file.path(), file.text(), Access::Shared)?;
    staged.persist()?;
    mcp::forget(settings, name)?;
    ui.done(format_args!("took {name} out of {shown}"))
}
