//! `/agent/v1/…`: what agents say to the hub where Slack has no words. Bot token
//! and epoch on every call; every call is idempotent by the id in it.

pub(crate) mod joining;
pub(crate) mod live_log;
mod memory;
mod record_log;
mod runs;
pub(crate) mod webhooks;

use std::sync::Arc;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequestParts, Path, Query, State},
    http::request::Parts,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use butler_protocol::{
    Activity, ActivityState, DecisionView, Entry, PlanSummary, PullNews, RecordBatch, RequestId,
    Reservation, ReserveAnswer, Role, Settlement, Sha256Hex, StampKind, ThreadId, ThreadSummary,
    fault,
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    budget,
    error::{Refusal, Refused, Trouble, refuse},
    hub::app::App,
    identity::{Agent, Fence, Identity},
    log::{self, Happening, notice::Notice, processes::holders},
    metrics::traces,
    presence::{self, activity},
    store::{
        cold,
        db::Db,
        sql::{OptionalExtension, params},
        tx::Tx,
    },
    views::{board, pulls, threads},
    web_api,
    workspace::{channels, decide, gate},
};

/// The most that a body or a batch of records may hold.
const BODY_LIMIT: usize = 16 * 1024 * 1024;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/agent/v1/activity", post(note_activity))
        .route("/agent/v1/reserve", post(reserve))
        .route("/agent/v1/settle", post(settle))
        .route("/agent/v1/records", post(records))
        .route("/agent/v1/records/{channel}/{root}", get(logs))
        .route("/agent/v1/plans", get(plans))
        .route("/agent/v1/threads", get(threads_of_repo))
        .route("/agent/v1/pulls", get(pulls).post(pull))
        .route("/agent/v1/decisions/{request}", get(decision))
        .route("/agent/v1/bodies/{hash}", get(get_body).put(put_body))
        .merge(joining::routes())
        .merge(memory::routes())
        .merge(runs::routes())
        .merge(presence::servers::routes())
        .merge(presence::facts::routes())
        .merge(presence::live_work::routes())
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
}

/// An agent that has shown its token.
pub(crate) struct Caller {
    agent: Agent,
    fence: Option<Fence>,
}

impl Caller {
    /// Who calls, by the token.
    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// In which role.
    pub(crate) fn role(&self) -> Role {
        self.agent.role
    }
}

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refused> {
        let Some(token) = web_api::bearer(&parts.headers) else {
            return Err(Refused(Refusal::NotAuthed));
        };
        match app.identify(&token).await? {
            Some(Identity::Bot(agent)) => Ok(Self {
                agent,
                fence: web_api::fence_of(&parts.headers),
            }),
            _ => Err(Refused(Refusal::InvalidAuth)),
        }
    }
}

async fn note_activity(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(mut activity): Json<Activity>,
) -> Result<Json<Value>, Refused> {
    if let Some(step) = &mut activity.step {
        gate::clean_text(&app.redactor, step);
    }
    app.store
        .write(move |tx| {
            let agent = &caller.agent;
            agent.check_fence(tx.db(), caller.fence.as_ref())?;
            agent.may_use(tx.db(), &activity.thread.channel)?;
            fault("hub.before-activity");
            if activity.state == ActivityState::Working {
                holders::touch(tx.db(), agent.key, &activity.thread)?;
            }
            let changed = activity::note(tx.db(), agent.role, &activity, tx.db().now_ms())?;
            fault("hub.after-activity");
            if !changed {
                tx.say(Notice::Page {
                    channel: activity.thread.channel,
                    root: activity.thread.root,
                });
                return Ok(());
            }
            let body = json!({"type": "activity", "role": agent.role,
                "state": activity.state, "step": activity.step});
            let does = Happening {
                stamp: StampKind::Activity,
                // The stamp of later events says it; nobody else needs it.
                delivered: false,
                ..Happening::new(activity.thread, Some(agent.role), body)
            };
            log::append(tx, does)?;
            Ok(())
        })
        .await?;
    Ok(Json(json!({"ok": true})))
}

async fn reserve(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(wanted): Json<Reservation>,
) -> Result<Json<ReserveAnswer>, Refused> {
    let (caps, limits) = (app.rules.caps.clone(), app.rules.limits.clone());
    let repo = caller.agent.repo.clone();
    let answer = app
        .store
        .write(move |tx| {
            let agent = &caller.agent;
            agent.check_fence(tx.db(), caller.fence.as_ref())?;
            agent.may_use(tx.db(), &wanted.thread.channel)?;
            let answer = budget::reserve(
                tx.db(),
                &agent.repo,
                agent.role,
                &wanted,
                (&caps, &limits),
                tx.db().now_ms(),
            )?;
            tx.say(Notice::Page {
                channel: wanted.thread.channel,
                root: wanted.thread.root,
            });
            Ok(answer)
        })
        .await?;
    let limit = match &answer {
        ReserveAnswer::Refused(refusal) => Some(refusal.budget.clone()),
        ReserveAnswer::Later(limit) => Some(format!("calls of {}", limit.whose)),
        ReserveAnswer::Granted { .. } => None,
    };
    if let Some(limit) = limit {
        app.watched.counters.refused(&repo, &limit);
    }
    Ok(Json(answer))
}

async fn settle(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(settlement): Json<Settlement>,
) -> Result<Json<Value>, Refused> {
    app.store
        .write(move |tx| {
            // A settlement of an older process is still true: the money is spent.
            let thread = budget::settle(tx.db(), &caller.agent.repo, &settlement)?;
            if let Some(thread) = thread {
                tx.say(Notice::Page {
                    channel: thread.channel,
                    root: thread.root,
                });
            }
            Ok(())
        })
        .await?;
    Ok(Json(json!({"ok": true})))
}

async fn records(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(batch): Json<RecordBatch>,
) -> Result<Json<Value>, Refused> {
    let mut lines = Vec::with_capacity(batch.entries.len());
    for entry in batch.entries {
        let mut line = serde_json::to_value(&entry).map_err(Trouble::Json)?;
        gate::clean_value(&app.redactor, &mut line["record"]);
        lines.push((entry, line.to_string()));
    }
    let thread = batch.thread;
    let traced = thread.clone();
    let (repo, role) = (caller.agent.repo.clone(), caller.agent.role);
    if lines.is_empty() {
        let (fence, end) = (caller.fence.clone(), batch.end);
        let held = move |tx: &mut Tx<'_>| {
            let held = record_log::held(tx.db(), &caller.agent, &thread, fence.as_ref(), end)?;
            Ok(json!(held))
        };
        return Ok(Json(app.store.write(held).await?));
    }
    let new = app
        .store
        .write(move |tx| {
            let agent = &caller.agent;
            agent.check_fence(tx.db(), caller.fence.as_ref())?;
            agent.may_use(tx.db(), &thread.channel)?;
            cold::unpack(tx.db(), &thread)?;
            let mut insert = tx.db().prepare_cached(
                "INSERT OR IGNORE INTO records (channel, root, role, seq, entry)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            fault("hub.before-records");
            // What is told again is no news.
            let mut new = Vec::new();
            for (entry, line) in lines {
                let written = insert.execute(params![
                    thread.channel.as_str(),
                    thread.root.as_str(),
                    agent.role.as_str(),
                    i64::try_from(entry.seq).unwrap_or(i64::MAX),
                    line
                ])?;
                match written {
                    0 => record_log::same(tx.db(), agent.role, &thread, &entry)?,
                    _ => new.push(entry),
                }
            }
            fault("hub.after-records");
            tx.say(Notice::Page {
                channel: thread.channel,
                root: thread.root,
            });
            Ok(new)
        })
        .await?;
    app.watched.counters.records(&repo, role.as_str(), &new);
    trace(&app, traced, (&repo, role), &new).await?;
    Ok(Json(json!({"ok": true})))
}

/// Gives new lines of a log to whoever collects traces.
async fn trace(
    app: &App,
    thread: ThreadId,
    (repo, role): (&str, Role),
    new: &[Entry],
) -> Result<(), Trouble> {
    let mut earlier = Vec::new();
    if app.watched.traces.misses(&thread, role, new) {
        let (of, before) = (thread.clone(), new.first().map_or(0, |entry| entry.seq));
        let look = move |db: &Db| traces::earlier(db, &of, role, before);
        earlier = app.store.read(look).await?;
    }
    app.watched
        .traces
        .records(&thread, (repo, role), &earlier, new);
    Ok(())
}

/// Which lines are wanted.
#[derive(Deserialize)]
struct Wanted {
    #[serde(default)]
    kinds: String,
}

async fn logs(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((channel, root)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Refused> {
    let Ok(thread) = format!("{channel}/{root}").parse::<ThreadId>() else {
        return Err(Trouble::Refused(Refusal::ThreadNotFound).into());
    };
    let lines = app
        .store
        .read(move |db| {
            caller.agent.may_use(db, &thread.channel)?;
            let kinds = wanted.kinds.split(',').filter(|kind| !kind.is_empty());
            threads::logs(db, &thread, &kinds.collect::<Vec<_>>())
        })
        .await?;
    let line = |(role, entry): &(String, Box<RawValue>)| {
        format!("{{\"role\":\"{role}\",\"entry\":{}}}", entry.get())
    };
    let lines: Vec<String> = lines.iter().map(line).collect();
    let body = format!("[{}]", lines.join(","));
    Ok(([("content-type", "application/json")], body).into_response())
}

/// Whose plans are wanted; without a thread the newest of all.
#[derive(Deserialize)]
struct WantedPlans {
    thread: Option<String>,
}

async fn plans(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(wanted): Query<WantedPlans>,
) -> Result<Json<Vec<PlanSummary>>, Refused> {
    let repo = caller.agent.repo;
    let look = move |db: &Db| match wanted.thread.as_deref().map(str::parse) {
        Some(Ok(thread)) => threads::plans_of(db, &repo, &thread),
        Some(Err(_)) => refuse(Refusal::ThreadNotFound),
        None => threads::plans(db, &repo),
    };
    Ok(Json(app.store.read(look).await?))
}

async fn threads_of_repo(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<Vec<ThreadSummary>>, Refused> {
    let repo = caller.agent.repo;
    let look = app.store.read(move |db| {
        let mut found = Vec::new();
        for channel in channels::of_repo(db, &repo)? {
            found.extend(board::threads(db, Some(&channel), db.now_ms())?);
        }
        Ok(found.into_iter().map(board::ThreadCard::summary).collect())
    });
    Ok(Json(look.await?))
}

async fn pulls(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<Vec<PullNews>>, Refused> {
    let repo = caller.agent.repo;
    let found = app.store.read(move |db| pulls::to_watch(db, &repo)).await?;
    Ok(Json(found))
}

async fn pull(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(mut news): Json<PullNews>,
) -> Result<Json<Value>, Refused> {
    let texts = [&mut news.title, &mut news.body];
    for text in texts.into_iter().chain(&mut news.diff) {
        gate::clean_text(&app.redactor, text);
    }
    let (repo, thread) = (caller.agent.repo.clone(), news.thread.clone());
    let number = news.number.0;
    let is_merged = app
        .store
        .write(move |tx| {
            let agent = &caller.agent;
            agent.check_fence(tx.db(), caller.fence.as_ref())?;
            agent.may_use(tx.db(), &news.thread.channel)?;
            let is_merged = pulls::note(tx.db(), &agent.repo, &news)?;
            tx.say(Notice::Page {
                channel: news.thread.channel,
                root: news.thread.root,
            });
            Ok(is_merged)
        })
        .await?;
    if is_merged {
        let now = app.store.now_ms();
        app.watched.traces.merged(&thread, &repo, number, now);
    }
    Ok(Json(json!({"ok": true})))
}

async fn decision(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(request): Path<String>,
) -> Result<Json<DecisionView>, Refused> {
    let view = app
        .store
        .read(move |db| decide::view(db, &caller.agent.repo, &RequestId::new(request)))
        .await?;
    view.map(Json).ok_or(Refused(Refusal::UnknownRequest))
}

async fn put_body(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(hash): Path<String>,
    body: Bytes,
) -> Result<Json<Value>, Refused> {
    if Sha256Hex::of(&body).as_str() != hash {
        return Err(Refused(Refusal::HashMismatch));
    }
    app.store
        .write(move |tx| {
            caller.agent.check_fence(tx.db(), caller.fence.as_ref())?;
            fault("hub.before-body");
            tx.db().execute(
                "INSERT OR IGNORE INTO bodies (repo, sha256, bytes) VALUES (?1, ?2, ?3)",
                params![caller.agent.repo, hash, body.as_ref()],
            )?;
            fault("hub.after-body");
            Ok(())
        })
        .await?;
    Ok(Json(json!({"ok": true})))
}

async fn get_body(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(hash): Path<String>,
) -> Result<Response, Refused> {
    let bytes = app
        .store
        .read(move |db| body(db, &caller.agent.repo, &hash))
        .await?;
    Ok(([("content-type", "application/octet-stream")], bytes).into_response())
}

/// The body that a repo's agents put under this hash.
pub(crate) fn body(db: &Db, repo: &str, hash: &str) -> Result<Vec<u8>, Trouble> {
    let found: Option<Vec<u8>> = db
        .prepare_cached("SELECT bytes FROM bodies WHERE repo = ?1 AND sha256 = ?2")?
        .query_row(params![repo, hash], |row| row.get(0))
        .optional()?;
    match found {
        Some(bytes) => Ok(bytes),
        None => refuse(Refusal::UnknownBody),
    }
}
