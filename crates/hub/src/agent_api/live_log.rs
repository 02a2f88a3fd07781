//! The team's live log: the newest lines of every process, in memory only.
//! Agents bring theirs (`POST /agent/v1/log`), people look
//! (`GET /v1/log`, JSON or, when asked for, server-sent events). The record is
//! in each process's own files.

use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Query},
    http::{HeaderMap, header::ACCEPT},
    response::{
        IntoResponse, Response,
        sse::{Event as SseEvent, KeepAlive, Sse},
    },
    routing::{get, post},
};
use butler_protocol::{LogBatch, LogLevel, LogLine};
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::{
    agent_api::Caller,
    error::{Answer, Refused, done, well},
    hub::App,
    person_api::{
        Somebody,
        live::{heard, session_ended},
    },
    workspace::gate,
};

/// Lines that are kept.
const KEPT: usize = 2_000;
/// A reader that lags further behind is told to look again.
const BEHIND: usize = 512;
/// Lines of one answer unless more are asked for.
const SHOWN: usize = 200;
const BATCH_LIMIT: usize = 1024 * 1024;

/// A line with its number; numbers only grow while the hub runs.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Numbered {
    seq: u64,
    #[serde(flatten)]
    line: LogLine,
}

/// The newest lines.
#[derive(Debug)]
pub(crate) struct LiveLog {
    lines: Mutex<VecDeque<Arc<Numbered>>>,
    news: broadcast::Sender<Arc<Numbered>>,
}

impl Default for LiveLog {
    fn default() -> Self {
        Self {
            lines: Mutex::default(),
            news: broadcast::channel(BEHIND).0,
        }
    }
}

impl LiveLog {
    /// Adds a line; the oldest goes when there are too many.
    pub(crate) fn add(&self, line: LogLine) {
        let numbered = {
            let mut lines = self.lines();
            let seq = lines.back().map_or(1, |last| last.seq + 1);
            let numbered = Arc::new(Numbered { seq, line });
            if lines.len() >= KEPT {
                lines.pop_front();
            }
            lines.push_back(Arc::clone(&numbered));
            numbered
        };
        // Nobody may be watching.
        let _ = self.news.send(numbered);
    }

    fn lines(&self) -> MutexGuard<'_, VecDeque<Arc<Numbered>>> {
        // Whole lines only are put behind this lock.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest that a reader wants, oldest first.
    fn newest(&self, wanted: &Wanted) -> Vec<Arc<Numbered>> {
        let lines = self.lines();
        let fitting = lines.iter().rev().filter(|line| wanted.fits(line));
        let mut found: Vec<_> = fitting
            .take(wanted.limit.unwrap_or(SHOWN).min(KEPT))
            .cloned()
            .collect();
        found.reverse();
        found
    }
}

pub(crate) fn agent_routes() -> Router<Arc<App>> {
    Router::new()
        .route("/agent/v1/log", post(take))
        .layer(DefaultBodyLimit::max(BATCH_LIMIT))
}

pub(crate) fn person_routes() -> Router<Arc<App>> {
    Router::new().route("/v1/log", get(show))
}

/// An agent's lines. Whose they are is known from the token, whatever they say.
async fn take(Caller { app, agent, .. }: Caller, Json(batch): Json<LogBatch>) -> Answer {
    for mut line in batch.lines {
        line.role = Some(agent.role);
        line.process = agent.role.to_string();
        gate::clean_text(&app.redactor, &mut line.message);
        for value in line.fields.values_mut() {
            if let Value::String(text) = value {
                gate::clean_text(&app.redactor, text);
            }
        }
        app.presence.facts.note_line(agent.key, &line);
        app.watched.live_log.add(line);
    }
    done()
}

/// What a reader wants to see.
#[derive(Debug, Clone, Default, Deserialize)]
struct Wanted {
    /// A process: a role's name, or `hub`.
    role: Option<String>,
    /// This level and worse.
    level: Option<LogLevel>,
    /// Only what is newer.
    after: Option<u64>,
    limit: Option<usize>,
}

impl Wanted {
    fn fits(&self, line: &Numbered) -> bool {
        let role = self.role.as_deref().filter(|role| !role.is_empty());
        role.is_none_or(|role| role == line.line.process)
            && self.level.is_none_or(|level| line.line.level <= level)
            && self.after.is_none_or(|after| line.seq > after)
    }
}

async fn show(
    Somebody { app, person }: Somebody,
    Query(mut wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let ended = session_ended(Arc::clone(&app), headers.clone(), person.id);
    if let Some(last) = header("last-event-id").and_then(|id| id.parse().ok()) {
        wanted.after = Some(last);
    }
    if header(ACCEPT.as_str()).is_some_and(|kinds| kinds.contains("text/event-stream")) {
        return Ok(live(&app, wanted, ended));
    }
    let lines = app.watched.live_log.newest(&wanted);
    let lines: Vec<&Numbered> = lines.iter().map(AsRef::as_ref).collect();
    Ok(well(json!({"lines": lines}))?.into_response())
}

/// What there is, then what comes, as events called `line`.
fn live(
    app: &Arc<App>,
    wanted: Wanted,
    ended: impl Future<Output = ()> + Send + 'static,
) -> Response {
    // Listening comes first: nothing falls between the two.
    let news = app.watched.live_log.news.subscribe();
    let old = app.watched.live_log.newest(&wanted);
    let seen = old
        .last()
        .map_or(wanted.after.unwrap_or(0), |line| line.seq);
    let new = heard(news, app.cancel.clone(), move |line: &Arc<Numbered>| {
        (line.seq > seen && wanted.fits(line)).then(|| told(line))
    });
    let old: Vec<SseEvent> = old.iter().map(|line| told(line)).collect();
    let all = futures_util::stream::iter(old).chain(new).take_until(ended);
    Sse::new(all.map(Ok::<_, Infallible>))
        .keep_alive(KeepAlive::default())
        .into_response()
}

fn told(line: &Numbered) -> SseEvent {
    let data = serde_json::to_string(line).unwrap_or_default();
    SseEvent::default()
        .id(line.seq.to_string())
        .event("line")
        .data(data)
}
