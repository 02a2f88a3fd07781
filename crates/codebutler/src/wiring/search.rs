//! From the machine's config to the engine that searches the web. Only the machine
//! names it: a repo could else have queries and keys sent anywhere.

use std::{path::Path, sync::Arc};

use butler_config::{Machine, McpApproval, SearchEngineKind, Settings};
use butler_tools::{HttpEngine, HttpEngineKind, OutsideServer, SearchEngine, ServerEngine};

/// The engine of this machine, in a repo with these servers.
pub(crate) fn engine_here(
    settings: &Settings,
    servers: &[OutsideServer],
) -> Option<Arc<dyn SearchEngine>> {
    let by_server = settings.machine.search.engine == Some(SearchEngineKind::Mcp);
    // Whoever wants every call of a server approved gets it as that server's own tool.
    if by_server && settings.policy.mcp.approval == McpApproval::Always {
        return None;
    }
    engine(&settings.machine, servers)
}

/// The engine of this machine; none where none is configured or it cannot be used,
/// which the log and `doctor` say.
pub(crate) fn engine(
    machine: &Machine,
    servers: &[OutsideServer],
) -> Option<Arc<dyn SearchEngine>> {
    match configured(machine, servers) {
        Ok(engine) => engine,
        Err(why) => {
            tracing::warn!(why, "the web cannot be searched");
            None
        }
    }
}

/// The same with the reason.
pub(crate) fn configured(
    machine: &Machine,
    servers: &[OutsideServer],
) -> Result<Option<Arc<dyn SearchEngine>>, String> {
    let search = &machine.search;
    let kind = match search.engine {
        None => return Ok(None),
        Some(SearchEngineKind::SearXng) => HttpEngineKind::SearXng,
        Some(SearchEngineKind::Brave) => HttpEngineKind::Brave,
        Some(SearchEngineKind::Tavily) => HttpEngineKind::Tavily,
        Some(SearchEngineKind::Mcp) => {
            let (server, tool) = (search.server.as_deref(), search.tool.as_deref());
            let (server, tool) = (server.unwrap_or_default(), tool.unwrap_or_default());
            return of_server(servers, server, tool).map(Some);
        }
    };
    let ca_file = machine.network.ca_file.as_deref().map(Path::new);
    let engine = HttpEngine::new(kind, search.url.as_deref(), search.api_key.clone(), ca_file)?;
    Ok(Some(Arc::new(engine)))
}

fn of_server(
    servers: &[OutsideServer],
    name: &str,
    tool: &str,
) -> Result<Arc<dyn SearchEngine>, String> {
    let server = servers.iter().find(|one| one.server.name() == name);
    let server = server.ok_or_else(|| {
        format!("the MCP server `{name}` is not configured, not accepted, or not for this role")
    })?;
    let info = server.tools.iter().find(|one| one.name == tool);
    let info = info.ok_or_else(|| format!("the MCP server `{name}` has no tool `{tool}`"))?;
    Ok(Arc::new(ServerEngine::new(
        Arc::clone(&server.server),
        info,
    )))
}
