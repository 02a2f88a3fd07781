//! `/v1` for what the page shows beside the conversation: board, pull requests,
//! cost, and a thread's time line.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    routing::get,
};
use butler_protocol::{ChannelId, MessageTs, Right, ThreadId};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    budget,
    error::{Refused, Trouble},
    hub::app::App,
    identity::Person,
    person_api::guard::Somebody,
    relay::channel_requests,
    store::db::Db,
    views::{
        bill, board, company, needs,
        overview::{self, Window},
        pulls, reads, search, timeline,
    },
    workspace::{access, channels, message, read, runs},
};

type Answer = Result<Json<Value>, Refused>;
type Thread = Path<(ChannelId, MessageTs)>;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/needs", get(needs))
        .route("/v1/unread", get(unread))
        .route("/v1/search", get(search))
        .route("/v1/board", get(threads))
        .route("/v1/runs", get(all_runs))
        .route("/v1/pulls", get(all_pulls))
        .route("/v1/cost", get(cost))
        .route("/v1/company", get(company))
        .route("/v1/slack", get(slack))
        .route("/v1/threads/{channel}/{ts}/timeline", get(timeline))
        .route("/v1/threads/{channel}/{ts}/pull", get(pull))
        .route("/v1/threads/{channel}/{ts}/cost", get(thread_cost))
}

async fn needs(State(app): State<Arc<App>>, Somebody(person): Somebody) -> Answer {
    let rules = app.rules.clone();
    let look = app.store.read(move |db| needs::of(db, &rules, &person));
    Ok(Json(json!({"ok": true, "needs": look.await?})))
}

/// Every repository and person at one glance, for who may administer.
pub(crate) async fn company_for(app: &App, person: Person) -> Result<company::Company, Trouble> {
    let (beside, rules) = (app.beside(), app.rules.clone());
    let look = app.store.read(move |db| {
        access::may(db, &rules, &person, Right::Administer)?;
        company::all(db, &beside)
    });
    look.await
}

async fn company(State(app): State<Arc<App>>, Somebody(person): Somebody) -> Answer {
    let all = company_for(&app, person).await?;
    let mut answer = serde_json::to_value(all).map_err(Trouble::Json)?;
    answer["ok"] = json!(true);
    Ok(Json(answer))
}

/// How it stands between Slack and the hub; null where the hub is the workspace.
async fn slack(State(app): State<Arc<App>>, _somebody: Somebody) -> Answer {
    let (Some(status), Some(relay)) = (app.slack(), &app.relay) else {
        return Ok(Json(json!({"ok": true, "slack": null})));
    };
    let channels = app.store.read(channel_requests::shown).await?;
    let mut shown = serde_json::to_value(&status).unwrap_or_default();
    shown["trouble"] = json!(status.trouble());
    shown["workspace"] = json!(relay.workspace());
    shown["channels"] = json!(channels);
    Ok(Json(json!({"ok": true, "slack": shown})))
}

async fn unread(State(app): State<Arc<App>>, Somebody(person): Somebody) -> Answer {
    let look = app.store.read(move |db| reads::unread(db, &person.id));
    let unread = look.await?;
    let threads = unread.threads();
    let threads: Vec<Value> = threads
        .map(|(thread, new)| json!({"thread": thread, "new": new}))
        .collect();
    Ok(Json(json!({"ok": true, "threads": threads})))
}

#[derive(Deserialize)]
struct Words {
    #[serde(default)]
    q: String,
}

async fn search(
    State(app): State<Arc<App>>,
    _somebody: Somebody,
    Query(words): Query<Words>,
) -> Answer {
    let look = app.store.read(move |db| search::find(db, &words.q));
    Ok(Json(json!({"ok": true, "hits": look.await?})))
}

#[derive(Deserialize)]
struct Where {
    #[serde(default)]
    channel: Option<ChannelId>,
}

async fn threads(
    State(app): State<Arc<App>>,
    _somebody: Somebody,
    Query(place): Query<Where>,
) -> Answer {
    let look = app
        .store
        .read(move |db| board::threads(db, place.channel.as_ref(), db.now_ms()));
    Ok(Json(json!({"ok": true, "threads": look.await?})))
}

async fn all_runs(State(app): State<Arc<App>>, _somebody: Somebody) -> Answer {
    let all = app.store.read(runs::newest).await?;
    Ok(Json(json!({"ok": true, "runs": all})))
}

async fn all_pulls(State(app): State<Arc<App>>, _somebody: Somebody) -> Answer {
    let all = app.store.read(pulls::list).await?;
    Ok(Json(json!({"ok": true, "pulls": all})))
}

#[derive(Deserialize)]
struct OfRepo {
    #[serde(default)]
    repo: Option<String>,
}

/// With `repo`, what was spent today and may be is that repo's.
async fn cost(
    State(app): State<Arc<App>>,
    _somebody: Somebody,
    Query(of): Query<OfRepo>,
) -> Answer {
    let caps = app.rules.caps.clone();
    let look = app.store.read(move |db| {
        let day = budget::day_of(db.now_ms());
        let mut bill = bill::bill(db, None, &caps, &day)?;
        if let Some(repo) = &of.repo {
            (bill.today, bill.day_cap) = budget::today(db, repo, &caps, &day)?;
        }
        Ok(bill)
    });
    Ok(Json(json!({"ok": true, "cost": look.await?})))
}

async fn thread_cost(State(app): State<Arc<App>>, _somebody: Somebody, Path(at): Thread) -> Answer {
    let caps = app.rules.caps.clone();
    let look = app.store.read(move |db| {
        let thread = thread_of(db, at)?;
        bill::bill(db, Some(&thread), &caps, &budget::day_of(db.now_ms()))
    });
    Ok(Json(json!({"ok": true, "cost": look.await?})))
}

async fn timeline(State(app): State<Arc<App>>, _somebody: Somebody, Path(at): Thread) -> Answer {
    let look = app.store.read(move |db| {
        let thread = thread_of(db, at)?;
        let (messages, _) = read::newest_replies(db, &thread, &Window::default())?;
        Ok(timeline::tell(&messages, &overview::records(db, &thread)?))
    });
    Ok(Json(json!({"ok": true, "moments": look.await?})))
}

async fn pull(State(app): State<Arc<App>>, _somebody: Somebody, Path(at): Thread) -> Answer {
    let look = app
        .store
        .read(move |db| pulls::of_thread(db, &thread_of(db, at)?));
    Ok(Json(json!({"ok": true, "pull": look.await?})))
}

/// The thread that a message is in.
fn thread_of(db: &Db, (channel, ts): (ChannelId, MessageTs)) -> Result<ThreadId, Trouble> {
    channels::get(db, &channel)?;
    let root = message::root_of(db, &channel, &ts)?;
    Ok(ThreadId::new(channel, root))
}
