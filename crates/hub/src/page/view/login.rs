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

use crate::{
    error::{Refusal, Result, When},
    hub::App,
    identity::tokens,
    page::{Turned, layout},
    person_api::guard,
};

#[derive(Deserialize)]
pub(crate) struct Code {
    #[serde(default)]
    code: String,
    /// For browsers that cannot open names below `.localhost`.
    #[serde(default, deserialize_with = "given")]
    here: bool,
}

fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    String::deserialize(deserializer).map(|_| true)
}

pub(crate) async fn ask(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Query(code): Query<Code>,
) -> Result<Response, Turned> {
    Ok(match own_name(&app, &headers, &code).await? {
        Some(there) => Redirect::to(&there).into_response(),
        None => layout::login(&code.code, code.here, false, &app.welcome).into_response(),
    })
}

/// Where a browser gets its session: a cookie of `127.0.0.1` goes to every server
/// of this machine, whatever its port, one of a name that nobody else knows goes
/// to us alone. Only a code that is good learns the name.
async fn own_name(app: &Arc<App>, headers: &HeaderMap, code: &Code) -> Result<Option<String>> {
    let is_browser = headers.contains_key("sec-fetch-mode");
    if code.here || !is_browser || !guard::is_shared_name(headers) {
        return Ok(None);
    }
    let given = code.code.trim().to_owned();
    let asked = given.clone();
    let good = app.read(move |db| tokens::knows_code(db, &asked)).await?;
    let there = guard::at_own_name(app, headers, &format!("/login?code={given}"));
    Ok(good.then_some(there))
}

pub(crate) async fn enter(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Form(code): Form<Code>,
) -> Result<Response, Turned> {
    Refusal::ForeignOrigin.when(!guard::own_form(&headers))?;
    if let Some(there) = own_name(&app, &headers, &code).await? {
        return Ok(Redirect::to(&there).into_response());
    }
    let host = guard::host_of(&headers);
    let browser = headers
        .get("user-agent")
        .and_then(|value| value.to_str().ok());
    let browser = browser.map(guard::browser_name).unwrap_or_default();
    let entered = app
        .write(move |tx| tokens::use_code(tx.db(), code.code.trim(), &host, &browser))
        .await?;
    let Some((_, session)) = entered else {
        let page = layout::login("", false, true, &app.welcome);
        return Ok((StatusCode::UNAUTHORIZED, page).into_response());
    };
    let cookie = guard::set_cookie(&app, &headers, &session);
    Ok((AppendHeaders([(SET_COOKIE, cookie)]), Redirect::to("/")).into_response())
}

pub(crate) async fn leave(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
) -> Result<Response, Turned> {
    Refusal::ForeignOrigin.when(!guard::own_form(&headers))?;
    if let Some(session) = guard::cookie(&headers) {
        let hash = tokens::session_hash(&session, &guard::host_of(&headers));
        let sql = "DELETE FROM sessions WHERE sha256 = ?1";
        app.write(move |tx| tx.db().run(sql, [&hash])).await?;
    }
    let cookie = AppendHeaders([(SET_COOKIE, guard::set_cookie(&app, &headers, ""))]);
    Ok((cookie, Redirect::to("/login")).into_response())
}
