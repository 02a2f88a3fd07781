//! `/agent/v1/runs`: what the process that runs the roadmap asks and tells.

use std::sync::Arc;

use axum::{
    Json, Router,
    routing::{get, post},
};
use butler_policy::Duty;
use butler_protocol::{RunChange, RunDecide, RunReport, RunState, RunView, fault};

use super::Caller;
use crate::{
    error::{Answer, Refusal, Refused, Result, When, done},
    hub::App,
    log::Notice,
    store::{Tx, params},
    workspace::{gate, runs},
};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/agent/v1/runs", get(list))
        .route("/agent/v1/runs/state", post(change))
        .route("/agent/v1/runs/report", post(report))
        .route("/agent/v1/runs/decide", post(decide))
}

async fn list(caller: Caller) -> Result<Json<Vec<RunView>>, Refused> {
    Ok(Json(
        caller.look(|db, agent| runs::all(db, &agent.repo)).await?,
    ))
}

/// The PM runs the roadmap; what has ended stays so.
async fn change(caller: Caller, Json(wanted): Json<RunChange>) -> Answer {
    let work = move |tx: &mut Tx<'_>, repo: &str| {
        let run = runs::get(tx.db(), repo, &wanted.request)?;
        let over = matches!(run.state, RunState::Stopped | RunState::Done);
        Refusal::RunNotRunning.when(over && run.state != wanted.state)?;
        fault("hub.before-run-state");
        tx.db().execute(
            "UPDATE runs SET state = ?3 WHERE repo = ?1 AND request = ?2",
            params![repo, wanted.request, runs::word(&wanted.state)],
        )?;
        fault("hub.after-run-state");
        tx.say(Notice::Page(run.thread));
        Ok(())
    };
    by_front(caller, work).await
}

async fn report(caller: Caller, Json(mut told): Json<RunReport>) -> Answer {
    gate::clean_text(&caller.app.redactor, &mut told.report.why);
    let work = move |tx: &mut Tx<'_>, repo: &str| {
        let run = runs::get(tx.db(), repo, &told.request)?;
        let report = serde_json::to_string(&told.report)?;
        tx.db().execute(
            "INSERT INTO run_reports (repo, request, number, report) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (repo, request, number) DO UPDATE SET report = excluded.report",
            params![repo, told.request, told.number, report],
        )?;
        tx.say(Notice::Page(run.thread));
        Ok(())
    };
    by_front(caller, work).await
}

/// The PM says when; whether, the person said who started it.
async fn decide(caller: Caller, Json(wanted): Json<RunDecide>) -> Answer {
    let rules = caller.app.rules.clone();
    let work = move |tx: &mut Tx<'_>, repo: &str| {
        let run = runs::get(tx.db(), repo, &wanted.request)?;
        runs::decide_item(tx, &rules, &run, wanted.number)
    };
    by_front(caller, work).await
}

/// Changes something in a repo's runs, as whoever speaks for its team.
async fn by_front(
    caller: Caller,
    work: impl FnOnce(&mut Tx<'_>, &str) -> Result<()> + Send + 'static,
) -> Answer {
    if !Duty::Front.is_of(caller.agent.role) {
        return Err(Refused(Refusal::RestrictedAction));
    }
    caller.write(move |tx, agent| work(tx, &agent.repo)).await?;
    done()
}
