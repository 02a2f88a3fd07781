//! `codebutler mcp`: servers that bring tools of others. What they are is in
//! `mcp.json` and the machine config; whether they are used, a person on this machine says.

mod accept;
mod change;
mod look;
mod serve;

use std::{env, path::PathBuf, sync::Arc};

use butler_config::{McpEntry, Settings};
use butler_mcp::Server;
use butler_protocol::visible_line;
use butler_sandbox::Sandbox;
use clap::Subcommand;

use crate::{CliError, Exit, Ui, commands::settings_here};

/// Servers that bring tools of others: show, accept, try and change them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show the servers, whether they are accepted, and what their tools cost
    List {
        /// As JSON, for scripts
        #[arg(long)]
        json: bool,
    },
    /// Look at a server and its tools, and let the team use them
    Accept {
        /// The server
        name: String,
        /// The hash that was shown, instead of answering questions
        #[arg(long, value_name = "SHA256")]
        hash: Option<String>,
    },
    /// Start an accepted server and compare it with what was accepted
    Test {
        /// The server
        name: String,
    },
    /// Call a tool of an accepted server
    Call {
        /// The server
        name: String,
        /// The tool, as the server calls it
        tool: String,
        /// The arguments as a JSON object
        #[arg(default_value = "{}")]
        arguments: String,
    },
    /// Add a server to the repo's mcp.json
    Add(change::Add),
    /// Take a server out of the repo's mcp.json
    Remove {
        /// The server
        name: String,
    },
    /// Add the servers of another tool's file (Claude, Cursor, VS Code)
    Import {
        /// The file, as in ~/.claude.json or .vscode/mcp.json
        file: PathBuf,
    },
    /// Serve the team to other agents and editors, over the standard input and output
    Serve {
        /// Offer no tool that answers cards: whoever is served asks and reads, and a person decides
        #[arg(long)]
        no_cards: bool,
    },
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let settings = settings_here()?;
    match &args.verb {
        Verb::List { json } => look::list(&settings, *json, ui),
        Verb::Accept { name, hash } => accept::accept(&settings, name, hash.as_deref(), ui),
        Verb::Test { name } => look::test(&settings, name, ui),
        Verb::Call {
            name,
            tool,
            arguments,
        } => look::call(&settings, name, tool, arguments, ui),
        Verb::Add(add) => change::add(&settings, add, ui),
        Verb::Remove { name } => change::remove(&settings, name, ui),
        Verb::Import { file } => change::import(&settings, file, ui),
        Verb::Serve { no_cards } => serve::serve(settings, !no_cards, ui),
    }
}

/// A configured server by its name.
fn entry<'a>(settings: &'a Settings, name: &str) -> Result<&'a McpEntry, CliError> {
    settings.mcp.get(name).ok_or_else(|| {
        let error = CliError::user(format!("there is no usable MCP server `{name}`"));
        let mut about = settings.notices.iter();
        let about = about.find(|one| one.key.split('.').nth(1) == Some(name));
        match about {
            Some(problem) => error.hint(problem.to_string()),
            None => error.hint("`codebutler mcp list` shows them"),
        }
    })
}

/// What runs or is asked, in one line.
fn what(entry: &McpEntry) -> String {
    let server = &entry.server;
    let what = match (&server.command, &server.url) {
        (Some(command), _) => {
            let words = std::iter::once(command).chain(&server.args);
            words.map(String::as_str).collect::<Vec<_>>().join(" ")
        }
        (None, url) => url.clone().unwrap_or_default(),
    };
    visible_line(&what).into_owned()
}

/// Where programs of servers run.
fn sandbox() -> Result<Arc<Sandbox>, CliError> {
    let sandbox = Sandbox::new(env::current_exe()?).map_err(CliError::internal)?;
    Ok(Arc::new(sandbox))
}

/// Does something with a server, and ends it.
fn with_server<T>(
    server: &Server,
    work: impl AsyncFnOnce(&Server, &Arc<Sandbox>) -> Result<T, butler_mcp::McpError>,
) -> Result<T, CliError> {
    let sandbox = sandbox()?;
    crate::process::run_on_one_thread(async |cancel| {
        let done = tokio::select! {
            done = work(server, &sandbox) => done,
            () = cancel.cancelled() => Err(butler_mcp::McpError::Stopped),
        };
        server.end().await;
        done.map_err(CliError::user)
    })
}
