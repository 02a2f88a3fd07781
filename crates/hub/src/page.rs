//! The page: HTML made here, forms that work without script, and a small script
//! that swaps in what changed. Every text of people and models goes through
//! `text`, `blocks` or `code`, which escape it.

mod apps;
mod assets;
mod composer;
mod forms;
mod layout;
mod look;
mod people;
pub(crate) mod render;
mod review;
mod state;
mod status;
mod thread_actions;
mod view;

use std::sync::Arc;

pub(crate) use self::view::welcome::Welcome;
use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, Query, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use butler_protocol::{ChannelId, MessageTs, ThreadId};
use maud::Markup;
use serde::Deserialize;

use crate::{
    error::{Refusal, Refused, Trouble},
    hub::app::App,
    identity::Person,
    person_api::{guard::Somebody, message_form},
    views::overview::Window,
    workspace::{self, channels},
};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(home))
        .route("/login", get(view::login::ask).post(view::login::enter))
        .route("/logout", post(view::login::leave))
        .route("/c/{channel}", get(channel))
        .route("/archives/{channel}/{message}", get(archived))
        .route("/c/{channel}/live", get(channel_live))
        .route("/c/{channel}/say", post(forms::say))
        .route("/c/{channel}/press", post(forms::press))
        .route("/c/{channel}/plan", post(forms::plan))
        .route("/c/{channel}/react", post(forms::react))
        .route("/c/{channel}/dismiss", post(forms::dismiss))
        .route("/c/{channel}/{ts}", get(thread))
        .route("/c/{channel}/{ts}/live", get(thread_live))
        .route("/c/{channel}/{ts}/stop", post(forms::stop))
        .route("/assets/{name}", get(assets::serve))
        .route("/sw.js", get(assets::service_worker))
        .merge(view::overviews::routes())
        .merge(view::thread::work::routes())
        .merge(view::thread::file::routes())
        .merge(people::routes())
        .merge(apps::routes())
        .merge(review::routes())
        .layer(DefaultBodyLimit::max(message_form::BODY_LIMIT))
}

/// A message by the address that `chat.getPermalink` gives it.
async fn archived(
    State(app): State<Arc<App>>,
    somebody: Result<Somebody, Refused>,
    Path((channel, message)): Path<(ChannelId, String)>,
) -> Result<Response, Turned> {
    visitor(somebody)?;
    let digits = message.strip_prefix('p').unwrap_or_default();
    let ts = digits
        .split_at_checked(digits.len().saturating_sub(6))
        .map(|(seconds, micros)| format!("{seconds}.{micros}"));
    let ts = ts.and_then(|ts| ts.parse::<MessageTs>().ok());
    let ts = ts.ok_or(Trouble::Refused(Refusal::MessageNotFound))?;
    let place = channel.clone();
    let found = app
        .store
        .read(move |db| workspace::message::find(db, &place, &ts))
        .await?
        .ok_or(Trouble::Refused(Refusal::MessageNotFound))?;
    let address = format!("/c/{channel}/{}#m{}", found.root, found.ts);
    Ok(Redirect::to(&address).into_response())
}

/// What is answered at addresses that lead nowhere.
pub(crate) async fn nowhere() -> (StatusCode, Markup) {
    (StatusCode::NOT_FOUND, layout::nowhere())
}

async fn home(
    State(app): State<Arc<App>>,
    somebody: Result<Somebody, Refused>,
) -> Result<Response, Turned> {
    visitor(somebody)?;
    let all = app.store.read(|db| channels::list(db, None)).await?;
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

impl From<Refused> for Turned {
    /// Without a session they are shown the way in.
    fn from(refusal: Refused) -> Self {
        Self(Box::new(if refusal.status() == StatusCode::UNAUTHORIZED {
            Redirect::to("/login").into_response()
        } else {
            (refusal.status(), layout::problem(refusal.0)).into_response()
        }))
    }
}

impl From<Trouble> for Turned {
    /// An error page that offers a way back.
    fn from(trouble: Trouble) -> Self {
        let refusal = Refused::from(trouble);
        let page = layout::problem(refusal.0);
        Self(Box::new((refusal.status(), page).into_response()))
    }
}

fn visitor(visitor: Result<Somebody, Refused>) -> Result<Person, Turned> {
    Ok(visitor?.0)
}

async fn channel(
    State(app): State<Arc<App>>,
    somebody: Result<Somebody, Refused>,
    Path(id): Path<ChannelId>,
) -> Shown {
    let person = visitor(somebody)?;
    let view = look::channel(&app, person, id).await?;
    Ok(view::channel::page(&view, &app.welcome))
}

async fn channel_live(
    State(app): State<Arc<App>>,
    somebody: Result<Somebody, Refused>,
    Path(id): Path<ChannelId>,
) -> Shown {
    let person = visitor(somebody)?;
    Ok(view::channel::parts(
        &look::channel(&app, person, id).await?,
    ))
}

/// `?before=<ts>` shows an older part of a long thread.
#[derive(Deserialize)]
struct Older {
    #[serde(default)]
    before: Option<MessageTs>,
    /// Whether the person looks at the page that asks for its parts.
    #[serde(default)]
    seen: Option<String>,
}

impl Older {
    fn window(self) -> Window {
        Window {
            before: self.before,
            limit: Some(view::thread::PAGE),
        }
    }
}

async fn thread(
    State(app): State<Arc<App>>,
    somebody: Result<Somebody, Refused>,
    Path((channel, ts)): Path<(ChannelId, MessageTs)>,
    Query(older): Query<Older>,
) -> Shown {
    let person = visitor(somebody)?;
    let id = ThreadId::new(channel, ts);
    look::seen(&app, &person, &id).await?;
    Ok(view::thread::page(
        &look::thread(&app, person, id, older.window()).await?,
    ))
}

async fn thread_live(
    State(app): State<Arc<App>>,
    somebody: Result<Somebody, Refused>,
    Path((channel, ts)): Path<(ChannelId, MessageTs)>,
    Query(older): Query<Older>,
) -> Shown {
    let person = visitor(somebody)?;
    let id = ThreadId::new(channel, ts);
    if older.seen.is_some() {
        look::seen(&app, &person, &id).await?;
    }
    Ok(view::thread::parts(
        &look::thread(&app, person, id, older.window()).await?,
    ))
}
