//! Shows servers, and tries accepted ones.

use std::time::Instant;

use butler_config::{McpEntry, Settings};
use butler_mcp::{Accepted, Server};
use butler_protocol::visible;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{entry, what, with_server};
use crate::{CliError, Exit, Ui, roles::titles, wiring::mcp};

/// Bytes of a description that make a token, roughly.
const BYTES_PER_TOKEN: usize = 4;

pub(super) fn list(settings: &Settings, json: bool, ui: &Ui) -> Result<Exit, CliError> {
    let rows = settings
        .mcp
        .iter()
        .map(|(name, entry)| row(settings, name, entry));
    let rows: Vec<Value> = rows.collect();
    if json {
        return ui.done_json(&rows);
    }
    if rows.is_empty() {
        ui.line("no MCP servers; `codebutler mcp add` adds one")?;
    }
    for row in rows {
        let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let state = match row["tools"].as_u64() {
            Some(tools) => format!("accepted, {tools} tools, about {} tokens", row["tokens"]),
            None => format!("not accepted: codebutler mcp accept {}", word("name")),
        };
        ui.line(format_args!("{}  {state}", word("name")))?;
        ui.line(format_args!("  {}", word("what")))?;
        ui.line(format_args!("  for {}", word("roles")))?;
    }
    tell_notices(settings, ui);
    Ok(Exit::Done)
}

/// What is wrong with the repo's servers.
pub(super) fn tell_notices(settings: &Settings, ui: &Ui) {
    let notices = settings.notices.iter();
    for notice in notices.filter(|one| one.file.ends_with("mcp.json")) {
        ui.note(notice);
    }
}

fn row(settings: &Settings, name: &str, entry: &McpEntry) -> Value {
    let accepted = mcp::accepted(settings, name, entry);
    let offered = accepted.map(|accepted| {
        let mut tools = accepted.tools;
        tools.retain(|tool| entry.server.offers(&tool.name));
        tools
    });
    let bytes = offered.as_ref().map(|tools| {
        let each = tools.iter();
        each.map(|tool| tool.told().len() + tool.parameters().to_string().len())
            .sum::<usize>()
    });
    json!({
        "name": name,
        "what": what(entry),
        "roles": roles(entry),
        "network": entry.server.network,
        "tools": offered.map(|tools| tools.len()),
        "tokens": bytes.map(|bytes| bytes / BYTES_PER_TOKEN),
        "sha256": entry.sha256,
    })
}

/// Who may use it, in words.
pub(super) fn roles(entry: &McpEntry) -> String {
    match &entry.server.roles {
        None => "every role".to_owned(),
        Some(roles) if roles.is_empty() => "no role".to_owned(),
        Some(roles) => titles(roles),
    }
}

/// A server that somebody accepted as it is configured now.
fn accepted_server(
    settings: &Settings,
    name: &str,
    compared: bool,
) -> Result<(Server, Accepted), CliError> {
    let entry = entry(settings, name)?;
    let accepted = mcp::accepted(settings, name, entry).ok_or_else(|| {
        CliError::user(format!("nobody accepted `{name}` as it is configured now"))
            .hint(format!("look at it with `codebutler mcp accept {name}`"))
    })?;
    let compare = compared.then(|| accepted.clone());
    Ok((mcp::server(settings, name, entry, compare)?, accepted))
}

pub(super) fn test(settings: &Settings, name: &str, ui: &Ui) -> Result<Exit, CliError> {
    let (server, accepted) = accepted_server(settings, name, false)?;
    let since = Instant::now();
    let now = with_server(&server, async |server, sandbox| {
        server.listing(Some(sandbox)).await
    })?;
    let seconds = since.elapsed().as_secs_f64();
    if let Some(diff) = accepted.changed_to(&now) {
        ui.line(diff)?;
        let error = CliError::user(format!("`{name}` is not what was accepted"));
        return Err(error.hint(format!("`codebutler mcp accept {name}`, if that is right")));
    }
    let tools = now.tools.len();
    ui.done(format_args!(
        "{name} answers: {tools} tools, {seconds:.1} s with its start"
    ))
}

pub(super) fn call(
    settings: &Settings,
    name: &str,
    tool: &str,
    arguments: &str,
    ui: &Ui,
) -> Result<Exit, CliError> {
    let (server, _) = accepted_server(settings, name, true)?;
    let arguments: Value = serde_json::from_str(arguments)
        .map_err(|error| CliError::user(format!("the arguments are not JSON: {error}")))?;
    let Value::Object(arguments) = arguments else {
        return Err(CliError::user("the arguments must be a JSON object"));
    };
    let cancel = CancellationToken::new();
    let answer = with_server(&server, async |server, sandbox| {
        let asking = server.call(tool, arguments, Some(sandbox), &cancel, None);
        asking.await
    })?;
    ui.line(visible(&answer.text))?;
    if !answer.ok {
        return Err(CliError::user(format!("{tool} says that it failed")));
    }
    Ok(Exit::Done)
}

/// The tools as a person reads them before they accept them.
pub(super) fn show_tools(accepted: &Accepted, ui: &Ui) {
    for tool in &accepted.tools {
        let told = tool.told();
        let line: String = told.split_whitespace().collect::<Vec<_>>().join(" ");
        let line: String = line.chars().take(110).collect();
        let kind = if tool.read_only { " (read-only)" } else { "" };
        ui.note(format_args!("  {}{kind}: {line}", visible(&tool.name)));
    }
    if accepted.resources {
        ui.note("  resources (read-only): lists and reads the texts that the server has");
    }
}
