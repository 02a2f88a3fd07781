//! `/v1` about people: who is in the workspace, what they may do, where they are
//! logged in, and what was done. Everything here but one's own sessions is for
//! administrators; the page uses the same functions.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Path, Query},
    http::HeaderMap,
    routing::{delete, get},
};
use butler_protocol::{Right, Secret, Standing, UserId};
use serde::Deserialize;
use serde_json::json;

use crate::{
    error::{Answer, Result, done, well},
    hub::App,
    identity::{Person, audit, people},
    log::Notice,
    person_api::{Somebody, guard::link_for_people, person_actions},
    store::{Db, Tx},
    workspace::access,
};

/// The most lines of the audit in one answer.
const LINES: usize = 5_000;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/people", get(list).post(invite))
        .route("/v1/people/{id}", delete(send_away).patch(give))
        .route("/v1/sessions", get(sessions))
        .route("/v1/sessions/{id}", delete(end))
        .route("/v1/audit", get(lines))
}

/// Does something that only administrators may.
async fn administer<T: Send + 'static>(
    app: &App,
    person: &Person,
    work: impl FnOnce(&mut Tx<'_>, &Person) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (rules, person) = (app.rules.clone(), person.clone());
    app.write(move |tx| {
        access::may(tx.db(), &rules, &person, Right::Administer)?;
        work(tx, &person)
    })
    .await
}

/// Invites somebody.
pub(crate) async fn invited(
    app: &App,
    by: &Person,
    name: String,
    standing: Standing,
) -> Result<Secret> {
    person_actions::only_here(app)?;
    administer(app, by, move |tx, by| {
        people::invite(tx.db(), by, &name, standing)
    })
    .await
}

/// Gives somebody other rights.
pub(crate) async fn given(app: &App, by: &Person, id: UserId, standing: Standing) -> Result<()> {
    administer(app, by, move |tx, by| {
        people::give(tx.db(), by, &id, standing)
    })
    .await
}

/// Sends somebody away; what they listen to ends.
pub(crate) async fn sent_away(app: &App, by: &Person, id: UserId) -> Result<()> {
    administer(app, by, move |tx, by| {
        people::send_away(tx.db(), by, &id)?;
        tx.say(Notice::SessionEnded(id));
        Ok(())
    })
    .await
}

/// Ends a session: everybody may end their own.
pub(crate) async fn ended(app: &App, by: &Person, id: String) -> Result<()> {
    let (rules, by) = (app.rules.clone(), by.clone());
    app.write(move |tx| {
        let any = access::may(tx.db(), &rules, &by, Right::Administer).is_ok();
        let whose = people::end_session(tx.db(), &by, &id, any)?;
        tx.say(Notice::SessionEnded(whose));
        Ok(())
    })
    .await
}

/// The address that lets somebody in.
pub(crate) fn invitation(app: &App, headers: &HeaderMap, code: &Secret) -> String {
    link_for_people(app, headers, &format!("/login?code={}", code.expose()))
}

async fn list(Somebody { app, person }: Somebody) -> Answer {
    let all = administer(&app, &person, |tx, _| people::list(tx.db())).await?;
    well(json!({"people": all}))
}

#[derive(Deserialize)]
struct Inviting {
    name: String,
    role: Standing,
}

async fn invite(
    Somebody { app, person }: Somebody,
    headers: HeaderMap,
    Json(inviting): Json<Inviting>,
) -> Answer {
    let code = invited(&app, &person, inviting.name, inviting.role).await?;
    well(json!({"link": invitation(&app, &headers, &code)}))
}

#[derive(Deserialize)]
struct Giving {
    role: Standing,
}

async fn give(
    Somebody { app, person }: Somebody,
    Path(id): Path<UserId>,
    Json(giving): Json<Giving>,
) -> Answer {
    given(&app, &person, id, giving.role).await?;
    done()
}

async fn send_away(Somebody { app, person }: Somebody, Path(id): Path<UserId>) -> Answer {
    sent_away(&app, &person, id).await?;
    done()
}

/// Administrators see everybody's, others their own.
async fn sessions(somebody: Somebody) -> Answer {
    let rules = somebody.app.rules.clone();
    let look = move |db: &Db, person: &Person| {
        let all = access::may(db, &rules, person, Right::Administer).is_ok();
        people::sessions(db, (!all).then_some(&person.id))
    };
    somebody.sees("sessions", look).await
}

async fn end(Somebody { app, person }: Somebody, Path(id): Path<String>) -> Answer {
    ended(&app, &person, id).await?;
    done()
}

#[derive(Deserialize)]
struct After {
    #[serde(default)]
    after: u64,
}

async fn lines(Somebody { app, person }: Somebody, Query(After { after }): Query<After>) -> Answer {
    let look = administer(&app, &person, move |tx, _| {
        audit::lines(tx.db(), after, LINES)
    });
    well(json!({"lines": look.await?}))
}
