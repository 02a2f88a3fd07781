//! Slack's Web API: `/api/<method>`. Errors are HTTP 200 with Slack's names;
//! the token is in the header or in the `token` field.

pub(crate) mod file_transfer;
pub(crate) mod response_url;

pub(crate) mod args;
pub(crate) mod assistant;
pub(crate) mod blocks;
pub(crate) mod chat;
mod conversations;
pub(crate) mod files;
mod methods;
mod own_files;
mod pins;
mod reactions;
mod views;
pub(crate) mod who;

use std::{ops::Deref, sync::Arc, time::Instant};

use args::Args;
use axum::{
    Json,
    extract::{Path, Request, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use butler_protocol::{ChannelId, Epoch, MessageTs, Sha256Hex};
use butler_slack::{EPOCH_HEADER, THREAD_HEADER};
use serde_json::{Value, json};

use crate::{
    agent_api::Caller,
    error::{Refusal, Result, Trouble, refuse},
    hub::App,
    identity::{Agent, Fence, Identity},
    store::Db,
};
pub(crate) use conversations::changes;
pub(crate) use methods::by_method;

/// What our app may do, as Slack names it in every answer's header.
const SCOPES: &str = "app_mentions:read,assistant:write,bookmarks:read,bookmarks:write,\
channels:history,channels:join,channels:manage,channels:read,chat:write,chat:write.customize,\
commands,emoji:read,files:read,files:write,groups:history,groups:read,groups:write,im:history,\
im:read,im:write,links:write,mpim:read,mpim:write,pins:read,pins:write,reactions:read,\
reactions:write,usergroups:read,users.profile:read,users:read,users:read.email";

/// A call with its caller known.
pub(crate) struct Call {
    pub(crate) caller: Caller,
    pub(crate) args: Args,
    pub(crate) headers: HeaderMap,
    /// Whether the hub itself asks, as the owner of its store.
    pub(crate) as_owner: bool,
}

impl Call {
    /// What the hub itself does, for an agent.
    pub(crate) fn of_hub(app: &Arc<App>, agent: Agent, args: Args) -> Self {
        Self {
            caller: Caller {
                app: Arc::clone(app),
                agent,
                fence: None,
            },
            args,
            headers: HeaderMap::new(),
            as_owner: false,
        }
    }

    /// The channel that a call names, if the caller may use it.
    fn channel(&self, db: &Db) -> Result<ChannelId> {
        let channel = self.args.channel()?;
        self.agent.may_use(db, &channel)?;
        Ok(channel)
    }

    /// The same with the message that it names as `ts`. What a call lacks is said first.
    fn message(&self, db: &Db) -> Result<(ChannelId, MessageTs)> {
        let (_, ts) = (self.args.channel()?, self.args.message()?);
        Ok((self.channel(db)?, ts))
    }

    /// The same where the message is named as `timestamp`.
    fn item(&self, db: &Db) -> Result<(ChannelId, MessageTs)> {
        let (_, ts) = (self.args.channel()?, self.args.item()?);
        Ok((self.channel(db)?, ts))
    }
}

impl Deref for Call {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

/// `/api/<method>`, by GET or POST, with a form, JSON or multipart body.
pub(crate) async fn handle(
    State(app): State<Arc<App>>,
    Path(method): Path<String>,
    request: Request,
) -> Response {
    let begun = Instant::now();
    let answered = dispatch(Arc::clone(&app), &method, request).await;
    // Whoever invents a method, or has no token, makes no series of it.
    let unknown = [
        Refusal::UnknownMethod,
        Refusal::NotAuthed,
        Refusal::InvalidAuth,
    ];
    if !matches!(&answered, Err(Trouble::Refused(why)) if unknown.contains(why)) {
        let took = begun.elapsed();
        app.watched
            .counters
            .api_call(&method, answered.is_ok(), took);
    }
    let answer = match answered {
        Ok(mut answer) => {
            // `api.test` answers with the error that it was asked for.
            answer["ok"] = json!(answer.get("error").is_none());
            answer
        }
        // Agents repeat a call that was answered like this; an error they take as final.
        Err(Trouble::Away | Trouble::NotOwner | Trouble::Closed) => {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        // As Slack says it.
        Err(Trouble::Paced(wait)) => {
            let body = json!({"ok": false, "error": Refusal::Ratelimited.code()});
            let after = [("retry-after", (wait.as_secs() + 1).to_string())];
            return (StatusCode::TOO_MANY_REQUESTS, after, Json(body)).into_response();
        }
        Err(Trouble::Explained(refusal, what)) => json!({"ok": false, "error": refusal.code(),
            "errors": [what], "response_metadata": {"messages": [format!("[ERROR] {what}")]}}),
        Err(trouble) => json!({"ok": false, "error": trouble.refusal().code()}),
    };
    let headers = [
        ("x-oauth-scopes", SCOPES),
        ("x-accepted-oauth-scopes", wanted_scope(&method)),
    ];
    (headers, Json(answer)).into_response()
}

/// What a method asks for, as Slack names it in the answer's header.
fn wanted_scope(method: &str) -> &'static str {
    let (family, verb) = method.split_once('.').unwrap_or((method, ""));
    match (family, verb) {
        ("conversations", "history" | "replies") => {
            "channels:history,groups:history,mpim:history,im:history"
        }
        ("conversations", "join") => "channels:join",
        ("conversations", "list" | "info" | "members") | ("users", "conversations") => {
            "channels:read,groups:read,mpim:read,im:read"
        }
        ("conversations", _) => "channels:manage,groups:write,im:write,mpim:write",
        ("chat", "getPermalink") => "",
        ("chat", "unfurl") => "links:write",
        ("chat" | "assistant" | "agents", _) => "chat:write",
        ("reactions", "get" | "list") => "reactions:read",
        ("reactions", _) => "reactions:write",
        ("files", "info" | "list") => "files:read",
        ("files", _) => "files:write",
        ("pins", "list") => "pins:read",
        ("pins", _) => "pins:write",
        ("bookmarks", "list") => "bookmarks:read",
        ("bookmarks", _) => "bookmarks:write",
        ("users", "lookupByEmail") => "users:read.email",
        ("users", "profile.get") => "users.profile:read",
        ("users" | "bots", _) => "users:read",
        ("emoji", _) => "emoji:read",
        ("usergroups", _) => "usergroups:read",
        ("team", _) => "team:read",
        _ => "",
    }
}

async fn dispatch(app: Arc<App>, method: &str, request: Request) -> Result<Value> {
    let headers = request.headers().clone();
    let args = Args::read(request).await?;
    if method == "api.test" {
        let mut answer = json!({"args": args.all()});
        if let Some(error) = args.text("error") {
            answer["error"] = json!(error);
        }
        return Ok(answer);
    }
    let Some(token) = bearer(&headers).or_else(|| args.text("token")) else {
        return refuse(Refusal::NotAuthed);
    };
    let identity = app.identify(&token).await?;
    if let (Some(_), Some(limit)) = (&identity, app.rules.limits.api_calls) {
        let calls = &app.sockets.calls;
        if let Err(wait) = calls.take(&Sha256Hex::of(&token), limit) {
            if let Some(Identity::Bot(agent) | Identity::App(agent)) = &identity {
                app.watched
                    .counters
                    .refused(&agent.repo, "API calls of token");
            }
            return Err(Trouble::Paced(wait));
        }
    }
    if let Some(Identity::Person(person)) = identity {
        return own_files::answer(&app, person, method, &args, &headers).await;
    }
    let caller = |agent: Agent| Caller {
        app: Arc::clone(&app),
        agent,
        fence: fence_of(&headers),
    };
    let call = |agent: Agent| Call {
        caller: caller(agent),
        args,
        headers: headers.clone(),
        as_owner: false,
    };
    match identity {
        None | Some(Identity::Person(_)) => refuse(Refusal::InvalidAuth),
        Some(Identity::App(agent)) if method == "apps.connections.open" => {
            who::connections_open(call(agent)).await
        }
        Some(Identity::App(_)) => refuse(Refusal::NotAllowedTokenType),
        Some(Identity::Bot(_)) if method == "apps.connections.open" => {
            refuse(Refusal::NotAllowedTokenType)
        }
        Some(Identity::Bot(agent)) => by_method(method, call(agent)).await,
    }
}

/// The token of an `Authorization: Bearer` header.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("authorization")?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim().to_owned())
}

/// Which process calls, and in which thread it works, as our own client says.
pub(crate) fn fence_of(headers: &HeaderMap) -> Option<Fence> {
    let text = |name| headers.get(name)?.to_str().ok();
    Some(Fence {
        epoch: Epoch(text(EPOCH_HEADER)?.parse().ok()?),
        thread: text(THREAD_HEADER).and_then(|thread| thread.parse().ok()),
    })
}
