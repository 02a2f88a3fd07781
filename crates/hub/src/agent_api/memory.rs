//! `/agent/v1/memory`: what the team's learnings are worth, from whoever keeps them.

use std::sync::Arc;

use axum::{Json, Router, routing::post};
use butler_policy::Duty;
use butler_protocol::LearningFigures;

use super::Caller;
use crate::{
    error::{Answer, Refusal, Refused, done},
    hub::App,
    identity::Agent,
    store::Tx,
    views::memory,
    workspace::gate,
};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/agent/v1/memory", post(tell))
}

async fn tell(caller: Caller, Json(mut figures): Json<Vec<LearningFigures>>) -> Answer {
    let redactor = &caller.app.redactor;
    for one in &mut figures {
        let texts = [&mut one.title, &mut one.source, &mut one.said];
        for text in texts.into_iter().chain(&mut one.against) {
            gate::clean_text(redactor, text);
        }
    }
    if !Duty::Remember.is_of(caller.agent.role) {
        return Err(Refused(Refusal::RestrictedAction));
    }
    let work = move |tx: &mut Tx<'_>, agent: &Agent| memory::keep(tx.db(), &agent.repo, &figures);
    caller.write(work).await?;
    done()
}
