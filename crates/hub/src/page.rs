//! The page: HTML made here, forms that work without script, and a small script
//! that swaps in what changed. Every text of people and models goes through
//! `text` or `blocks`, which escape it.

mod blocks;
mod layout;
mod login;
mod text;
mod views;

use std::sync::Arc;

use axum::{
    Form, Router,
    extract::{DefaultBodyLimit, Path, Request, State},
    http::{StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use butler_vocab::{ChannelId, MessageTs, ThreadId};
use maud::Markup;
use serde::Deserialize;

use crate::{
    acts::{self, Press},
    app::App,
    error::Trouble,
    guard::Somebody,
    identity::Person,
    overview,
    refusal::Refusal,
    saying,
    workspace::{channels, read},
};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(home))
        .route("/login", get(login::ask).post(login::enter))
        .route("/logout", post(login::leave))
        .route("/c/{channel}", get(channel))
        .route("/c/{channel}/live", get(channel_live))
        .route("/c/{channel}/say", post(say))
        .route("/c/{channel}/press", post(press))
        .route("/c/{channel}/{ts}", get(thread))
        .route("/c/{channel}/{ts}/live", get(thread_live))
        .route("/assets/style.css", get(style))
        .route("/assets/live.js", get(script))
        .layer(DefaultBodyLimit::max(saying::BODY_LIMIT))
}

async fn style() -> impl IntoResponse {
    asset(
        "text/css; charset=utf-8",
        include_str!("page/assets/style.css"),
    )
}

async fn script() -> impl IntoResponse {
    asset(
        "text/javascript; charset=utf-8",
        include_str!("page/assets/live.js"),
    )
}

fn asset(kind: &'static str, text: &'static str) -> impl IntoResponse {
    (
        [
            (header::CONTENT_TYPE, kind),
            (header::CACHE_CONTROL, "no-cache"),
        ],
        text,
    )
}

async fn home(
    State(app): State<Arc<App>>,
    somebody: Result<Somebody, Refusal>,
) -> Result<Response, Turned> {
    visitor(somebody)?;
    let all = app.store.look(|db| channels::list(db, None)).await?;
    Ok(match all.first() {
        Some(first) => Redirect::to(&format!("/c/{}", first.id)).into_response(),
        None => layout::empty(&app.version).into_response(),
    })
}

type Shown = Result<Markup, Turned>;

/// A visitor who is shown something else than they asked for.
struct Turned(Box<Response>);

impl IntoResponse for Turned {
    fn into_response(self) -> Response {
        *self.0
    }
}

impl From<Refusal> for Turned {
    /// Without a session they are shown the way in.
    fn from(refusal: Refusal) -> Self {
        Self(Box::new(if refusal.status == StatusCode::UNAUTHORIZED {
            Redirect::to("/login").into_response()
        } else {
            (refusal.status, layout::problem(refusal.code)).into_response()
        }))
    }
}

impl From<Trouble> for Turned {
    /// An error page that offers a way back.
    fn from(trouble: Trouble) -> Self {
        let refusal = Refusal::from(trouble);
        let page = layout::problem(refusal.code);
        Self(Box::new((refusal.status, page).into_response()))
    }
}

fn visitor(visitor: Result<Somebody, Refusal>) -> Result<Person, Turned> {
    Ok(visitor?.0)
}

async fn channel(
    State(app): State<Arc<App>>,
    somebody: Result<Somebody, Refusal>,
    Path(channel): Path<ChannelId>,
) -> Shown {
    let person = visitor(somebody)?;
    let view = channel_view(&app, channel).await?;
    Ok(views::channel_page(&view, &person, &app.version))
}

async fn channel_live(
    State(app): State<Arc<App>>,
    somebody: Result<Somebody, Refusal>,
    Path(channel): Path<ChannelId>,
) -> Shown {
    visitor(somebody)?;
    Ok(views::channel_live(&channel_view(&app, channel).await?))
}

async fn channel_view(app: &App, id: ChannelId) -> Result<views::ChannelView, Turned> {
    let view = app
        .store
        .look(move |db| {
            let range = read::Range {
                limit: 100,
                ..read::Range::default()
            };
            let mut page = read::history(db, &id, &range)?;
            page.messages.reverse();
            Ok(views::ChannelView {
                channel: channels::get(db, &id)?,
                all: channels::list(db, None)?,
                messages: page.messages,
                names: views::names(db)?,
            })
        })
        .await?;
    Ok(view)
}

async fn thread(
    State(app): State<Arc<App>>,
    somebody: Result<Somebody, Refusal>,
    Path(place): Path<(ChannelId, MessageTs)>,
) -> Shown {
    let person = visitor(somebody)?;
    let view = thread_view(&app, place).await?;
    Ok(views::thread_page(&view, &person, &app.version))
}

async fn thread_live(
    State(app): State<Arc<App>>,
    somebody: Result<Somebody, Refusal>,
    Path(place): Path<(ChannelId, MessageTs)>,
) -> Shown {
    visitor(somebody)?;
    Ok(views::thread_live(&thread_view(&app, place).await?))
}

async fn thread_view(
    app: &App,
    (channel, ts): (ChannelId, MessageTs),
) -> Result<views::ThreadPage, Turned> {
    let caps = app.rules.caps.clone();
    let view = app
        .store
        .look(move |db| {
            Ok(views::ThreadPage {
                channel: channels::get(db, &channel)?,
                all: channels::list(db, None)?,
                view: overview::thread(db, &ThreadId::new(channel, ts), &caps)?,
                names: views::names(db)?,
            })
        })
        .await?;
    Ok(view)
}

async fn say(
    State(app): State<Arc<App>>,
    somebody: Result<Somebody, Refusal>,
    Path(channel): Path<ChannelId>,
    request: Request,
) -> Result<Redirect, Turned> {
    let person = visitor(somebody)?;
    let saying = saying::read(request, Some(channel.clone())).await?;
    let thread = saying.thread.clone();
    let (ts, _) = acts::say(&app, person, saying).await?;
    let root = thread.unwrap_or(ts);
    Ok(Redirect::to(&format!("/c/{channel}/{root}")))
}

#[derive(Deserialize)]
struct Pressing {
    ts: MessageTs,
    root: MessageTs,
    action_id: String,
    #[serde(default)]
    value: Option<String>,
}

async fn press(
    State(app): State<Arc<App>>,
    somebody: Result<Somebody, Refusal>,
    Path(channel): Path<ChannelId>,
    Form(pressed): Form<Pressing>,
) -> Result<Redirect, Turned> {
    let person = visitor(somebody)?;
    let press = Press {
        action_id: pressed.action_id,
        value: pressed.value,
        ..Press::default()
    };
    acts::press(&app, person, channel.clone(), pressed.ts, press).await?;
    Ok(Redirect::to(&format!("/c/{channel}/{}", pressed.root)))
}
