//! `/v1` for what the page shows beside the conversation: board, pull requests,
//! cost, and a thread's time line.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, Query},
    routing::get,
};
use butler_protocol::{ChannelId, MessageTs, Right, ThreadId};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    budget,
    error::{Answer, Result, Trouble, well},
    hub::App,
    identity::Person,
    person_api::Somebody,
    relay::channel_requests,
    store::Db,
    views::{Window, bill, board, company, needs, overview, pulls, reads, search, timeline},
    workspace::{access, channels, message, read, runs},
};

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

async fn needs(somebody: Somebody) -> Answer {
    let rules = somebody.app.rules.clone();
    let look = move |db: &Db, person: &Person| needs::of(db, &rules, person);
    somebody.sees("needs", look).await
}

/// Every repository and person at one glance, for who may administer.
pub(crate) async fn company_for(app: &App, person: Person) -> Result<company::Company> {
    let (beside, rules) = (app.beside(), app.rules.clone());
    let look = app.read(move |db| {
        access::may(db, &rules, &person, Right::Administer)?;
        company::all(db, &beside)
    });
    look.await
}

async fn company(Somebody { app, person }: Somebody) -> Answer {
    let all = company_for(&app, person).await?;
    well(serde_json::to_value(all).map_err(Trouble::Json)?)
}

/// How it stands between Slack and the hub; null where the hub is the workspace.
async fn slack(Somebody { app, .. }: Somebody) -> Answer {
    let (Some(status), Some(relay)) = (app.slack(), &app.relay) else {
        return well(json!({"slack": null}));
    };
    let channels = app.read(channel_requests::shown).await?;
    let mut shown = serde_json::to_value(&status).unwrap_or_default();
    shown["trouble"] = json!(status.trouble());
    shown["workspace"] = json!(relay.workspace());
    shown["channels"] = json!(channels);
    well(json!({"slack": shown}))
}

async fn unread(somebody: Somebody) -> Answer {
    let look = |db: &Db, person: &Person| {
        let unread = reads::unread(db, &person.id)?;
        let shown = |(thread, new)| json!({"thread": thread, "new": new});
        Ok(unread.threads().map(shown).collect::<Vec<Value>>())
    };
    somebody.sees("threads", look).await
}

#[derive(Deserialize)]
struct Words {
    #[serde(default)]
    q: String,
}

async fn search(somebody: Somebody, Query(words): Query<Words>) -> Answer {
    let look = move |db: &Db, _: &Person| search::find(db, &words.q);
    somebody.sees("hits", look).await
}

#[derive(Deserialize)]
struct Where {
    channel: Option<ChannelId>,
}

async fn threads(somebody: Somebody, Query(place): Query<Where>) -> Answer {
    let look = move |db: &Db, _: &Person| board::threads(db, place.channel.as_ref(), db.now_ms());
    somebody.sees("threads", look).await
}

async fn all_runs(somebody: Somebody) -> Answer {
    somebody.sees("runs", |db, _| runs::newest(db)).await
}

async fn all_pulls(somebody: Somebody) -> Answer {
    somebody.sees("pulls", |db, _| pulls::list(db)).await
}

#[derive(Deserialize)]
struct OfRepo {
    repo: Option<String>,
}

/// With `repo`, what was spent today and may be is that repo's.
async fn cost(somebody: Somebody, Query(of): Query<OfRepo>) -> Answer {
    let caps = somebody.app.rules.caps.clone();
    let look = move |db: &Db, _: &Person| {
        let day = budget::day_of(db.now_ms());
        let mut bill = bill::bill(db, None, &caps, &day)?;
        if let Some(repo) = &of.repo {
            (bill.today, bill.day_cap) = budget::today(db, repo, &caps, &day)?;
        }
        Ok(bill)
    };
    somebody.sees("cost", look).await
}

async fn thread_cost(somebody: Somebody, Path(at): Thread) -> Answer {
    let caps = somebody.app.rules.caps.clone();
    let look = move |db: &Db, _: &Person| {
        let thread = thread_of(db, at)?;
        bill::bill(db, Some(&thread), &caps, &budget::day_of(db.now_ms()))
    };
    somebody.sees("cost", look).await
}

async fn timeline(somebody: Somebody, Path(at): Thread) -> Answer {
    let look = |db: &Db, _: &Person| {
        let thread = thread_of(db, at)?;
        let (messages, _) = read::newest_replies(db, &thread, &Window::default())?;
        Ok(timeline::tell(&messages, &overview::records(db, &thread)?))
    };
    somebody.sees("moments", look).await
}

async fn pull(somebody: Somebody, Path(at): Thread) -> Answer {
    let look = |db: &Db, _: &Person| pulls::of_thread(db, &thread_of(db, at)?);
    somebody.sees("pull", look).await
}

/// The thread that a message is in.
fn thread_of(db: &Db, (channel, ts): (ChannelId, MessageTs)) -> Result<ThreadId> {
    channels::get(db, &channel)?;
    let root = message::root_of(db, &channel, &ts)?;
    Ok(ThreadId::new(channel, root))
}
