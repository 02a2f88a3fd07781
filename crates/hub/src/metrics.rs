//! `/metrics` in Prometheus' text form: what is counted as it happens, and how things
//! stand now. `packaging/monitoring` has a dashboard and alerts for it, docs/operations.md
//! says what to do about each of them.

pub(crate) mod counters;
mod exposition;
mod gauges;
pub(crate) mod traces;

use std::{sync::Arc, time::Duration};

use axum::{
    extract,
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use butler_protocol::Sha256Hex;
use tokio::time::timeout;

use self::exposition::{Kind, Page};
use crate::{
    error::{Refused, Trouble},
    hub::App,
    relay::hearing::State,
    web_api,
};

/// How long the store may take to write a line.
const WRITING: Duration = Duration::from_secs(8);
/// How long it may take to be read. Together they are less than the ten seconds that
/// Prometheus waits unless it is told otherwise.
const READING: Duration = Duration::from_secs(8);
const READING_ALONE: Duration = Duration::from_secs(1);
const TEXT_FORM: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Who may read them: whoever has the operator's token. Without one, whoever reaches a hub
/// that only this machine can reach.
fn may_read(app: &App, headers: &HeaderMap) -> bool {
    match &app.operation.metrics_token {
        // By their hashes, so that the time it takes says nothing about the token.
        Some(token) => web_api::bearer(headers)
            .is_some_and(|given| Sha256Hex::of(given) == Sha256Hex::of(token.expose())),
        None => app.reached.only_here,
    }
}

pub(crate) async fn handle(
    extract::State(app): extract::State<Arc<App>>,
    headers: HeaderMap,
) -> Response {
    if !may_read(&app, &headers) {
        let why = "metrics need `hub.metricsToken` of the machine config as a bearer token\n";
        return (StatusCode::UNAUTHORIZED, why).into_response();
    }
    let mut page = Page::default();
    let build = "codebutler_build_info";
    page.family(build, Kind::Gauge, "The version of the hub");
    page.sample(build, &[("version", &app.version)], 1.0);
    let does_write = !app.sockets.cut_off.is_on() && writes(&app).await;
    let writes = f64::from(u8::from(does_write));
    let help = "Whether the store takes and keeps what is written";
    page.single("codebutler_store_writable", Kind::Gauge, help, writes);
    if let Some(slack) = app.slack() {
        let heard = f64::from(u8::from(slack.state == State::Connected));
        let help = "Whether what people say in Slack arrives";
        page.single("codebutler_slack_heard", Kind::Gauge, help, heard);
    }
    if let Some(bytes) = resident_bytes() {
        let help = "Memory of the hub's process";
        page.single("process_resident_memory_bytes", Kind::Gauge, help, bytes);
    }
    app.watched.counters.render(&mut page);
    let beside = app.beside();
    let looked = app.read(move |db| {
        let mut page = Page::default();
        gauges::render(db, &beside, &mut page)?;
        Ok(page.text())
    });
    let patience = if does_write { READING } else { READING_ALONE };
    let looked = timeout(patience, looked).await;
    match looked.unwrap_or(Err(Trouble::Closed)) {
        Ok(rest) => {
            let text = page.text() + &rest;
            ([(CONTENT_TYPE, TEXT_FORM)], text).into_response()
        }
        // What is known without the store is worth more than an error: an alert rests on it.
        Err(error) if !does_write => {
            tracing::warn!(%error, "the store cannot be read for a scrape");
            ([(CONTENT_TYPE, TEXT_FORM)], page.text()).into_response()
        }
        Err(error) => Refused::from(error).into_response(),
    }
}

/// Whether a line can be written to the store: a disk that is full, a file that somebody
/// else holds and a thread that is gone all show here.
async fn writes(app: &App) -> bool {
    let line = app.write(|tx| {
        let now = tx.db().now_ms().to_string();
        Ok(tx.db().set_own_value("scraped", &now)?)
    });
    matches!(timeout(WRITING, line).await, Ok(Ok(())))
}

/// Where the kernel tells it.
fn resident_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024.0)
}
