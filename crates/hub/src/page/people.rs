//! The page about people: everybody sees their own sessions there, administrators
//! invite, give rights and send away. Every form works without script.

use std::sync::Arc;

use axum::{
    Form, Router,
    http::HeaderMap,
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use butler_protocol::{Right, Standing, UserId};
use serde::Deserialize;

use super::{
    Shown, Turned,
    view::people::{self, PeopleView},
    visit::{Visit, with_twin},
};
use crate::{
    error::Result,
    hub::App,
    identity::{audit, people as everybody},
    person_api::people as people_api,
    workspace::access,
};

/// What the page shows of the audit.
const NEWEST: u64 = 50;

type Sent = Result<Response, Turned>;

pub(super) fn routes() -> Router<Arc<App>> {
    with_twin(Router::new(), ("/people", get(shown)))
        .route("/people/invite", post(invite))
        .route("/people/give", post(give))
        .route("/people/send-away", post(send_away))
        .route("/people/end-session", post(end_session))
}

async fn gather(visit: &Visit, link: Option<String>) -> Result<PeopleView> {
    let (reader, person) = (visit.reader(), visit.person.clone());
    let rules = visit.app.rules.clone();
    let store = &visit.app.store;
    store
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

async fn shown(visit: Visit) -> Shown {
    let view = gather(&visit, None).await?;
    visit.draw(&view, people::page, people::parts)
}

#[derive(Deserialize)]
struct Inviting {
    name: String,
    role: Standing,
}

/// Shows the link at once: it is not kept, only its hash is.
async fn invite(visit: Visit, headers: HeaderMap, Form(inviting): Form<Inviting>) -> Sent {
    let code = people_api::invited(&visit.app, &visit.person, inviting.name, inviting.role).await?;
    let link = people_api::invitation(&visit.app, &headers, &code);
    let view = gather(&visit, Some(link)).await?;
    Ok(people::page(&view).into_response())
}

#[derive(Deserialize)]
struct Giving {
    id: UserId,
    role: Standing,
}

async fn give(Visit { app, person, .. }: Visit, Form(giving): Form<Giving>) -> Sent {
    people_api::given(&app, &person, giving.id, giving.role).await?;
    Ok(Redirect::to("/people").into_response())
}

#[derive(Deserialize)]
struct Whom {
    id: UserId,
}

async fn send_away(Visit { app, person, .. }: Visit, Form(whom): Form<Whom>) -> Sent {
    people_api::sent_away(&app, &person, whom.id).await?;
    Ok(Redirect::to("/people").into_response())
}

#[derive(Deserialize)]
struct Which {
    id: String,
}

async fn end_session(Visit { app, person, .. }: Visit, Form(which): Form<Which>) -> Sent {
    people_api::ended(&app, &person, which.id).await?;
    Ok(Redirect::to("/people").into_response())
}
