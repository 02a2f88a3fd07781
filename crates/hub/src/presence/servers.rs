//! How the MCP servers of every role stand. The agents say it (`POST /agent/v1/servers`),
//! people look (`/servers`, `GET /v1/servers`). In memory only: an agent says it again to
//! a hub that forgot.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json, Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};
use butler_protocol::{Role, ServerStatus, visible};
use serde::Serialize;
use serde_json::json;

use crate::{
    agent_api::Caller,
    error::{Answer, done, well},
    hub::App,
    identity::Agent,
    log::{AgentKey, Notice},
    person_api::Somebody,
    workspace::gate,
};

/// Servers of one role, and characters of what went wrong.
const MOST: usize = 100;
const WORDS: usize = 2_000;
const BODY_LIMIT: usize = 1024 * 1024;

/// One server of one role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RoleServer {
    pub(crate) repo: String,
    pub(crate) role: Role,
    #[serde(flatten)]
    pub(crate) status: ServerStatus,
}

/// What the agents said last.
#[derive(Default)]
pub(crate) struct Servers(Mutex<BTreeMap<AgentKey, Vec<RoleServer>>>);

impl Servers {
    /// Whether it is news.
    fn set(&self, agent: &Agent, statuses: Vec<ServerStatus>) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |status| RoleServer {
            repo: agent.repo.clone(),
            role: agent.role,
            status,
        };
        let now: Vec<RoleServer> = statuses.into_iter().map(of).collect();
        let before = all.insert(agent.key, now.clone());
        before.as_ref() != Some(&now)
    }

    /// The servers of agents that are there, by repo, name and role.
    pub(crate) fn of(&self, online: &HashSet<AgentKey>) -> Vec<RoleServer> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let there = all.iter().filter(|(key, _)| online.contains(key));
        let mut found: Vec<RoleServer> = there.flat_map(|(_, own)| own.clone()).collect();
        found.sort_by(|a, b| {
            let key = |one: &RoleServer| (one.repo.clone(), one.status.name.clone());
            key(a).cmp(&key(b))
        });
        found
    }
}

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/agent/v1/servers", post(note))
        .route("/v1/servers", get(shown))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
}

async fn note(caller: Caller, Json(mut statuses): Json<Vec<ServerStatus>>) -> Answer {
    let app = &caller.app;
    statuses.truncate(MOST);
    for status in &mut statuses {
        // Servers choose these words.
        if let Some(error) = &mut status.error {
            *error = visible(error).chars().take(WORDS).collect();
            gate::clean_text(&app.redactor, error);
        }
    }
    if app.presence.servers.set(&caller.agent, statuses) {
        let _ = app.notices.send(Arc::new(Notice::Presence));
    }
    done()
}

async fn shown(Somebody { app, .. }: Somebody) -> Answer {
    well(json!({"servers": app.presence.servers.of(&app.presence.online())}))
}
