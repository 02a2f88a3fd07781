//! The page about people: everybody sees their own sessions there, administrators
//! invite, give rights and send away. Every form works without script.

use std::sync::Arc;

use axum::{
    Form, Router,
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use butler_protocol::{Right, Standing, UserId};
use serde::Deserialize;

use super::{
    Shown, Turned,
    look::Reader,
    view::people::{self, PeopleView},
    visitor,
};
use crate::{
    error::{Refused, Trouble},
    hub::app::App,
    identity::{Person, audit, people as everybody},
    person_api::{guard::Somebody, people as people_api},
    workspace::access,
};

/// What the page shows of the audit.
const NEWEST: u64 = 50;

type Seen = Result<Somebody, Refused>;
type Sent = Result<Response, Turned>;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/people", get(shown))
        .route("/people/live", get(live))
        .route("/people/invite", post(invite))
        .route("/people/give", post(give))
        .route("/people/send-away", post(send_away))
        .route("/people/end-session", post(end_session))
}

async fn gather(app: &App, person: Person, link: Option<String>) -> Result<PeopleView, Trouble> {
    let reader = Reader::new(app, person.clone());
    let rules = app.rules.clone();
    app.store
        .read(move |db| {
            let administers = access::may(db, &rules, &person, Right::Administer).is_ok();
            let own = (!administers).then_some(&person.id);
            Ok(PeopleView {
                standing: access::standing(db, &rules, &person)?,
                people: match administers {
                    true => everybody::list(db)?,
                    false => Vec::new(),
                },
                sessions: everybody::sessions(db, own)?,
                done: match administers {
                    true => audit::newest(db, NEWEST)?,
                    false => Vec::new(),
                },
                around: reader.around(db, None)?,
                administers,
                link,
            })
        })
        .await
}

async fn shown(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    Ok(people::page(&gather(&app, visitor(seen)?, None).await?))
}

async fn live(State(app): State<Arc<App>>, seen: Seen) -> Shown {
    Ok(people::parts(&gather(&app, visitor(seen)?, None).await?))
}

#[derive(Deserialize)]
struct Inviting {
    name: String,
    role: Standing,
}

/// Shows the link at once: it is not kept, only its hash is.
async fn invite(
    State(app): State<Arc<App>>,
    seen: Seen,
    headers: HeaderMap,
    Form(inviting): Form<Inviting>,
) -> Sent {
    let person = visitor(seen)?;
    let code = people_api::invited(&app, &person, inviting.name, inviting.role).await?;
    let link = people_api::invitation(&app, &headers, &code);
    let view = gather(&app, person, Some(link)).await?;
    Ok(people::page(&view).into_response())
}

#[derive(Deserialize)]
struct Giving {
    id: UserId,
    role: Standing,
}

async fn give(State(app): State<Arc<App>>, seen: Seen, Form(giving): Form<Giving>) -> Sent {
    people_api::given(&app, &visitor(seen)?, giving.id, giving.role).await?;
    Ok(Redirect::to("/people").into_response())
}

#[derive(Deserialize)]
struct Whom {
    id: UserId,
}

async fn send_away(State(app): State<Arc<App>>, seen: Seen, Form(whom): Form<Whom>) -> Sent {
    people_api::sent_away(&app, &visitor(seen)?, whom.id).await?;
    Ok(Redirect::to("/people").into_response())
}

#[derive(Deserialize)]
struct Which {
    id: String,
}

async fn end_session(State(app): State<Arc<App>>, seen: Seen, Form(which): Form<Which>) -> Sent {
    people_api::ended(&app, &visitor(seen)?, which.id).await?;
    Ok(Redirect::to("/people").into_response())
}
