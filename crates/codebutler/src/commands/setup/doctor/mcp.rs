//! MCP servers: accepted or not, and whether the accepted ones answer.

use std::{env, sync::Arc};

use butler_config::Settings;
use butler_sandbox::Sandbox;

use crate::{
    commands::{
        environment,
        setup::doctor::{Finding, Place},
    },
    wiring::mcp,
};

const NAME: &str = "mcp";

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
    let root = place.set_up.as_deref();
    let Some(settings) = root.and_then(|root| Settings::load(root, &environment).ok()) else {
        return Vec::new();
    };
    let waiting = mcp::waiting(&settings).into_iter().map(|name| {
        let fix = format!("look at it with `codebutler mcp accept {name}`");
        Finding::warning(NAME, format!("`{name}` is not accepted, so not used"), fix)
    });
    let mut findings: Vec<Finding> = waiting.collect();
    if !place.quick {
        findings.extend(answers(&settings));
    }
    findings
}

/// Starts each accepted server once.
fn answers(settings: &Settings) -> Vec<Finding> {
    let Some(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()
    else {
        return Vec::new();
    };
    let sandbox = env::current_exe().ok();
    let sandbox = sandbox.and_then(|helper| Sandbox::new(helper).ok().map(Arc::new));
    let mut findings = Vec::new();
    for (name, entry) in &settings.mcp {
        let Some(accepted) = mcp::accepted(settings, name, entry) else {
            continue;
        };
        let Ok(server) = mcp::server(settings, name, entry, Some(accepted)) else {
            continue;
        };
        let listing = runtime.block_on(async {
            let listing = server.listing(sandbox.as_ref()).await;
            server.end().await;
            listing
        });
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
