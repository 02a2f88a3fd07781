//! The pages beside the conversation: board, agents, cost, and a thread's time
//! line and cost. Each has a `live` twin with the parts that change.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, Query},
    routing::get,
};
use butler_protocol::{ChannelId, MessageTs, Outlook, ThreadId};
use maud::html;
use serde::Deserialize;

use crate::{
    budget,
    error::Result,
    hub::App,
    page::{
        Around, Shown, layout,
        look::Reader,
        view::{
            agents::{self, company},
            board::{self, BoardView},
            cost, memory, needs, search, servers,
            timeline::{self, TimelineView, groups::Filter},
        },
        visit::{Visit, with_twin},
    },
    person_api::view_api,
    presence,
    store::Db,
    views::{
        Window, agents as all_agents, bill, memory as team_memory, needs as all_needs, overview,
        pulls, timeline as thread_timeline,
    },
    workspace::{channels, message as messages, read, runs},
};

type Thread = Path<(ChannelId, MessageTs)>;

pub(crate) fn routes() -> Router<Arc<App>> {
    let pages = [
        ("/needs", get(needs)),
        ("/board", get(board)),
        ("/agents", get(agents)),
        ("/company", get(company)),
        ("/servers", get(servers)),
        ("/memory", get(memory)),
        ("/cost", get(cost)),
        ("/c/{channel}/{ts}/timeline", get(timeline)),
        ("/c/{channel}/{ts}/cost", get(thread_cost)),
    ];
    let alone = Router::new()
        .route("/search", get(search))
        .route("/nav", get(nav));
    pages.into_iter().fold(alone, with_twin)
}

async fn needs(visit: Visit) -> Shown {
    let reader = visit.reader();
    let around = visit.app.read(move |db| reader.around(db, None));
    visit.draw(&around.await?, needs::page, needs::parts)
}

async fn memory(visit: Visit) -> Shown {
    let teams = visit.app.read(team_memory::all).await?;
    let page = |around: &Around| memory::page(&teams, around);
    visit.within(page, || memory::parts(&teams)).await
}

/// `?at=` says which entry is the current one.
#[derive(Deserialize)]
struct At {
    #[serde(default)]
    at: String,
}

async fn nav(visit: Visit, Query(at): Query<At>) -> Shown {
    let reader = visit.reader();
    let channel = at.at.strip_prefix("/c/").map(ChannelId::new);
    let look = visit.app.read(move |db| {
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

async fn search(visit: Visit, Query(words): Query<Words>) -> Shown {
    let reader = visit.reader();
    let query = words.q.clone();
    let look = visit.app.read(move |db| {
        let hits = crate::views::search::find(db, &query)?;
        Ok((hits, reader.around(db, None)?))
    });
    let (hits, around) = look.await?;
    Ok(search::page(&words.q, &hits, &around))
}

async fn board(visit: Visit) -> Shown {
    let reader = visit.reader();
    let look = visit.app.read(move |db| {
        Ok(BoardView {
            threads: crate::views::board::threads(db, None, db.now_ms())?,
            runs: runs::newest(db)?,
            pulls: pulls::list(db)?,
            outlooks: outlooks(db, &reader)?,
            around: reader.around(db, None)?,
        })
    });
    visit.draw(&look.await?, board::page, board::parts)
}

/// By repository, where somebody told it.
fn outlooks(db: &Db, reader: &Reader) -> Result<Vec<(String, Outlook)>> {
    let team = presence::team(db, None, reader.online(), db.now_ms())?;
    let told = team.into_iter().filter_map(|member| {
        let known = reader.known().get(&member.key)?;
        let ahead = &known.facts.outlook;
        (*ahead != Outlook::default()).then(|| (member.repo, ahead.clone()))
    });
    Ok(told.collect())
}

async fn company(visit: Visit) -> Shown {
    let all = view_api::company_for(&visit.app, visit.person.clone()).await?;
    let page = |around: &Around| company::page(&all, around);
    visit.within(page, || company::parts(&all)).await
}

async fn agents(visit: Visit) -> Shown {
    let reader = visit.reader();
    let look = move |db: &Db| all_agents::all(db, reader.online(), reader.known().clone());
    let all = visit.app.read(look).await?;
    let page = |around: &Around| agents::page(&all, around);
    visit.within(page, || agents::parts(&all)).await
}

async fn servers(visit: Visit) -> Shown {
    let presence = &visit.app.presence;
    let all = presence.servers.of(&presence.online());
    let page = |around: &Around| servers::page(&all, around);
    visit.within(page, || servers::parts(&all)).await
}

async fn bill_of(app: &App, thread: Option<ThreadId>) -> Result<bill::Bill> {
    let caps = app.rules.caps.clone();
    let look = move |db: &Db| {
        let today = budget::day_of(db.now_ms());
        bill::bill(db, thread.as_ref(), &caps, &today)
    };
    app.read(look).await
}

async fn cost(visit: Visit) -> Shown {
    let bill = bill_of(&visit.app, None).await?;
    let page = |around: &Around| cost::page(&bill, around);
    visit.within(page, || cost::parts(&bill)).await
}

/// The thread that a message is in, with its channel.
pub(crate) async fn place(
    app: &App,
    channel: ChannelId,
    ts: MessageTs,
) -> Result<(channels::Channel, ThreadId)> {
    app.read(move |db| {
        let found = channels::get(db, &channel)?;
        let root = messages::root_of(db, &channel, &ts)?;
        Ok((found, ThreadId::new(channel, root)))
    })
    .await
}

async fn thread_cost(visit: Visit, Path((channel, ts)): Thread) -> Shown {
    let (channel, thread) = place(&visit.app, channel, ts).await?;
    let about = thread.clone();
    let look = move |db: &Db| all_needs::title(db, &about);
    let title = visit.app.read(look).await?;
    let bill = bill_of(&visit.app, Some(thread.clone())).await?;
    let page = |around: &Around| cost::of_thread(&bill, &channel, (&thread, &title), around);
    visit.within(page, || cost::parts(&bill)).await
}

/// `?all=1` shows every moment; `role` and `show` choose among them.
#[derive(Deserialize)]
struct Much {
    all: Option<String>,
    role: Option<String>,
    show: Option<String>,
}

async fn timeline(visit: Visit, Path((channel, ts)): Thread, Query(much): Query<Much>) -> Shown {
    let (channel, thread) = place(&visit.app, channel, ts).await?;
    let reader = visit.reader();
    let look = visit.app.read(move |db| {
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
    });
    visit.draw(&look.await?, timeline::page, timeline::parts)
}
