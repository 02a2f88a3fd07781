//! `/agent/v1/memory`: what the team's learnings are worth, from whoever keeps them.

use std::sync::Arc;

use axum::{Json, Router, extract::State, routing::post};
use butler_policy::Duty;
use butler_protocol::LearningFigures;
use serde_json::{Value, json};

use super::Caller;
use crate::{
    error::{Refusal, Refused, refuse},
    hub::app::App,
    views::memory,
    workspace::gate,
};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/agent/v1/memory", post(tell))
}

async fn tell(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(mut figures): Json<Vec<LearningFigures>>,
) -> Result<Json<Value>, Refused> {
    for one in &mut figures {
        for text in [&mut one.title, &mut one.source, &mut one.said] {
            gate::clean_text(&app.redactor, text);
        }
        if let Some(against) = &mut one.against {
            gate::clean_text(&app.redactor, against);
        }
    }
    app.store
        .write(move |tx| {
            if !Duty::Remember.is_of(caller.agent.role) {
                return refuse(Refusal::RestrictedAction);
            }
            caller.agent.check_fence(tx.db(), caller.fence.as_ref())?;
            memory::keep(tx.db(), &caller.agent.repo, &figures)
        })
        .await?;
    Ok(Json(json!({"ok": true})))
}
