//! Stand-ins for GitLab, Gitea and Forgejo, made from their documentation: real HTTP servers
//! on this machine with their paths, fields, pages, status codes and words. What a person
//! does there is done as on GitHub's stand-in, whose state they share.
//!
//! They were never compared with the real ones, which need a service that cannot be had here.

mod gitea;
mod gitlab;

use std::{
    collections::HashMap,
    net::SocketAddr,
    ops::Deref,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::to_bytes,
    extract::{Request, State as Axum},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{GitHub, ScratchRepo, github::State};

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// GitLab, as a new project is set up: a squash, and a merge commit for it.
    GitLab,
    /// Gitea.
    Gitea,
    /// Forgejo: Gitea without its logs of jobs.
    Forgejo,
}

/// A stand-in; it stops when dropped.
#[derive(Debug)]
pub struct Hosted {
    inner: GitHub,
    address: SocketAddr,
    flavour: Flavour,
}

impl Deref for Hosted {
    type Target = GitHub;

    fn deref(&self) -> &GitHub {
        &self.inner
    }
}

impl Hosted {
    /// The name under which the scratch repository's remote is known.
    pub const HOST: &str = "forge.example.invalid";

    /// Puts a scratch repository there: its first clone's remote becomes
    /// `git@forge.example.invalid:you/scratch.git`.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn serve(scratch: &ScratchRepo, flavour: Flavour) -> Self {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let inner = GitHub::begin(scratch, Self::HOST, |_, state| {
            listener.set_nonblocking(true).expect("a socket");
            let place = Place {
                state,
                flavour,
                seen: Arc::default(),
            };
            let app = Router::new().fallback(answer).with_state(place);
            tokio::spawn(async move {
                let listener = TcpListener::from_std(listener).expect("a socket");
                axum::serve(listener, app)
                    .await
                    .expect("the stand-in serves");
            })
        });
        Self {
            inner,
            address,
            flavour,
        }
    }

    /// Where it answers.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the machine's config calls it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.flavour {
            Flavour::GitLab => "gitlab",
            Flavour::Gitea | Flavour::Forgejo => "gitea",
        }
    }

    /// The only token that it takes.
    #[must_use]
    pub fn token() -> String {
        ["not", "a", "real", "token"].join("-")
    }
}

#[derive(Clone)]
struct Place {
    state: Arc<Mutex<State>>,
    flavour: Flavour,
    /// When each pull request was changed last, as far as anybody looked.
    seen: Arc<Mutex<HashMap<usize, (String, u64)>>>,
}

/// A request.
struct Asked {
    method: String,
    /// Below the repository; `/…` for what is about none.
    parts: Vec<String>,
    query: HashMap<String, String>,
    body: Value,
}

impl Asked {
    fn text(&self, name: &str) -> String {
        self.body[name].as_str().unwrap_or_default().to_owned()
    }

    fn number(&self, name: &str, default: usize) -> usize {
        let value = self.query.get(name).and_then(|value| value.parse().ok());
        value.unwrap_or(default)
    }
}

/// An answer.
struct Reply {
    status: u16,
    body: Value,
    /// A text instead.
    text: Option<String>,
    /// Where the list goes on.
    next: Option<usize>,
}

fn reply(status: u16, body: Value) -> Reply {
    Reply {
        status,
        body,
        text: None,
        next: None,
    }
}

fn refuse(status: u16, message: &str) -> Reply {
    reply(status, json!({ "message": message }))
}

fn text(text: String) -> Reply {
    Reply {
        text: Some(text),
        ..reply(200, Value::Null)
    }
}

/// One page of a list.
fn page(items: Vec<Value>, size: usize, page: usize) -> Reply {
    let more = items.len() > size * page;
    let part = items.into_iter().skip(size * (page - 1)).take(size);
    Reply {
        next: more.then_some(page + 1),
        ..reply(200, part.collect())
    }
}

async fn answer(Axum(place): Axum<Place>, request: Request) -> Response {
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let line = format!("{method} {path}");
    let asking = path.ends_with("/graphql");
    let known = has_token(request.headers(), place.flavour);
    let query = request.uri().query().unwrap_or_default().to_owned();
    let query = url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    let bytes = to_bytes(request.into_body(), 1 << 20)
        .await
        .unwrap_or_default();
    let mut state = lock(&place.state);
    state.requests.push(line);
    if let Some((status, why)) = state.no_answer.clone() {
        return shown(refuse(status, &why));
    }
    if !known {
        return shown(refuse(401, "401 Unauthorized"));
    }
    let asked = Asked {
        method: method.to_string(),
        parts: path.split('/').map(decoded).collect(),
        query,
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
    };
    let reply = match place.flavour {
        Flavour::GitLab => gitlab::answer(&mut state, &asked),
        flavour => gitea::answer(&mut state, &mut lock(&place.seen), flavour, &asked),
    };
    if method != Method::GET && !asking && state.lost_answers > 0 {
        state.lost_answers -= 1;
        return shown(refuse(502, "Bad Gateway"));
    }
    shown(reply)
}

fn lock<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn has_token(headers: &HeaderMap, flavour: Flavour) -> bool {
    let scheme = if flavour == Flavour::GitLab {
        "Bearer"
    } else {
        "token"
    };
    let given = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    given == Some(format!("{scheme} {}", Hosted::token()).as_str())
}

fn decoded(part: &str) -> String {
    // A plus is a plus in a path.
    let pair = format!("x={}", part.replace('+', "%2B"));
    let mut pairs = url::form_urlencoded::parse(pair.as_bytes());
    pairs
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

fn shown(reply: Reply) -> Response {
    let status = StatusCode::from_u16(reply.status).expect("a status");
    let mut response = match reply.text {
        Some(text) => (status, text).into_response(),
        None if reply.body.is_null() => status.into_response(),
        None => (status, axum::Json(reply.body)).into_response(),
    };
    if let Some(next) = reply.next {
        let link = format!("<http://127.0.0.1/?page={next}>; rel=\"next\"");
        response
            .headers_mut()
            .insert(header::LINK, link.parse().expect("a header"));
    }
    response
}

impl State {
    /// What is wrong with a merge of this head, if anything.
    fn merges(&self, base: &str, head: &str) -> bool {
        self.try_git(&["merge-tree", "--write-tree", base, head])
            .is_some()
    }
}
