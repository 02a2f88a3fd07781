//! The search engine of this machine: whether it finds anything.

use butler_config::SearchEngineKind;
use butler_policy::{Right, right};
use butler_protocol::{Role, visible_line};
use butler_tools::{Looking, SearchEngine};
use tokio_util::sync::CancellationToken;

use crate::{
    commands::setup::doctor::{Finding, Place, sandbox},
    process,
    wiring::{mcp::ServerPool, search},
};

const NAME: &str = "search";
/// Words that every engine has found something for.
const WORDS: &str = "rust programming language";

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
    let Some(settings) = &place.settings else {
        return Vec::new();
    };
    let Some(kind) = settings.machine.search.engine else {
        return Vec::new();
    };
    let reads = |role: &Role| right(*role, "WebFetch") != Right::No;
    let Some(role) = Role::ALL.into_iter().find(reads) else {
        return Vec::new();
    };
    let servers = ServerPool::default().servers(settings, role);
    let engine = match search::configured(&settings.machine, &servers) {
        Ok(Some(engine)) => engine,
        Ok(None) => return Vec::new(),
        Err(why) => return vec![Finding::warning(NAME, why, FIX)],
    };
    let paid = matches!(kind, SearchEngineKind::Brave | SearchEngineKind::Tavily);
    let asks = if paid { place.probe } else { !place.quick };
    if !asks {
        let flag = if paid {
            "with --probe"
        } else {
            "without --quick"
        };
        let said = format!("{} is configured; {flag} it is asked", engine.name());
        return vec![Finding::ok(NAME, said)];
    }
    vec![ask(engine.as_ref())]
}

const FIX: &str = "look at `search` in this machine's config.json (docs/research.md)";

fn ask(engine: &dyn SearchEngine) -> Finding {
    let name = engine.name().to_owned();
    let sandbox = sandbox();
    let cancel = CancellationToken::new();
    let looking = Looking {
        sandbox: sandbox.as_ref(),
        cancel: &cancel,
    };
    let found = process::wait_for(engine.search(WORDS, &looking));
    match found.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(found) if found.hits.is_empty() => {
            let silent = visible_line(&found.remarks.join("; ")).into_owned();
            Finding::warning(
                NAME,
                format!("{name} answers and finds nothing; {silent}"),
                FIX,
            )
        }
        Ok(found) => Finding::ok(NAME, format!("{name} answers, {} pages", found.hits.len())),
        Err(why) => Finding::warning(NAME, format!("{name}: {}", visible_line(&why)), FIX),
    }
}
