//! From configured MCP servers to tools. What a person accepted of a server is a
//! file below the machine's folder; a server without one is not started.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use butler_config::{McpEntry, Settings, write_private};
use butler_mcp::{Accepted, Reach, Server, ServerSpec, Times};
use butler_policy::{Right, right};
use butler_protocol::{Role, Sha256Hex};
use butler_tools::{OutsideServer, OutsideTools, ServerPlace};
use serde::{Deserialize, Serialize};

use super::search;
use crate::{CliError, process};

/// What was accepted, and of what.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// The server as it was configured then.
    sha256: String,
    accepted: Accepted,
}

/// The servers of this process, kept from one reading of the rules to the next: a
/// server that is still the same goes on running.
#[derive(Default)]
pub(crate) struct ServerPool(Mutex<BTreeMap<Sha256Hex, Arc<Server>>>);

impl ServerPool {
    /// The tools of servers that a role may use here, and the search of those who read
    /// the web. Starts nothing.
    pub(crate) fn tools(&self, settings: &Settings, role: Role) -> OutsideTools {
        let servers = self.servers(settings, role);
        let tools = OutsideTools::new(&servers);
        match right(role, "WebFetch") {
            Right::No => tools,
            _ => tools.with_search(search::engine_here(settings, &servers)),
        }
    }

    /// The same for a role that works alone: nobody else could search for it.
    pub(crate) fn tools_alone(&self, settings: &Settings, role: Role) -> OutsideTools {
        let servers = self.servers(settings, role);
        OutsideTools::new(&servers).with_search(search::engine_here(settings, &servers))
    }

    /// The accepted servers of a role. Starts nothing.
    pub(crate) fn servers(&self, settings: &Settings, role: Role) -> Vec<OutsideServer> {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = BTreeMap::new();
        let mut servers = Vec::new();
        for (name, entry) in usable(settings, role) {
            let Some(accepted) = accepted(settings, name, entry) else {
                continue;
            };
            let key = identity(name, entry, &accepted);
            let server = match pool.remove(&key) {
                Some(server) => server,
                None => match server(settings, name, entry, Some(accepted.clone())) {
                    Ok(server) => Arc::new(server),
                    Err(error) => {
                        let why = error.plain();
                        tracing::warn!(server = name, why, "an MCP server cannot be used");
                        continue;
                    }
                },
            };
            kept.insert(key, Arc::clone(&server));
            let mut tools = accepted.tools;
            tools.retain(|tool| entry.server.offers(&tool.name));
            servers.push(OutsideServer {
                server,
                tools,
                goes_out: entry.server.network || entry.server.url.is_some(),
                // Whoever names the tools that are offered means no others.
                resources: accepted.resources && entry.server.offers("resources"),
            });
        }
        // What is no longer configured ends with its last caller.
        *pool = kept;
        servers
    }
}

fn usable(settings: &Settings, role: Role) -> impl Iterator<Item = (&String, &McpEntry)> {
    let entries = settings.mcp.iter();
    entries.filter(move |(_, entry)| entry.server.is_for(role))
}

/// A server is another one when its secrets are.
fn identity(name: &str, entry: &McpEntry, accepted: &Accepted) -> Sha256Hex {
    let server = &entry.server;
    let secrets = server.env.values().chain(server.headers.values());
    let secrets: Vec<&str> = secrets.map(|secret| secret.expose()).collect();
    let accepted = serde_json::to_string(accepted).unwrap_or_default();
    let parts = [name, entry.sha256.as_str(), &secrets.join("\0"), &accepted];
    Sha256Hex::of(parts.join("\0"))
}

/// A server, not started yet; with what was accepted it is compared.
pub(crate) fn server(
    settings: &Settings,
    name: &str,
    entry: &McpEntry,
    accepted: Option<Accepted>,
) -> Result<Server, CliError> {
    let person_home = process::person_home();
    let configured = &entry.server;
    let reach = match (&configured.command, &configured.url) {
        (Some(command), _) => ServerPlace {
            repo: &settings.root,
            home: &settings.home,
            person_home: &person_home,
            env: &configured.env,
            writable: &configured.writable,
            network: configured.network,
        }
        .program(name, command, &configured.args)?,
        (None, url) => {
            let headers = configured.headers.iter();
            Reach::Address {
                client: client(settings)?,
                url: url.clone().unwrap_or_default(),
                headers: headers
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect(),
            }
        }
    };
    let call = Duration::from_secs(u64::from(configured.timeout));
    let times = Times {
        call,
        total: Times::default().total.max(call),
        ..Times::default()
    };
    Ok(Server::new(ServerSpec {
        name: name.to_owned(),
        reach,
        times,
        accepted,
    }))
}

/// Follows no redirect: the headers are for this address only.
fn client(settings: &Settings) -> Result<reqwest::Client, CliError> {
    let ca_file = settings.machine.network.ca_file.as_deref().map(Path::new);
    let tls = butler_tls::config(ca_file).map_err(CliError::internal)?;
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none());
    client.build().map_err(CliError::internal)
}

/// Where what was accepted is kept.
fn file(settings: &Settings, name: &str) -> PathBuf {
    let root = Sha256Hex::of(settings.root.to_string_lossy().as_bytes());
    let file = format!("{name}-{}.json", &root.as_str()[..12]);
    settings.home.join("mcp").join(file)
}

/// What a person accepted of a server as it is configured now.
pub(crate) fn accepted(settings: &Settings, name: &str, entry: &McpEntry) -> Option<Accepted> {
    let text = std::fs::read_to_string(file(settings, name)).ok()?;
    let kept: Kept = serde_json::from_str(&text).ok()?;
    (kept.sha256 == entry.sha256.as_str()).then_some(kept.accepted)
}

/// Remembers what a person accepted.
pub(crate) fn accept(
    settings: &Settings,
    name: &str,
    entry: &McpEntry,
    accepted: Accepted,
) -> io::Result<()> {
    let kept = Kept {
        sha256: entry.sha256.to_string(),
        accepted,
    };
    let text = serde_json::to_string_pretty(&kept)?;
    write_private(&file(settings, name), &text)
}

/// Forgets what was accepted.
pub(crate) fn forget(settings: &Settings, name: &str) -> io::Result<()> {
    match std::fs::remove_file(file(settings, name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Servers that nobody accepted as they are configured now.
pub(crate) fn waiting(settings: &Settings) -> Vec<&str> {
    let entries = settings.mcp.iter();
    let waiting = entries.filter(|(name, entry)| accepted(settings, name, entry).is_none());
    waiting.map(|(name, _)| name.as_str()).collect()
}
