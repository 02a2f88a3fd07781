//! Tells the hub how the role's MCP servers stand, and what this process is: its version, its
//! models, and which of them are left alone for a while. The page shows it. What cannot be
//! told is told later; the work does not depend on it.

use std::{sync::Arc, time::Duration};

use butler_protocol::{AgentFacts, ServerState, ServerStatus};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{Agent, upkeep::forge::wake::sleep};

/// Between two looks: at servers that run, at those that rest, and where there are none
/// until the rules change.
const LOOK: Duration = Duration::from_secs(3);
const GLANCE: Duration = Duration::from_secs(10);
const SELDOM: Duration = Duration::from_secs(60);
/// A hub that was started anew knows nothing.
const AGAIN: Duration = Duration::from_secs(30);
/// The same for what this process is, which seldom changes.
const GLANCE_AT_FACTS: Duration = Duration::from_secs(5);
const FACTS_AGAIN: Duration = Duration::from_secs(60);

/// Tells it when it changed, and now and then; a role without servers says nothing.
pub(crate) async fn tell(agent: Arc<Agent>, cancel: CancellationToken) {
    let mut told: Vec<ServerStatus> = Vec::new();
    let mut due = Instant::now();
    loop {
        let now = agent.rules().outside.statuses();
        let pause = match now.iter().all(|one| one.state == ServerState::Resting) {
            _ if now.is_empty() => SELDOM,
            true => GLANCE,
            false => LOOK,
        };
        let silent = now.is_empty() && told.is_empty();
        if !silent && (now != told || Instant::now() >= due) {
            match agent.poster.control.servers(&now).await {
                Ok(()) => told = now,
                Err(error) => tracing::debug!(%error, "how the servers stand is not told"),
            }
            due = Instant::now() + AGAIN;
        }
        if !sleep(pause, &cancel).await {
            return;
        }
    }
}

/// Tells what this process is at the start, when it changed, and now and then.
pub(crate) async fn tell_facts(agent: Arc<Agent>, cancel: CancellationToken) {
    let mut told = None;
    let mut due = Instant::now();
    loop {
        let now = facts(&agent);
        if told.as_ref() != Some(&now) || Instant::now() >= due {
            match agent.poster.control.facts(&now).await {
                Ok(()) => told = Some(now),
                Err(error) => tracing::debug!(%error, "what this process is is not told"),
            }
            due = Instant::now() + FACTS_AGAIN;
        }
        if !sleep(GLANCE_AT_FACTS, &cancel).await {
            return;
        }
    }
}

fn facts(agent: &Agent) -> AgentFacts {
    let chain = &agent.rules().models.chain;
    let others = [&chain.fallback, &chain.stronger].into_iter().flatten();
    let mut models = vec![chain.usual.clone()];
    for other in others {
        if !models.contains(other) {
            models.push(other.clone());
        }
    }
    AgentFacts {
        version: agent.config.version.clone(),
        host: rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned(),
        models,
        resting: agent.model.resting(),
        pool: agent.rules().models.pool.keys().cloned().collect(),
        outlook: agent.develop.ahead.now(),
    }
}
