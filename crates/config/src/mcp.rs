//! MCP servers: `<repo>/.codebutler/mcp.json`, and those of the machine config.
//!
//! A server is a program or an address that somebody else wrote. What is wrong
//! with one is a word to the person and takes that server away, not the others.
//! A repo's file may say that a server needs a secret (`"TOKEN": "${TOKEN}"`); only
//! the machine config has it, under `mcp.secrets.<server>`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use butler_protocol::{Role, Secret, Sha256Hex};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    file::{
        check::{Measure, check},
        document::{Document, Field, Kind},
        problem::Problem,
        variables::{self, Source},
    },
    machine::Machine,
    schema,
};

/// The repo's MCP servers. The name that other tools use, `mcpServers`, means the same.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct McpFile {
    /// The servers by name: letters, digits, `-` and `_`.
    pub servers: BTreeMap<String, McpServer>,
}

settings! {
    /// One server: a program, or an address.
    #[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
    pub struct McpServer {
        /// The program that is started, at its first use.
        pub command: Option<String>,
        /// Its arguments.
        pub args: Vec<String>,
        /// Its environment variables. It gets no others of yours.
        #[schemars(with = "BTreeMap<String, String>", extend("x-secret" = true))]
        pub env: BTreeMap<String, Secret>,
        /// The address of a server that speaks streamable HTTP, instead of a program.
        #[schemars(extend("format" = "uri"))]
        pub url: Option<String>,
        /// Headers of every request to that address.
        #[schemars(with = "BTreeMap<String, String>", extend("x-secret" = true))]
        pub headers: BTreeMap<String, Secret>,
        /// The roles that may use it. Unset: every role.
        pub roles: Option<Vec<Role>>,
        /// The tools that are offered. Empty: all of them.
        pub allow: Vec<String>,
        /// Tools that are not offered.
        pub deny: Vec<String>,
        /// Whether the program may use the network.
        pub network: bool,
        /// Folders that the program may change, besides one of its own; relative to the repo.
        pub writable: Vec<String>,
        /// Seconds until a call must be answered or make progress.
        #[schemars(range(min = 1, max = 3600))]
        pub timeout: u32 = 30,
        /// Whether it is left out.
        pub disabled: bool,
    }
}

impl McpServer {
    /// Whether a role may use it.
    pub fn is_for(&self, role: Role) -> bool {
        let roles = self.roles.as_ref();
        roles.is_none_or(|roles| roles.contains(&role))
    }

    /// Whether a tool of it is offered.
    pub fn offers(&self, tool: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == tool);
        (self.allow.is_empty() || named(&self.allow)) && !named(&self.deny)
    }

    /// What runs or is asked, what it may reach, and for whom: what a person accepts.
    fn fingerprint(&self, secret: impl Fn(&str) -> bool) -> Sha256Hex {
        let values = |map: &BTreeMap<String, Secret>| -> Vec<(String, Option<String>)> {
            let value = |(name, value): (&String, &Secret)| {
                let shown = (!secret(name)).then(|| value.expose().to_owned());
                (name.clone(), shown)
            };
            map.iter().map(value).collect()
        };
        let what = json!([
            self.command,
            self.args,
            values(&self.env),
            self.url,
            values(&self.headers),
            self.roles,
            self.network,
            self.writable
        ]);
        Sha256Hex::of(what.to_string())
    }
}

/// A server that can be used once somebody accepted it.
#[derive(Debug, Clone)]
pub struct McpEntry {
    /// What was configured, secrets filled in.
    pub server: McpServer,
    /// What an acceptance is bound to: everything but the values of secrets.
    pub sha256: Sha256Hex,
}

/// MCP servers of this machine, for every repo on it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct MachineMcp {
    /// Servers by name; one of the same name in a repo's `mcp.json` is passed over.
    pub servers: BTreeMap<String, McpServer>,
    /// Environment variables and headers by server, for servers of a repo that need a secret.
    #[schemars(with = "BTreeMap<String, BTreeMap<String, String>>", extend("x-secret" = true))]
    pub secrets: BTreeMap<String, BTreeMap<String, Secret>>,
}

impl MachineMcp {
    /// What must not leave this machine in any other way.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        /// Shorter ones are words that also mean something else.
        const SHORTEST: usize = 12;
        let servers = self.servers.values();
        let own = servers.flat_map(|server| server.env.values().chain(server.headers.values()));
        let given = self.secrets.values().flat_map(BTreeMap::values);
        own.chain(given)
            .filter(|secret| secret.expose().len() >= SHORTEST)
            .cloned()
            .collect()
    }
}

/// All servers by name, and what is wrong with those that are not among them.
pub(crate) fn servers(
    file: &Path,
    text: Option<&str>,
    machine: &Machine,
) -> (BTreeMap<String, McpEntry>, Vec<Problem>) {
    let mut reading = Servers {
        file,
        machine,
        found: BTreeMap::new(),
        problems: Vec::new(),
    };
    for (name, server) in &machine.mcp.servers {
        let entry = McpEntry {
            sha256: server.fingerprint(|_| true),
            server: server.clone(),
        };
        reading.found.insert(name.clone(), entry);
    }
    match text.map(|text| Document::parse(file, text)) {
        Some(Ok(document)) => reading.document(&document),
        Some(Err(problem)) => reading.problems.push(problem),
        None => {}
    }
    let disabled = |_: &String, entry: &mut McpEntry| !entry.server.disabled;
    reading.found.retain(disabled);
    (reading.found, reading.problems)
}

struct Servers<'a> {
    file: &'a Path,
    machine: &'a Machine,
    found: BTreeMap<String, McpEntry>,
    problems: Vec<Problem>,
}

impl Servers<'_> {
    fn document(&mut self, document: &Document) {
        let lists = ["servers", "mcpServers"].iter();
        let lists = lists.filter_map(|key| document.root.get(key));
        for list in lists {
            for field in list.value.fields() {
                // The machine's own of that name wins.
                if self.found.contains_key(&field.key) {
                    continue;
                }
                match self.server(&list.key, field.clone()) {
                    Ok(Some(entry)) => drop(self.found.insert(field.key.clone(), entry)),
                    Ok(None) => {}
                    Err(problems) => self.problems.extend(problems),
                }
            }
        }
    }

    fn server(&mut self, list: &str, mut field: Field) -> Result<Option<McpEntry>, Vec<Problem>> {
        let name = field.key.clone();
        let at = format!("{list}.{name}");
        let line = field.line;
        let problem =
            |what: &str, remedy: String| Problem::with_file(self.file, what, remedy).at(line, &at);
        if !is_name(&name) {
            let remedy = "Use at most 24 letters, digits, `-` and single `_`".to_owned();
            return Err(vec![problem("not a name for a server", remedy)]);
        }
        let needed = needed(&mut field);
        let own = self.machine.mcp.secrets.get(&name);
        let has = |one: &str| own.is_some_and(|own| own.contains_key(one));
        let missing = needed.iter().filter(|one| !has(one)).map(|one| {
            let remedy = format!("Add mcp.secrets.{name}.{one} to ~/.codebutler/config.json");
            problem(&format!("{one} is not set for this server"), remedy)
        });
        let mut problems: Vec<Problem> = missing.collect();
        let schema = schema::of::<McpServer>();
        let unknown = drop_unknown(&mut field, &schema);
        for (key, line) in unknown {
            let remedy = "Take it out, or see docs/mcp.md";
            let problem = Problem::with_file(self.file, "unknown key, passed over", remedy);
            self.problems.push(problem.at(line, format!("{at}.{key}")));
        }
        let mut found = Vec::new();
        variables::fill(&mut field.value, Source::Nowhere, self.file, &mut found);
        let document = Document {
            file: self.file.to_owned(),
            root: field.value,
        };
        let measure = Measure {
            schema: &schema,
            machine: None,
        };
        found.extend(check(&document, &measure));
        problems.extend(found.into_iter().map(|one| Problem {
            key: format!("{at}.{}", one.key),
            ..one
        }));
        if !problems.is_empty() {
            return Err(problems);
        }
        let value = document.root.to_json();
        let Ok(mut server) = serde_json::from_value::<McpServer>(value) else {
            return Ok(None);
        };
        if server.command.is_some() == server.url.is_some() {
            let remedy = "Name a `command`, or the `url` of a server".to_owned();
            return Err(vec![problem("not a server", remedy)]);
        }
        fill_secrets(&mut server, own, &needed);
        let sha256 = server.fingerprint(has);
        Ok(Some(McpEntry { server, sha256 }))
    }
}

/// A header goes where the file has it, everything else into the environment.
fn fill_secrets(
    server: &mut McpServer,
    own: Option<&BTreeMap<String, Secret>>,
    needed: &BTreeSet<String>,
) {
    let target = match server.url {
        Some(_) => &mut server.headers,
        None => &mut server.env,
    };
    for (name, value) in own.into_iter().flatten() {
        if needed.contains(name) || !target.contains_key(name) {
            target.insert(name.clone(), value.clone());
        }
    }
}

/// Takes out the variables and headers that only the machine can fill; their names.
fn needed(field: &mut Field) -> BTreeSet<String> {
    let mut needed = BTreeSet::new();
    let Kind::Map(fields) = &mut field.value.kind else {
        return needed;
    };
    let maps = fields
        .iter_mut()
        .filter(|one| one.key == "env" || one.key == "headers");
    for map in maps {
        let Kind::Map(values) = &mut map.value.kind else {
            continue;
        };
        values.retain(|value| {
            let from_machine = matches!(&value.value.kind, Kind::Text(text) if text.contains("${"));
            if from_machine {
                needed.insert(value.key.clone());
            }
            !from_machine
        });
    }
    needed
}

/// Keys that other tools know and we do not; with their lines.
fn drop_unknown(field: &mut Field, schema: &Value) -> Vec<(String, usize)> {
    let mut unknown = Vec::new();
    if let Kind::Map(fields) = &mut field.value.kind {
        fields.retain(|one| {
            let known = schema["properties"].get(&one.key).is_some();
            // What it says follows from the other keys.
            if !known && one.key != "type" {
                unknown.push((one.key.clone(), one.line));
            }
            known
        });
    }
    unknown
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=24).contains(&name.len()) && name.chars().all(fits) && !name.contains("__")
}
