//! A person's word for a server: for its command or address first, for its tools
//! after they were listed.

use butler_config::{McpEntry, Settings};
use butler_protocol::Sha256Hex;
use inquire::Confirm;

use super::{entry, look, what, with_server};
use crate::{CliError, Exit, Ui, wiring::mcp};

pub(super) fn accept(
    settings: &Settings,
    name: &str,
    hash: Option<&str>,
    ui: &Ui,
) -> Result<Exit, CliError> {
    let entry = entry(settings, name)?;
    show(name, entry, ui);
    if !agrees("Start it, to see its tools?", hash, &entry.sha256, name, ui)? {
        return ui.done("not started");
    }
    let server = mcp::server(settings, name, entry, None)?;
    let now = with_server(&server, async |server, sandbox| {
        server.listing(Some(sandbox)).await
    })?;
    match mcp::accepted(settings, name, entry) {
        Some(before) => match before.changed_to(&now) {
            None if before.resources == now.resources => {
                return ui.done(format_args!(
                    "`{name}` is accepted already, and did not change"
                ));
            }
            None => ui.note("  now with texts to read"),
            Some(diff) => ui.note(diff),
        },
        None => look::show_tools(&now, ui),
    }
    let question = "Let the team use these tools?";
    if hash.is_none() && !agrees(question, None, &entry.sha256, name, ui)? {
        return ui.done("not accepted");
    }
    let count = now.tools.len();
    mcp::accept(settings, name, entry, now)?;
    let roles = look::roles(entry);
    ui.done(format_args!(
        "accepted: {count} tools of `{name}`, for {roles}"
    ))
}

fn show(name: &str, entry: &McpEntry, ui: &Ui) {
    let server = &entry.server;
    ui.note(format_args!("{name}: {}", what(entry)));
    let secrets: Vec<&str> = server
        .env
        .keys()
        .chain(server.headers.keys())
        .map(String::as_str)
        .collect();
    if !secrets.is_empty() {
        ui.note(format_args!("  gets {}", secrets.join(", ")));
    }
    if server.command.is_some() {
        let network = if server.network { "with" } else { "without" };
        ui.note(format_args!(
            "  runs in the sandbox, {network} network, reads this repository"
        ));
    }
    if !server.writable.is_empty() {
        ui.note(format_args!("  may change {}", server.writable.join(", ")));
    }
    if is_unpinned(&server.args) {
        ui.note("  names no version: whoever publishes the package chooses what runs");
    }
    ui.note(format_args!("  for {}", look::roles(entry)));
}

/// Whether a package runner is told a package without its version.
fn is_unpinned(args: &[String]) -> bool {
    let package = args.iter().find(|arg| !arg.starts_with('-'));
    let runner = args.first().is_some_and(|first| first == "-y");
    runner && package.is_some_and(|package| !package.trim_start_matches('@').contains('@'))
}

fn agrees(
    question: &str,
    hash: Option<&str>,
    sha256: &Sha256Hex,
    name: &str,
    ui: &Ui,
) -> Result<bool, CliError> {
    match hash {
        Some(hash) if hash == sha256.as_str() => Ok(true),
        Some(_) => Err(CliError::user(format!(
            "that is not the hash of `{name}` as it is configured now, which is {sha256}"
        ))),
        None if ui.can_ask() => Confirm::new(question)
            .with_default(false)
            .prompt()
            .map_err(CliError::internal),
        None => Err(
            CliError::user("there is no terminal to ask on").hint(format!(
                "after reading it, run `codebutler mcp accept {name} --hash {sha256}`"
            )),
        ),
    }
}
