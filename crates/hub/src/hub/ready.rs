//! `/healthz`: whether the hub lives. `/readyz`: whether it can do its work now, which is to
//! write to its store, hear Slack where people are there, and have a team to pass things on
//! to. Each is found out when it is asked, and said line by line.
//!
//! `/readyz/store` is the first of them alone, for balancers: agents come through the balancer,
//! so a hub that waits for its first one must be let through.

use std::{sync::Arc, time::Duration};

use axum::{extract::State, http::StatusCode};
use tokio::time::timeout;

use crate::{error::Result, hub::App, relay::hearing, store::Db};

/// How long a write may take before the store counts as one that does not write.
const WRITE: Duration = Duration::from_secs(5);

/// Whether the hub can serve, read its store and write to it, and hear Slack where
/// people are there.
pub(super) async fn health(State(app): State<Arc<App>>) -> (StatusCode, String) {
    if let Err(trouble) = app.store.check().await {
        return (StatusCode::SERVICE_UNAVAILABLE, format!("{trouble}\n"));
    }
    let Some(slack) = app.slack() else {
        return (StatusCode::OK, "ok\n".to_owned());
    };
    match (slack.state, slack.trouble()) {
        (hearing::State::Deaf, why) => {
            let why = why.unwrap_or_default();
            (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n"))
        }
        (_, Some(why)) => (StatusCode::OK, format!("ok\n{why}\n")),
        (_, None) => (StatusCode::OK, "ok\n".to_owned()),
    }
}

pub(super) async fn ready(State(app): State<Arc<App>>) -> (StatusCode, String) {
    let checks = [
        ("store", store(&app).await),
        ("slack", slack(&app)),
        ("agents", agents(&app).await),
    ];
    let ready = checks.iter().all(|(_, check)| check.is_ok());
    (status(ready), checks.iter().map(line).collect())
}

/// Whether a balancer may send somebody here.
pub(super) async fn for_balancer(State(app): State<Arc<App>>) -> (StatusCode, String) {
    let check = store(&app).await;
    let status = status(check.is_ok());
    (status, line(&("store", check)))
}

fn status(is_ready: bool) -> StatusCode {
    match is_ready {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn line((what, check): &(&str, Result<String, String>)) -> String {
    match check {
        Ok(well) => format!("{what}: ok, {well}\n"),
        Err(trouble) => format!("{what}: {trouble}\n"),
    }
}

/// A real write: a full disk or a database that is away is found out in no other way.
async fn store(app: &App) -> Result<String, String> {
    let write = app.write(|tx| {
        let now = tx.db().now_ms().to_string();
        Ok(tx.db().set_own_value("ready_ms", &now)?)
    });
    let wrote = timeout(WRITE, write).await;
    let why = "does not write; the hub's log says why";
    match (wrote, app.store.check().await) {
        (Ok(Ok(())), Ok(())) => Ok("writes".to_owned()),
        (_, Err(trouble)) => Err(trouble.to_owned()),
        _ => Err(why.to_owned()),
    }
}

fn slack(app: &App) -> Result<String, String> {
    let Some(slack) = app.slack() else {
        return Ok("not used".to_owned());
    };
    if !app.ownership.is_owner() {
        return Ok("another hub hears it".to_owned());
    }
    match (slack.state, slack.trouble()) {
        (hearing::State::Deaf, why) => Err(why.unwrap_or_default()),
        (_, why) => Ok(why.unwrap_or_else(|| "heard".to_owned())),
    }
}

/// A workspace without a team yet is ready for one.
async fn agents(app: &App) -> Result<String, String> {
    let count = |db: &Db| -> Result<i64> { Ok(db.one("SELECT count(*) FROM agents", [])?) };
    let known = app.read(count).await;
    let known = known.map_err(|_| "not known, the store cannot be read".to_owned())?;
    let there = app.presence.online().len();
    let counted = format!("{there} of {known} connected");
    match there == 0 && known > 0 {
        true => Err(counted),
        false => Ok(counted),
    }
}
