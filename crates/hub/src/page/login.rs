//! Getting in: a link with a code, used up by a POST and not by the GET of a
//! preview, gives a session cookie.

use std::sync::Arc;

use axum::{
    Form,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header::SET_COOKIE},
    response::{AppendHeaders, IntoResponse, Redirect, Response},
};
use serde::Deserialize;

use super::layout;
use crate::{app::App, guard, tokens};

#[derive(Deserialize)]
pub(super) struct Code {
    #[serde(default)]
    code: String,
}

pub(super) async fn ask(State(app): State<Arc<App>>, Query(code): Query<Code>) -> Response {
    layout::login(&code.code, false, &app.welcome).into_response()
}

pub(super) async fn enter(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Form(code): Form<Code>,
) -> Response {
    if !guard::own_form(&headers) {
        return (StatusCode::FORBIDDEN, layout::problem("foreign_origin")).into_response();
    }
    let entered = app
        .store
        .change(move |desk| tokens::use_code(desk.db(), code.code.trim()))
        .await;
    match entered {
        Ok(Some((_, session))) => {
            let cookie = format!(
                "{}={session}; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000",
                guard::COOKIE
            );
            (AppendHeaders([(SET_COOKIE, cookie)]), Redirect::to("/")).into_response()
        }
        Ok(None) => {
            let page = layout::login("", true, &app.welcome);
            (StatusCode::UNAUTHORIZED, page).into_response()
        }
        Err(trouble) => super::Turned::from(trouble).into_response(),
    }
}

pub(super) async fn leave(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    if let Some(session) = guard::cookie(&headers)
        && guard::own_form(&headers)
    {
        let hash = butler_vocab::Sha256Hex::of(session);
        let ended = app
            .store
            .change(move |desk| {
                desk.db()
                    .execute("DELETE FROM sessions WHERE sha256 = ?1", [hash.as_str()])?;
                Ok(())
            })
            .await;
        if let Err(trouble) = ended {
            return super::Turned::from(trouble).into_response();
        }
    }
    let cookie = format!("{}=; Path=/; HttpOnly; Max-Age=0", guard::COOKIE);
    (
        AppendHeaders([(SET_COOKIE, cookie)]),
        Redirect::to("/login"),
    )
        .into_response()
}
