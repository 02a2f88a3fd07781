//! `/agent/v1/runs`: what the process that runs the roadmap asks and tells.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    routing::{get, post},
};
use butler_policy::Duty;
use butler_protocol::{RunChange, RunDecide, RunReport, RunState, RunView, fault};
use serde_json::{Value, json};

use super::Caller;
use crate::{
    error::{Refusal, Refused, Trouble, refuse},
    hub::app::App,
    log::notice::Notice,
    store::{sql::params, tx::Tx},
    workspace::{gate, runs},
};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/agent/v1/runs", get(list))
        .route("/agent/v1/runs/state", post(change))
        .route("/agent/v1/runs/report", post(report))
        .route("/agent/v1/runs/decide", post(decide))
}

async fn list(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<Vec<RunView>>, Refused> {
    let repo = caller.agent.repo;
    Ok(Json(app.store.read(move |db| runs::all(db, &repo)).await?))
}

/// The PM runs the roadmap; what has ended stays so.
async fn change(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(wanted): Json<RunChange>,
) -> Result<Json<Value>, Refused> {
    app.store
        .write(move |tx| {
            check(tx, &caller)?;
            let repo = &caller.agent.repo;
            let run = runs::get(tx.db(), repo, &wanted.request)?;
            let over = matches!(run.state, RunState::Stopped | RunState::Done);
            if over && run.state != wanted.state {
                return refuse(Refusal::RunNotRunning);
            }
            fault("hub.before-run-state");
            tx.db().execute(
                "UPDATE runs SET state = ?3 WHERE repo = ?1 AND request = ?2",
                params![repo, wanted.request.as_str(), runs::word(&wanted.state)],
            )?;
            fault("hub.after-run-state");
            tx.say(Notice::Page {
                channel: run.thread.channel,
                root: run.thread.root,
            });
            Ok(())
        })
        .await?;
    Ok(Json(json!({"ok": true})))
}

async fn report(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(mut told): Json<RunReport>,
) -> Result<Json<Value>, Refused> {
    gate::clean_text(&app.redactor, &mut told.report.why);
    app.store
        .write(move |tx| {
            check(tx, &caller)?;
            let repo = &caller.agent.repo;
            let run = runs::get(tx.db(), repo, &told.request)?;
            tx.db()
                .prepare_cached(
                    "INSERT INTO run_reports (repo, request, number, report) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (repo, request, number) DO UPDATE SET report = excluded.report",
                )?
                .execute(params![
                    repo,
                    told.request.as_str(),
                    told.number,
                    serde_json::to_string(&told.report)?
                ])?;
            tx.say(Notice::Page {
                channel: run.thread.channel,
                root: run.thread.root,
            });
            Ok(())
        })
        .await?;
    Ok(Json(json!({"ok": true})))
}

/// The PM says when; whether, the person said who started it.
async fn decide(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(wanted): Json<RunDecide>,
) -> Result<Json<Value>, Refused> {
    let rules = app.rules.clone();
    app.store
        .write(move |tx| {
            check(tx, &caller)?;
            let run = runs::get(tx.db(), &caller.agent.repo, &wanted.request)?;
            runs::decide_item(tx, &rules, &run, wanted.number)
        })
        .await?;
    Ok(Json(json!({"ok": true})))
}

fn check(tx: &Tx<'_>, caller: &Caller) -> Result<(), Trouble> {
    if !Duty::Front.is_of(caller.agent.role) {
        return refuse(Refusal::RestrictedAction);
    }
    caller.agent.check_fence(tx.db(), caller.fence.as_ref())
}
