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
mod visit;

use std::sync::Arc;

use layout::{Around, Here, Live};

pub(crate) use self::view::welcome::Welcome;
use self::visit::{Visit, with_twin};
use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, Query},
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
    person_api::message_form,
    store::Db,
    views::overview::Window,
    workspace::{self, channels},
};

pub(crate) fn routes() -> Router<Arc<App>> {
    let pages = [
        ("/c/{channel}", get(channel)),
        ("/c/{channel}/{ts}", get(thread)),
    ];
    pages
        .into_iter()
        .fold(Router::new(), with_twin)
        .route("/", get(home))
        .route("/login", get(view::login::ask).post(view::login::enter))
        .route("/logout", post(view::login::leave))
        .route("/archives/{channel}/{message}", get(archived))
        .route("/c/{channel}/say", post(forms::say))
        .route("/c/{channel}/press", post(forms::press))
        .route("/c/{channel}/plan", post(forms::plan))
        .route("/c/{channel}/react", post(forms::react))
        .route("/c/{channel}/dismiss", post(forms::dismiss))
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
    visit: Visit,
    Path((channel, message)): Path<(ChannelId, String)>,
) -> Result<Response, Turned> {
    let digits = message.strip_prefix('p').unwrap_or_default();
    let ts = digits
        .split_at_checked(digits.len().saturating_sub(6))
        .map(|(seconds, micros)| format!("{seconds}.{micros}"));
    let ts = ts.and_then(|ts| ts.parse::<MessageTs>().ok());
    let ts = ts.ok_or(Refusal::MessageNotFound)?;
    let place = channel.clone();
    let look = move |db: &Db| workspace::message::find(db, &place, &ts);
    let found = visit.app.read(look).await?;
    let found = found.ok_or(Refusal::MessageNotFound)?;
    let address = format!("/c/{channel}/{}#m{}", found.root, found.ts);
    Ok(Redirect::to(&address).into_response())
}

/// What is answered at addresses that lead nowhere.
pub(crate) async fn nowhere() -> (StatusCode, Markup) {
    (StatusCode::NOT_FOUND, layout::nowhere())
}

async fn home(Visit { app, .. }: Visit) -> Result<Response, Turned> {
    let all = app.read(|db| channels::list(db, None)).await?;
    Ok(match all.first() {
        Some(first) => Redirect::to(&format!("/c/{}", first.id)).into_response(),
        None => layout::empty(&app.version).into_response(),
    })
}

type Shown = Result<Markup, Turned>;

/// A visitor who is shown something else than they asked for.
pub(crate) struct Turned(Box<Response>);

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

impl From<Refusal> for Turned {
    fn from(refusal: Refusal) -> Self {
        Trouble::from(refusal).into()
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

async fn channel(visit: Visit, Path(id): Path<ChannelId>) -> Shown {
    let view = look::channel(&visit, id).await?;
    let page = |view: &_| view::channel::page(view, &visit.app.welcome);
    visit.draw(&view, page, view::channel::parts)
}

/// `?before=<ts>` shows an older part of a long thread.
#[derive(Deserialize)]
struct Older {
    before: Option<MessageTs>,
    /// Whether the person looks at the page that asks for its parts.
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
    visit: Visit,
    Path((channel, ts)): Path<(ChannelId, MessageTs)>,
    Query(older): Query<Older>,
) -> Shown {
    let id = ThreadId::new(channel, ts);
    if !visit.live || older.seen.is_some() {
        look::seen(&visit.app, &visit.person, &id).await?;
    }
    let view = look::thread(&visit, id, older.window()).await?;
    visit.draw(&view, view::thread::page, view::thread::parts)
}
