//! How a machine joins, and how it notices that it is no longer welcome.

use std::{sync::Arc, time::Duration};

use axum::{Json, Router, extract::State, routing::post};
use serde_json::json;

use super::Caller;
use crate::{
    error::{Answer, Refused, well},
    hub::App,
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
    let joined = app.write(move |tx| machines::join(tx.db(), &joining));
    Ok(Json(joined.await?))
}

/// Who the caller is, and whether a process of its role is connected.
async fn me(Caller { app, agent, .. }: Caller) -> Answer {
    let online = app.presence.online().contains(&agent.key);
    well(json!({"repo": agent.repo, "role": agent.role, "online": online}))
}

/// Returns when the machine was sent away; never for an agent beside the hub.
pub(crate) async fn until_revoked(app: &App, machine: Option<String>) {
    let Some(machine) = machine else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(GLANCE).await;
        let id = machine.clone();
        let look = app.read(move |db| machines::is_here(db, &id));
        // A store that does not answer for a while says nothing about the machine.
        if matches!(look.await, Ok(false)) {
            return;
        }
    }
}
