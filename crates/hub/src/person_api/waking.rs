//! `POST /v1/waking`: which sleeping teams have something to do, and since when the others
//! have had nothing. Whoever starts teams on demand asks it again and again; while there
//! is nothing to say the answer waits, so that an idle company costs nothing.

use std::{collections::HashSet, sync::Arc, time::Duration};

use axum::{Json, Router, routing::post};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{
    sync::broadcast::error::RecvError,
    time::{Instant, timeout_at},
};

use crate::{
    error::{Answer, Result, well},
    hub::App,
    log::{AgentKey, Notice},
    person_api::Somebody,
    store::{Db, params},
};

/// How long an answer waits for something to happen.
const LONGEST: Duration = Duration::from_secs(20);
/// A role that waits for another one's answer has a deadline within this time, and must
/// be there then; one that waits for a person has none, and is woken by the person.
const ANSWERS_MS: i64 = 60 * 60 * 1000;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/v1/waking", post(waking))
}

/// The teams that the caller can start or end, by repo.
#[derive(Debug, Default, Deserialize)]
struct Teams {
    #[serde(default)]
    asleep: HashSet<String>,
    #[serde(default)]
    awake: HashSet<String>,
    /// How long to wait at most, in milliseconds.
    wait_ms: Option<u64>,
}

/// A team that runs and has nothing to do.
#[derive(Debug, Serialize)]
struct Quiet {
    repo: String,
    since_ms: i64,
}

async fn waking(Somebody { app, .. }: Somebody, Json(teams): Json<Teams>) -> Answer {
    // Heard before read: what comes between the two is found twice, not never.
    let mut news = app.notices.subscribe();
    let wait = teams.wait_ms.map_or(LONGEST, Duration::from_millis);
    let until = Instant::now() + wait.min(LONGEST);
    let teams = Arc::new(teams);
    loop {
        let (online, asked) = (app.presence.online(), Arc::clone(&teams));
        let wake = app
            .read(move |db| waiting(db, &asked.asleep, &online))
            .await?;
        if !wake.is_empty() || !something_happens(&app, &mut news, until).await {
            let asked = Arc::clone(&teams);
            let quiet = app.read(move |db| quiet(db, &asked.awake)).await?;
            let now_ms = app.store.now_ms();
            return well(json!({"wake": wake, "quiet": quiet, "now_ms": now_ms}));
        }
    }
}

/// Whether an event was logged before the time is up.
async fn something_happens(
    app: &App,
    news: &mut tokio::sync::broadcast::Receiver<Arc<Notice>>,
    until: Instant,
) -> bool {
    loop {
        let heard = tokio::select! {
            () = app.cancel.cancelled() => return false,
            heard = timeout_at(until, news.recv()) => heard,
        };
        match heard {
            Err(_) | Ok(Err(RecvError::Closed)) => return false,
            Ok(Err(RecvError::Lagged(_))) => return true,
            Ok(Ok(notice)) => {
                if matches!(&*notice, Notice::Event(event) if !event.targets.is_empty()) {
                    return true;
                }
            }
        }
    }
}

/// The sleeping teams for whom something waits.
fn waiting(db: &Db, asleep: &HashSet<String>, online: &HashSet<AgentKey>) -> Result<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    for (agent, repo) in db.rows::<(_, String)>(
        "SELECT id, repo FROM agents WHERE EXISTS
           (SELECT 1 FROM deliveries WHERE agent = agents.id) ORDER BY repo",
        [],
    )? {
        if asleep.contains(&repo) && !online.contains(&agent) && found.last() != Some(&repo) {
            found.push(repo);
        }
    }
    Ok(found)
}

/// Those that have nothing to do: nothing waits, nobody works or must be there soon, and
/// no run over the roadmap goes on.
fn quiet(db: &Db, awake: &HashSet<String>) -> Result<Vec<Quiet>> {
    let mut quiet = Vec::new();
    for repo in awake {
        let busy: bool = db.one(
            "SELECT EXISTS (SELECT 1 FROM deliveries JOIN agents ON agents.id = deliveries.agent
                   WHERE agents.repo = ?1)
                 OR EXISTS (SELECT 1 FROM runs WHERE repo = ?1 AND state = 'running')
                 OR EXISTS (SELECT 1 FROM activity JOIN channels ON channels.id = activity.channel
                   WHERE channels.repo = ?1 AND (
                     (state = 'working' AND ?2 - heard_ms <= lease_ms)
                     OR (state = 'parked' AND ?2 - since_ms < ?3)))",
            params![repo, db.now_ms(), ANSWERS_MS],
        )?;
        if busy {
            continue;
        }
        let call: Option<i64> = db.first(
            "SELECT at_ms FROM reservations WHERE repo = ?1 ORDER BY at_ms DESC LIMIT 1",
            [repo],
        )?;
        let heard: Option<i64> = db.one(
            "SELECT max(heard_ms) FROM activity JOIN channels ON channels.id = activity.channel
                 WHERE channels.repo = ?1",
            [repo],
        )?;
        quiet.push(Quiet {
            repo: repo.clone(),
            since_ms: call.max(heard).unwrap_or(0),
        });
    }
    Ok(quiet)
}
