//! The pages beside the conversation: board, agents, cost, and a thread's time
//! line and cost. Each has a `live` twin with the parts that change.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, Query, State},
    routing::get,
};
use butler_protocol::{ChannelId, MessageTs, Outlook, ThreadId};
use maud::html;
use serde::Deserialize;

use crate::page::{
    Shown,
    layout::{self, Around},
    look::Reader,
    view::{
        agents::{self, company},
        board::{self, BoardView},
        cost, memory, needs, search, servers,
        timeline::{self, TimelineView, groups::Filter},
    },
    visitor,
};
use crate::{
    budget,
    error::{Refused, Trouble},
    hub::app::App,
    identity::Person,
    person_api::{guard::Somebody, view_api},
    presence,
    store::db::Db,
    views::{
        agents as all_agents, bill, memory as team_memory, needs as all_needs,
        overview::{self, Window},
        pulls, timeline as thread_timeline,
    },
    workspace::{channels, message as messages, read, runs},
};

type Seen = Result<Somebody, Refused>;
type Thread = Path<(ChannelId, MessageTs)>;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/needs", get(needs))
        .route("/needs/live", get(needs_live))
        .route("/search", get(search))
        .route("/nav", get(nav))
        .route("/board", get(board))
        .route("/board/live", get(board_live))
        .route("/agents", get(agents))
        .route("/agents/live", get(agents_live))
        .route("/company", get(company))
        .route("/company/live", get(company_live))
        .route("/servers", get(servers))
        .route("/servers/live", get(servers_live))
        .route("/memory", get(memory))
        .route("/memory/live", get(memory_live))
        .route("/cost", get(cost))
        .route("/cost/live", get(cost_live))
        .route("/c/{channel}/{ts}/timeline", get(timeline))
        .route("/c/{channel}/{ts}/timeline/live", get(timeline_live))
        .route("/c/{channel}/{ts}/cost", get(thread_cost))
        .route("/c/{channel}/{ts}/cost/live", get(thread_cost_live))
}

async fn around(app: &App, person: Person) -> Result<Around, Trouble> {
    let reader = Reader::new(app, person);
    app.store.read(move |db| reader.around(db, None)).await
}

async fn needs(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    Ok(needs::page(&around(&app, visitor(seen)?).await?))
}

async fn needs_live(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    Ok(needs::parts(&around(&app, visitor(seen)?).await?))
}

async fn memory(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    let around = around(&app, visitor(seen)?).await?;
    let teams = app.store.read(team_memory::all).await?;
    Ok(memory::page(&teams, &around))
}

async fn memory_live(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    visitor(seen)?;
    Ok(memory::parts(&app.store.read(team_memory::all).await?))
}

/// `?at=` says which entry is the current one.
#[derive(Deserialize)]
struct At {
    #[serde(default)]
    at: String,
}

async fn nav(State(app): State<Arc<App>>, seen: Seen, Query(at): Query<At>) -> Shown {
    let reader = Reader::new(&app, visitor(seen)?);
    let channel = at.at.strip_prefix("/c/").map(ChannelId::new);
    let look = app.store.read(move |db| {
        let channel = channel.and_then(|id| channels::get(db, &id).ok());
        reader.around(db, channel.as_ref().map(|channel| channel.repo.as_str()))
    });
    let around = look.await?;
    Ok(html! { (layout::nav(&at.at, &around)) (layout::team(&around.team)) (around.modals) })
}

#[derive(Deserialize)]
struct Words {
    #[serde(default)]
    q: String,
}

async fn search(State(app): State<Arc<App>>, seen: Seen, Query(words): Query<Words>) -> Shown {
    let reader = Reader::new(&app, visitor(seen)?);
    let query = words.q.clone();
    let look = app.store.read(move |db| {
        let hits = crate::views::search::find(db, &query)?;
        Ok((hits, reader.around(db, None)?))
    });
    let (hits, around) = look.await?;
    Ok(search::page(&words.q, &hits, &around))
}

async fn board_view(app: &App, person: Person) -> Result<BoardView, Trouble> {
    let reader = Reader::new(app, person);
    app.store
        .read(move |db| {
            Ok(BoardView {
                threads: crate::views::board::threads(db, None, db.now_ms())?,
                runs: runs::newest(db)?,
                pulls: pulls::list(db)?,
                outlooks: outlooks(db, &reader)?,
                around: reader.around(db, None)?,
            })
        })
        .await
}

/// By repository, where somebody told it.
fn outlooks(db: &Db, reader: &Reader) -> Result<Vec<(String, Outlook)>, Trouble> {
    let team = presence::team(db, None, reader.online(), db.now_ms())?;
    let told = team.into_iter().filter_map(|member| {
        let known = reader.known().get(&member.key)?;
        let ahead = &known.facts.outlook;
        (*ahead != Outlook::default()).then(|| (member.repo, ahead.clone()))
    });
    Ok(told.collect())
}

async fn board(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    Ok(board::page(&board_view(&app, visitor(seen)?).await?))
}

async fn board_live(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    Ok(board::parts(&board_view(&app, visitor(seen)?).await?))
}

async fn company(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    let person = visitor(seen)?;
    let all = view_api::company_for(&app, person.clone()).await?;
    Ok(company::page(&all, &around(&app, person).await?))
}

async fn company_live(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    let all = view_api::company_for(&app, visitor(seen)?).await?;
    Ok(company::parts(&all))
}

async fn agents(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    let reader = Reader::new(&app, visitor(seen)?);
    let look = app.store.read(move |db| {
        let agents = all_agents::all(db, reader.online(), reader.known().clone())?;
        Ok((agents, reader.around(db, None)?))
    });
    let (all, around) = look.await?;
    Ok(agents::page(&all, &around))
}

async fn agents_live(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    let reader = Reader::new(&app, visitor(seen)?);
    let look = app
        .store
        .read(move |db| all_agents::all(db, reader.online(), reader.known().clone()));
    Ok(agents::parts(&look.await?))
}

async fn servers(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    let around = around(&app, visitor(seen)?).await?;
    let all = app.presence.servers.of(&app.presence.online());
    Ok(servers::page(&all, &around))
}

async fn servers_live(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    visitor(seen)?;
    let all = app.presence.servers.of(&app.presence.online());
    Ok(servers::parts(&all))
}

async fn bill_of(
    app: &App,
    person: Person,
    thread: Option<ThreadId>,
) -> Result<(bill::Bill, Around), Trouble> {
    let reader = Reader::new(app, person);
    let caps = app.rules.caps.clone();
    app.store
        .read(move |db| {
            let today = budget::day_of(db.now_ms());
            let bill = bill::bill(db, thread.as_ref(), &caps, &today)?;
            Ok((bill, reader.around(db, None)?))
        })
        .await
}

async fn cost(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    let (bill, around) = bill_of(&app, visitor(seen)?, None).await?;
    Ok(cost::page(&bill, &around))
}

async fn cost_live(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    let (bill, _) = bill_of(&app, visitor(seen)?, None).await?;
    Ok(cost::parts(&bill))
}

/// The thread that a message is in, with its channel.
pub(crate) async fn place(
    app: &App,
    channel: ChannelId,
    ts: MessageTs,
) -> Result<(channels::Channel, ThreadId), Trouble> {
    app.store
        .read(move |db| {
            let found = channels::get(db, &channel)?;
            let root = messages::root_of(db, &channel, &ts)?;
            Ok((found, ThreadId::new(channel, root)))
        })
        .await
}

async fn thread_cost(
    State(app): State<Arc<App>>,
    seen: Seen,
    Path((channel, ts)): Thread,
) -> Shown {
    let person = visitor(seen)?;
    let (channel, thread) = place(&app, channel, ts).await?;
    let about = thread.clone();
    let title = app
        .store
        .read(move |db| all_needs::title(db, &about))
        .await?;
    let (bill, around) = bill_of(&app, person, Some(thread.clone())).await?;
    Ok(cost::of_thread(&bill, &channel, (&thread, &title), &around))
}

async fn thread_cost_live(
    State(app): State<Arc<App>>,
    seen: Seen,
    Path((channel, ts)): Thread,
) -> Shown {
    let person = visitor(seen)?;
    let (_, thread) = place(&app, channel, ts).await?;
    let (bill, _) = bill_of(&app, person, Some(thread)).await?;
    Ok(cost::parts(&bill))
}

/// `?all=1` shows every moment; `role` and `show` choose among them.
#[derive(Deserialize)]
struct Much {
    #[serde(default)]
    all: Option<String>,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    show: Option<String>,
}

async fn timeline_view(
    app: &App,
    person: Person,
    (channel, ts): (ChannelId, MessageTs),
    much: Much,
) -> Result<TimelineView, Trouble> {
    let (channel, thread) = place(app, channel, ts).await?;
    let reader = Reader::new(app, person);
    app.store
        .read(move |db| {
            let (messages, _) = read::newest_replies(db, &thread, &Window::default())?;
            let records = overview::records(db, &thread)?;
            Ok(TimelineView {
                moments: thread_timeline::tell(&messages, &records),
                title: all_needs::title(db, &thread)?,
                names: reader.names(db)?,
                around: reader.around(db, Some(&channel.repo))?,
                all: much.all.is_some(),
                filter: Filter::read(much.role.as_deref(), much.show.as_deref()),
                channel,
                thread,
            })
        })
        .await
}

async fn timeline(
    State(app): State<Arc<App>>,
    seen: Seen,
    Path(at): Thread,
    Query(much): Query<Much>,
) -> Shown {
    Ok(timeline::page(
        &timeline_view(&app, visitor(seen)?, at, much).await?,
    ))
}

async fn timeline_live(
    State(app): State<Arc<App>>,
    seen: Seen,
    Path(at): Thread,
    Query(much): Query<Much>,
) -> Shown {
    Ok(timeline::parts(
        &timeline_view(&app, visitor(seen)?, at, much).await?,
    ))
}
