//! Who may talk to the page and to `/v1`: a person with a token, or a browser
//! with a session whose request really comes from our own page.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, Method, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::json;
use url::Url;

use crate::{
    error::{Answer, Refusal, Refused, Result, done, well},
    hub::{App, app::Reached},
    identity::{Identity, Person, tokens},
    person_api::person_actions,
    store::{Db, Tx},
    web_api,
};

/// The cookie that holds a session.
pub(crate) const COOKIE: &str = "codebutler";

/// Everything a page of ours may load, and nothing else. No inline script or
/// style: text from people and models could otherwise smuggle one in.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
img-src 'self' data:; media-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
frame-ancestors 'none'";

/// Refuses names that are not ours: a page of a stranger whose domain resolves
/// to this machine could otherwise read the workspace.
pub(crate) async fn check_host(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    let host = request
        .headers()
        .get("host")
        .and_then(|value| value.to_str().ok())
        .or_else(|| request.uri().authority().map(|a| a.as_str()));
    if !host.is_some_and(|host| is_ours(&app, host)) {
        return Refused(Refusal::ForeignHost).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", CONTENT_POLICY),
        ("x-content-type-options", "nosniff"),
        // Not `no-referrer`: browsers then send `Origin: null` with our own
        // forms, and nobody could log in. Other hosts get nothing either way.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        if let Ok(value) = value.parse() {
            headers.entry(name).or_insert(value);
        }
    }
    response
}

fn is_ours(app: &App, host: &str) -> bool {
    let name = without_port(host).to_ascii_lowercase();
    let listening = app.reached.address.ip().to_string();
    is_shared(&name)
        || name == app.reached.own_name
        || name.trim_matches(['[', ']']) == listening
        || app.reached.public_url.as_ref().and_then(Url::host_str) == Some(&name)
}

/// Names whose cookies go to every server of this machine.
fn is_shared(name: &str) -> bool {
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

/// Whether a request came by such a name.
pub(crate) fn is_shared_name(headers: &HeaderMap) -> bool {
    is_shared(&host_of(headers))
}

/// The name that was asked for, without its port. A session is good under the
/// name that it was made for.
pub(crate) fn host_of(headers: &HeaderMap) -> String {
    let host = headers.get("host").and_then(|value| value.to_str().ok());
    without_port(host.unwrap_or_default()).to_ascii_lowercase()
}

/// A path as people reach it from outside the page: at the public address, or else
/// where their session is good.
pub(crate) fn link_for_people(app: &App, headers: &HeaderMap, path: &str) -> String {
    let host = headers.get("host").and_then(|value| value.to_str().ok());
    match (&app.reached.public_url, host) {
        (Some(public), _) => format!("{}{path}", public.as_str().trim_end_matches('/')),
        (None, Some(host)) if !is_shared_name(headers) => {
            format!("{}{path}", app.reached.base(Some(host)))
        }
        (None, _) => at_own_name(app, headers, path),
    }
}

/// The same port under the name that only our own pages know.
pub(crate) fn at_own_name(app: &App, headers: &HeaderMap, path: &str) -> String {
    let host = headers.get("host").and_then(|value| value.to_str().ok());
    let port = host
        .and_then(|host| host.rsplit_once(':'))
        .map(|(_, port)| port);
    let port = port.and_then(|port| port.parse::<u16>().ok());
    let port = port.unwrap_or_else(|| app.reached.address.port());
    let Reached { own_name, .. } = &app.reached;
    format!("{}://{own_name}:{port}{path}", app.reached.scheme())
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.is_empty() => name,
        _ => host,
    }
}

/// A request that changes something must come from our own page: browsers send
/// `Origin` with it, and it must be the host that was asked.
fn from_our_page(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match (text("origin"), text("host")) {
        (Some(origin), Some(host)) => {
            let authority = origin.split_once("://").map(|(_, rest)| rest);
            authority == Some(host)
        }
        _ => false,
    }
}

/// The session cookie of a request.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<String> {
    headers.get_all("cookie").iter().find_map(|value| {
        value.to_str().ok()?.split(';').find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == COOKIE).then(|| value.to_owned())
        })
    })
}

/// A session as a cookie. Where the page is reached encrypted, the browser shows it
/// nowhere else.
pub(crate) fn set_cookie(app: &App, headers: &HeaderMap, session: &str) -> String {
    let life = match session {
        "" => 0,
        _ => 30 * 24 * 3600,
    };
    let host = headers.get("host").and_then(|host| host.to_str().ok());
    let secure = match app.reached.base(host).starts_with("https") {
        true => "; Secure",
        false => "",
    };
    format!("{COOKIE}={session}; Path=/; HttpOnly; SameSite=Lax; Max-Age={life}{secure}")
}

/// A browser as people would name it, from what it says of itself.
pub(crate) fn browser_name(agent: &str) -> String {
    // The more particular first: each claims to be the ones after it as well.
    const BROWSERS: [(&str, &str); 5] = [
        ("Edg/", "Edge"),
        ("Firefox/", "Firefox"),
        ("OPR/", "Opera"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 6] = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS", "macOS"),
        ("Linux", "Linux"),
    ];
    let found = |list: &[(&str, &'static str)]| {
        list.iter()
            .find(|(mark, _)| agent.contains(mark))
            .map(|(_, name)| *name)
    };
    match (found(&BROWSERS), found(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => agent.chars().take(40).collect(),
    }
}

/// Whether a form was sent by our own page; for login, which has no session yet.
pub(crate) fn own_form(headers: &HeaderMap) -> bool {
    from_our_page(headers)
}

/// A person, by token or by session.
pub(crate) struct Somebody {
    pub(crate) app: Arc<App>,
    pub(crate) person: Person,
}

impl Somebody {
    /// Does something in the store, of which there is nothing to say afterwards.
    pub(crate) async fn does(
        self,
        work: impl FnOnce(&mut Tx<'_>, &Person) -> Result<()> + Send + 'static,
    ) -> Answer {
        let Self { app, person } = self;
        app.write(move |tx| work(tx, &person)).await?;
        done()
    }

    /// The same where the hub is the workspace.
    pub(crate) async fn does_here(
        self,
        work: impl FnOnce(&mut Tx<'_>, &Person) -> Result<()> + Send + 'static,
    ) -> Answer {
        person_actions::only_here(&self.app)?;
        self.does(work).await
    }

    /// Looks something up, and answers it under a name.
    pub(crate) async fn sees<T: Serialize + Send + 'static>(
        self,
        name: &str,
        look: impl FnOnce(&Db, &Person) -> Result<T> + Send + 'static,
    ) -> Answer {
        let Self { app, person } = self;
        let found = app.read(move |db| look(db, &person)).await?;
        well(json!({ name: found }))
    }
}

impl FromRequestParts<Arc<App>> for Somebody {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refused> {
        let reads = matches!(parts.method, Method::GET | Method::HEAD);
        let person = caller(app, &parts.headers, reads).await?;
        let app = Arc::clone(app);
        Ok(Self { app, person })
    }
}

async fn caller(app: &App, headers: &HeaderMap, reads: bool) -> Result<Person, Refused> {
    if let Some(token) = web_api::bearer(headers) {
        return match app.identify(&token).await? {
            Some(Identity::Person(person)) => Ok(person),
            Some(_) => Err(Refused(Refusal::NotAPerson)),
            None => Err(Refused(Refusal::InvalidAuth)),
        };
    }
    let Some(session) = cookie(headers) else {
        return Err(Refused(Refusal::NotAuthed));
    };
    if !reads && !from_our_page(headers) {
        return Err(Refused(Refusal::ForeignOrigin));
    }
    let host = host_of(headers);
    let look = move |db: &Db| tokens::of_session(db, &session, &host);
    let person = app.read(look).await?;
    person.ok_or(Refused(Refusal::InvalidAuth))
}

/// Whether whoever sent these headers may still look.
pub(crate) async fn is_in(app: &App, headers: &HeaderMap) -> bool {
    caller(app, headers, true).await.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read_without_its_port() {
        assert_eq!(without_port("127.0.0.1:7878"), "127.0.0.1");
        assert_eq!(without_port("[::1]:7878"), "[::1]");
        assert_eq!(without_port("[::1]"), "[::1]");
        assert_eq!(without_port("localhost"), "localhost");
    }

    #[test]
    fn only_our_own_page_may_change_things() {
        let check = |origin: Option<&str>, host: &str| {
            let mut headers = HeaderMap::new();
            if let Some(origin) = origin {
                headers.insert("origin", origin.parse().unwrap());
            }
            headers.insert("host", host.parse().unwrap());
            from_our_page(&headers)
        };
        assert!(check(Some("http://127.0.0.1:7878"), "127.0.0.1:7878"));
        assert!(!check(Some("http://evil.example"), "127.0.0.1:7878"));
        assert!(!check(Some("http://127.0.0.1:9999"), "127.0.0.1:7878"));
        assert!(!check(Some("null"), "127.0.0.1:7878"));
        assert!(!check(None, "127.0.0.1:7878"));
    }
}
