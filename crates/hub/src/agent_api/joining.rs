//! How a machine joins, and how it notices that it is no longer welcome.

use std::{sync::Arc, time::Duration};

use axum::{Json, Router, extract::State, routing::post};
use serde_json::{Value, json};

use super::Caller;
use crate::{
    error::Refused,
    hub::app::App,
    identity::machines::{self, Joined, Joining},
};

/// Between two looks whether a connected machine was sent away.
const GLANCE: Duration = Duration::from_secs(2);

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/agent/v1/join", post(join))
        .route("/agent/v1/me", axum::routing::get(me))
}

/// Exchanges a code for tokens; the code is the caller's only proof.
async fn join(
    State(app): State<Arc<App>>,
    Json(joining): Json<Joining>,
) -> Result<Json<Joined>, Refused> {
    let joined = app.store.write(move |tx| machines::join(tx.db(), &joining));
    Ok(Json(joined.await?))
}

/// Who the caller is, and whether a process of its role is connected.
async fn me(State(app): State<Arc<App>>, caller: Caller) -> Json<Value> {
    let agent = caller.agent();
    let online = app.presence.online().contains(&agent.key);
    Json(json!({"ok": true, "repo": agent.repo, "role": agent.role, "online": online}))
}

/// Returns when the machine was sent away; never for an agent beside the hub.
pub(crate) async fn until_revoked(app: &App, machine: Option<String>) {
    let Some(machine) = machine else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(GLANCE).await;
        let id = machine.clone();
        let look = app.store.read(move |db| machines::is_here(db, &id));
        // A store that does not answer for a while says nothing about the machine.
        if matches!(look.await, Ok(false)) {
            return;
        }
    }
}
