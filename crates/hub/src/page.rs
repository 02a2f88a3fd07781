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
    extract::{Path, State},
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
}

async fn style() -> impl IntoResponse {
    asset("text/css; charset=utf-8", include_str!("page/assets/style.css"))
}

async fn script() -> impl IntoResponse {
    asset("text/javascript; charset=utf-8", include_str!("page/assets/live.js"))
}

fn asset(kind: &'static str, text: &'static str) -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")],
        text,
    )
}

/// A visitor of a page: without a session they are shown the way in.
async fn home(State(app): State<Arc<App>>, visitor: Result<Somebody, Refusal>) -> Response {
    if visitor.is_err() {
        return Redirect::to("/login").into_response();
    }
    match app.store.look(|db| channels::list(db, None)).await {
        Ok(all) => match all.first() {
            Some(first) => Redirect::to(&format!("/c/{}", first.id)).into_response(),
            None => layout::empty(&app.version).into_response(),
        },
        Err(trouble) => sorry(&trouble),
    }
}

type Shown = Result<Markup, Response>;

/// Lets a visitor in, or shows the way.
fn visitor(visitor: Result<Somebody, Refusal>) -> Result<Person, Response> {
    visitor.map(|somebody| somebody.0).map_err(|refusal| {
        if refusal.status == StatusCode::UNAUTHORIZED {
            Redirect::to("/login").into_response()
        } else {
            refusal.into_response()
        }
    })
}

/// An error page that offers a way back.
fn sorry(trouble: &Trouble) -> Response {
    let code = trouble.code();
    let status = match code {
        "internal_error" => StatusCode::INTERNAL_SERVER_ERROR,
        "channel_not_found" | "thread_not_found" => StatusCode::NOT_FOUND,
        _ => StatusCode::BAD_REQUEST,
    };
    (status, layout::problem(code)).into_response()
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

async fn channel_view(app: &App, id: ChannelId) -> Result<views::ChannelView, Response> {
    app.store
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
        .await
        .map_err(|trouble| sorry(&trouble))
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
) -> Result<views::ThreadPage, Response> {
    let caps = app.rules.caps.clone();
    app.store
        .look(move |db| {
            Ok(views::ThreadPage {
                channel: channels::get(db, &channel)?,
                all: channels::list(db, None)?,
                view: overview::thread(db, &ThreadId::new(channel, ts), &caps)?,
                names: views::names(db)?,
            })
        })
        .await
        .map_err(|trouble| sorry(&trouble))
}

#[derive(Deserialize)]
struct Saying {
    text: String,
    #[serde(default)]
    thread_ts: Option<String>,
}

async fn say(
    State(app): State<Arc<App>>,
    somebody: Result<Somebody, Refusal>,
    Path(channel): Path<ChannelId>,
    Form(said): Form<Saying>,
) -> Result<Redirect, Response> {
    let person = visitor(somebody)?;
    let thread = root_field(said.thread_ts)?;
    // Browsers send line ends as CR LF.
    let text = said.text.replace("\r\n", "\n");
    let written = acts::say(&app, person, channel.clone(), thread.clone(), text, Vec::new())
        .await
        .map_err(|trouble| sorry(&trouble))?;
    let root = thread.unwrap_or(written.0);
    Ok(Redirect::to(&format!("/c/{channel}/{root}")))
}

fn root_field(field: Option<String>) -> Result<Option<MessageTs>, Response> {
    match field.filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => match text.parse() {
            Ok(ts) => Ok(Some(ts)),
            Err(_) => Err(sorry(&Trouble::Refused("thread_not_found"))),
        },
    }
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
) -> Result<Redirect, Response> {
    let person = visitor(somebody)?;
    let press = Press {
        action_id: pressed.action_id,
        value: pressed.value,
        ..Press::default()
    };
    acts::press(&app, person, channel.clone(), pressed.ts, press)
        .await
        .map_err(|trouble| sorry(&trouble))?;
    Ok(Redirect::to(&format!("/c/{channel}/{}", pressed.root)))
}
