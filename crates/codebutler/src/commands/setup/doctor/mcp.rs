//! MCP servers: accepted or not, and whether the accepted ones answer.

use butler_config::Settings;

use crate::{
    commands::setup::doctor::{Finding, Place, sandbox},
    process,
    wiring::mcp,
};

const NAME: &str = "mcp";

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
    let Some(settings) = &place.settings else {
        return Vec::new();
    };
    let waiting = mcp::waiting(settings).into_iter().map(|name| {
        let fix = format!("look at it with `codebutler mcp accept {name}`");
        Finding::warning(NAME, format!("`{name}` is not accepted, so not used"), fix)
    });
    let mut findings: Vec<Finding> = waiting.collect();
    if !place.quick {
        findings.extend(answers(settings));
    }
    findings
}

/// Starts each accepted server once.
fn answers(settings: &Settings) -> Vec<Finding> {
    let sandbox = sandbox();
    let mut findings = Vec::new();
    for (name, entry) in &settings.mcp {
        let Some(accepted) = mcp::accepted(settings, name, entry) else {
            continue;
        };
        let Ok(server) = mcp::server(settings, name, entry, Some(accepted)) else {
            continue;
        };
        let listing = process::wait_for(async {
            let listing = server.listing(sandbox.as_ref()).await;
            server.end().await;
            listing
        });
        let Ok(listing) = listing else { continue };
        findings.push(match listing {
            Ok(listing) => Finding::ok(
                NAME,
                format!("`{name}` answers, {} tools", listing.tools.len()),
            ),
            Err(error) => {
                let fix = format!("see `codebutler mcp test {name}`");
                Finding::warning(NAME, error.to_string(), fix)
            }
        });
    }
    findings
}
