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
    extract::{DefaultBodyLimit, FromRequestParts, Path, Query},
    http::request::Parts,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use butler_protocol::{
    Activity, ActivityState, ChannelId, DecisionView, Entry, PlanSummary, PullNews, RecordBatch,
    RequestId, Reservation, ReserveAnswer, Role, Settlement, Sha256Hex, StampKind, ThreadId,
    ThreadSummary, fault,
};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use crate::{
    budget,
    error::{Answer, Refusal, Refused, Result, Trouble, done, refuse},
    hub::App,
    identity::{Agent, Fence, Identity},
    log::{self, Happening, Notice, processes::holders},
    metrics::traces,
    presence::{self, activity},
    store::{Db, Tx, cold, params},
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
    pub(crate) app: Arc<App>,
    pub(crate) agent: Agent,
    pub(crate) fence: Option<Fence>,
}

impl Caller {
    /// Looks something up, also for a process that was replaced.
    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Db, &Agent) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let agent = self.agent.clone();
        self.app.read(move |db| look(db, &agent)).await
    }

    /// The same in a channel that the caller may use.
    pub(crate) async fn read_in<T: Send + 'static>(
        &self,
        channel: &ChannelId,
        look: impl FnOnce(&Db) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let channel = channel.clone();
        self.look(move |db, agent| {
            agent.may_use(db, &channel)?;
            look(db)
        })
        .await
    }

    /// Looks something up, unless a newer process has replaced the caller.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Db, &Agent) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let fence = self.fence.clone();
        self.look(move |db, agent| {
            agent.check_fence(db, fence.as_ref())?;
            look(db, agent)
        })
        .await
    }

    /// Changes something, unless a newer process has replaced the caller.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>, &Agent) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (agent, fence) = (self.agent.clone(), self.fence.clone());
        let work = move |tx: &mut Tx<'_>| {
            agent.check_fence(tx.db(), fence.as_ref())?;
            work(tx, &agent)
        };
        self.app.write(work).await
    }

    /// The same in a channel that the caller may use.
    pub(crate) async fn write_in<T: Send + 'static>(
        &self,
        channel: &ChannelId,
        work: impl FnOnce(&mut Tx<'_>, &Agent) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let channel = channel.clone();
        self.write(move |tx, agent| {
            agent.may_use(tx.db(), &channel)?;
            work(tx, agent)
        })
        .await
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
                app: Arc::clone(app),
                agent,
                fence: web_api::fence_of(&parts.headers),
            }),
            _ => Err(Refused(Refusal::InvalidAuth)),
        }
    }
}

async fn note_activity(caller: Caller, Json(mut activity): Json<Activity>) -> Answer {
    if let Some(step) = &mut activity.step {
        gate::clean_text(&caller.app.redactor, step);
    }
    let channel = activity.thread.channel.clone();
    let work = move |tx: &mut Tx<'_>, agent: &Agent| {
        fault("hub.before-activity");
        if activity.state == ActivityState::Working {
            holders::touch(tx.db(), agent.key, &activity.thread)?;
        }
        let changed = activity::note(tx.db(), agent.role, &activity, tx.db().now_ms())?;
        fault("hub.after-activity");
        if !changed {
            tx.say(Notice::Page(activity.thread));
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
        log::append(tx, does).map(drop)
    };
    caller.write_in(&channel, work).await?;
    done()
}

async fn reserve(
    caller: Caller,
    Json(wanted): Json<Reservation>,
) -> Result<Json<ReserveAnswer>, Refused> {
    let (app, repo) = (Arc::clone(&caller.app), caller.agent.repo.clone());
    let (caps, limits) = (app.rules.caps.clone(), app.rules.limits.clone());
    let channel = wanted.thread.channel.clone();
    let work = move |tx: &mut Tx<'_>, agent: &Agent| {
        let (db, allowed) = (tx.db(), (&caps, &limits));
        let answer = budget::reserve(db, &agent.repo, agent.role, &wanted, allowed, db.now_ms())?;
        tx.say(Notice::Page(wanted.thread));
        Ok(answer)
    };
    let answer = caller.write_in(&channel, work).await?;
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

async fn settle(Caller { app, agent, .. }: Caller, Json(settlement): Json<Settlement>) -> Answer {
    let work = move |tx: &mut Tx<'_>| {
        // A settlement of an older process is still true: the money is spent.
        let thread = budget::settle(tx.db(), &agent.repo, &settlement)?;
        tx.say(Notice::Page(thread));
        Ok(())
    };
    app.write(work).await?;
    done()
}

async fn records(caller: Caller, Json(batch): Json<RecordBatch>) -> Answer {
    let app = Arc::clone(&caller.app);
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
        let held = move |tx: &mut Tx<'_>| {
            let fence = caller.fence.as_ref();
            let held = record_log::held(tx.db(), &caller.agent, &thread, fence, batch.end)?;
            Ok(json!(held))
        };
        return Ok(Json(app.write(held).await?));
    }
    let work = move |tx: &mut Tx<'_>, agent: &Agent| {
        cold::unpack(tx.db(), &thread)?;
        let mut insert = tx.db().prepare_cached(
            "INSERT OR IGNORE INTO records (channel, root, role, seq, entry)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        fault("hub.before-records");
        // What is told again is no news.
        let mut new = Vec::new();
        for (entry, line) in lines {
            match insert.execute(params![thread, agent.role, entry.seq, line])? {
                0 => record_log::same(tx.db(), agent.role, &thread, &entry)?,
                _ => new.push(entry),
            }
        }
        fault("hub.after-records");
        tx.say(Notice::Page(thread));
        Ok(new)
    };
    let new = caller.write_in(&traced.channel, work).await?;
    app.watched.counters.records(&repo, role.as_str(), &new);
    trace(&app, traced, (&repo, role), &new).await?;
    done()
}

/// Gives new lines of a log to whoever collects traces.
async fn trace(
    app: &App,
    thread: ThreadId,
    (repo, role): (&str, Role),
    new: &[Entry],
) -> Result<()> {
    let mut earlier = Vec::new();
    if app.watched.traces.misses(&thread, role, new) {
        let (of, before) = (thread.clone(), new.first().map_or(0, |entry| entry.seq));
        let look = move |db: &Db| traces::earlier(db, &of, role, before);
        earlier = app.read(look).await?;
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
    caller: Caller,
    Path((channel, root)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Refused> {
    let Ok(thread) = format!("{channel}/{root}").parse::<ThreadId>() else {
        return Err(Trouble::Refused(Refusal::ThreadNotFound).into());
    };
    let look = move |db: &Db, agent: &Agent| {
        agent.may_use(db, &thread.channel)?;
        let kinds = wanted.kinds.split(',').filter(|kind| !kind.is_empty());
        threads::logs(db, &thread, &kinds.collect::<Vec<_>>())
    };
    let lines = caller.look(look).await?;
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
    caller: Caller,
    Query(wanted): Query<WantedPlans>,
) -> Result<Json<Vec<PlanSummary>>, Refused> {
    let look = move |db: &Db, agent: &Agent| match wanted.thread.as_deref().map(str::parse) {
        Some(Ok(thread)) => threads::plans_of(db, &agent.repo, &thread),
        Some(Err(_)) => refuse(Refusal::ThreadNotFound),
        None => threads::plans(db, &agent.repo),
    };
    Ok(Json(caller.look(look).await?))
}

async fn threads_of_repo(caller: Caller) -> Result<Json<Vec<ThreadSummary>>, Refused> {
    let look = |db: &Db, agent: &Agent| {
        let mut found = Vec::new();
        for channel in channels::of_repo(db, &agent.repo)? {
            found.extend(board::threads(db, Some(&channel), db.now_ms())?);
        }
        Ok(found.into_iter().map(board::ThreadCard::summary).collect())
    };
    Ok(Json(caller.look(look).await?))
}

async fn pulls(caller: Caller) -> Result<Json<Vec<PullNews>>, Refused> {
    let look = |db: &Db, agent: &Agent| pulls::to_watch(db, &agent.repo);
    Ok(Json(caller.look(look).await?))
}

async fn pull(caller: Caller, Json(mut news): Json<PullNews>) -> Answer {
    let app = Arc::clone(&caller.app);
    let texts = [&mut news.title, &mut news.body];
    for text in texts.into_iter().chain(&mut news.diff) {
        gate::clean_text(&app.redactor, text);
    }
    let (repo, thread) = (caller.agent.repo.clone(), news.thread.clone());
    let number = news.number.0;
    let work = move |tx: &mut Tx<'_>, agent: &Agent| {
        let is_merged = pulls::note(tx.db(), &agent.repo, &news)?;
        tx.say(Notice::Page(news.thread));
        Ok(is_merged)
    };
    if caller.write_in(&thread.channel, work).await? {
        let now = app.store.now_ms();
        app.watched.traces.merged(&thread, &repo, number, now);
    }
    done()
}

async fn decision(
    caller: Caller,
    Path(request): Path<RequestId>,
) -> Result<Json<DecisionView>, Refused> {
    let look = move |db: &Db, agent: &Agent| decide::view(db, &agent.repo, &request);
    let view = caller.look(look).await?;
    view.map(Json).ok_or(Refused(Refusal::UnknownRequest))
}

async fn put_body(caller: Caller, Path(hash): Path<String>, body: Bytes) -> Answer {
    if Sha256Hex::of(&body).as_str() != hash {
        return Err(Refused(Refusal::HashMismatch));
    }
    let work = move |tx: &mut Tx<'_>, agent: &Agent| {
        fault("hub.before-body");
        tx.db().execute(
            "INSERT OR IGNORE INTO bodies (repo, sha256, bytes) VALUES (?1, ?2, ?3)",
            params![agent.repo, hash, body.as_ref()],
        )?;
        fault("hub.after-body");
        Ok(())
    };
    caller.write(work).await?;
    done()
}

async fn get_body(caller: Caller, Path(hash): Path<String>) -> Result<Response, Refused> {
    let look = move |db: &Db, agent: &Agent| body(db, &agent.repo, &hash);
    let bytes = caller.look(look).await?;
    Ok(([("content-type", "application/octet-stream")], bytes).into_response())
}

/// The body that a repo's agents put under this hash.
pub(crate) fn body(db: &Db, repo: &str, hash: &str) -> Result<Vec<u8>> {
    let sql = "SELECT bytes FROM bodies WHERE repo = ?1 AND sha256 = ?2";
    let found = db.first(sql, [repo, hash])?;
    found.ok_or(Trouble::Refused(Refusal::UnknownBody))
}
