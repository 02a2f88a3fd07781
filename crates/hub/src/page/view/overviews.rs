//! The pages beside the conversation: board, agents, cost, and a thread's time
//! line, changes and cost. Each has a `live` twin with the parts that change.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, Query, State},
    routing::get,
};
use butler_protocol::{ChannelId, DecisionKind, MessageTs, ThreadId};
use serde::Deserialize;

use crate::page::{
    Shown,
    layout::{self, Around},
    look::Reader,
    view::{
        agents,
        board::{self, BoardView},
        changes::{self, ChangesView},
        cost, memory, needs, search, servers,
        timeline::{self, TimelineView},
    },
    visitor,
};
use crate::{
    budget,
    error::{Refused, Trouble},
    hub::app::App,
    identity::Person,
    person_api::guard::Somebody,
    presence,
    views::{
        bill, memory as team_memory,
        overview::{self, Window},
        pulls, timeline as thread_timeline,
    },
    workspace::{channels, decide, message as messages, read, runs},
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
        .route("/servers", get(servers))
        .route("/servers/live", get(servers_live))
        .route("/memory", get(memory))
        .route("/memory/live", get(memory_live))
        .route("/cost", get(cost))
        .route("/cost/live", get(cost_live))
        .route("/c/{channel}/{ts}/timeline", get(timeline))
        .route("/c/{channel}/{ts}/timeline/live", get(timeline_live))
        .route("/c/{channel}/{ts}/changes", get(changes))
        .route("/c/{channel}/{ts}/changes/live", get(changes_live))
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
    Ok(layout::nav(&at.at, &around(&app, visitor(seen)?).await?))
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
                around: reader.around(db, None)?,
            })
        })
        .await
}

async fn board(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    Ok(board::page(&board_view(&app, visitor(seen)?).await?))
}

async fn board_live(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    Ok(board::parts(&board_view(&app, visitor(seen)?).await?))
}

async fn agents(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    let reader = Reader::new(&app, visitor(seen)?);
    let look = app.store.read(move |db| {
        let members = presence::team(db, None, reader.online(), db.now_ms())?;
        Ok((members, reader.around(db, None)?))
    });
    let (members, around) = look.await?;
    Ok(agents::page(&members, &around))
}

async fn agents_live(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    let reader = Reader::new(&app, visitor(seen)?);
    let look = app
        .store
        .read(move |db| presence::team(db, None, reader.online(), db.now_ms()));
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
async fn place(
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
    let (bill, around) = bill_of(&app, person, Some(thread.clone())).await?;
    Ok(cost::of_thread(&bill, &channel, &thread, &around))
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

/// `?all=1` shows every moment.
#[derive(Deserialize)]
struct Much {
    #[serde(default)]
    all: Option<String>,
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
                names: reader.names(db)?,
                around: reader.around(db, Some(&channel.repo))?,
                all: much.all.is_some(),
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

async fn changes_view(
    app: &App,
    person: Person,
    (channel, ts): (ChannelId, MessageTs),
) -> Result<ChangesView, Trouble> {
    let (channel, thread) = place(app, channel, ts).await?;
    let reader = Reader::new(app, person);
    app.store
        .read(move |db| {
            let decisions = decide::of_thread(db, &thread)?;
            let mut cards = Vec::new();
            for one in decisions
                .iter()
                .filter(|one| one.asked.kind == DecisionKind::Merge)
            {
                if let Some(found) = messages::find(db, &thread.channel, &one.asked.message)? {
                    cards.push(read::shown(db, &thread.channel, found, true)?);
                }
            }
            let records = overview::records(db, &thread)?;
            Ok(ChangesView {
                pull: pulls::of_thread(db, &thread)?,
                moments: thread_timeline::tell(&[], &records),
                names: reader.names(db)?,
                around: reader.around(db, Some(&channel.repo))?,
                decisions,
                cards,
                channel,
                thread,
            })
        })
        .await
}

async fn changes(State(app): State<Arc<App>>, seen: Seen, Path(at): Thread) -> Shown {
    Ok(changes::page(
        &changes_view(&app, visitor(seen)?, at).await?,
    ))
}

async fn changes_live(State(app): State<Arc<App>>, seen: Seen, Path(at): Thread) -> Shown {
    Ok(changes::parts(
        &changes_view(&app, visitor(seen)?, at).await?,
    ))
}
