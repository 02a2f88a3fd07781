//! The addresses: `/api/<method>`, the socket, uploads, downloads, `response_url`.
//! Weather, tokens, limits and scopes come before any method.

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, State as Here},
    http::{
        HeaderMap, StatusCode,
        header::{HOST, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
    routing::{any, get, post},
};
use serde_json::{Map, Value, json};

use super::{Shared, chat, files, modals, reading, socket};

/// The answer of a method: fields, or Slack's name of the refusal.
pub(super) type Answer = Result<Value, Value>;

/// A refusal by name.
pub(super) fn no<T>(error: &str) -> Result<T, Value> {
    Err(json!({"ok": false, "error": error}))
}

pub(super) fn router(shared: Shared) -> Router {
    Router::new()
        .route("/api/{method}", any(handle))
        .route("/link/", get(socket::handle))
        .route("/upload/{id}", post(files::upload))
        .route("/files-pri/{id}", get(files::download))
        .route("/actions/{key}", post(respond))
        .with_state(shared)
}

/// The arguments of a call, nested values read.
#[derive(Debug, Default)]
pub(super) struct Args(Map<String, Value>);

impl Args {
    fn read(headers: &HeaderMap, body: &[u8]) -> Self {
        let kind = headers.get("content-type");
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("application/json") {
            return Self(serde_json::from_slice(body).unwrap_or_default());
        }
        let mut fields = Map::new();
        for (name, value) in url::form_urlencoded::parse(body) {
            let nested = value.starts_with(['{', '[']);
            let value = match serde_json::from_str(&value) {
                Ok(read) if nested => read,
                _ => json!(value),
            };
            fields.insert(name.into_owned(), value);
        }
        Self(fields)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0
            .get(name)
            .filter(|value| !value.is_null() && **value != json!(""))
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.get(name)? {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.text(name).as_deref(), Some("true" | "1"))
    }
}

async fn handle(
    Here(shared): Here<Shared>,
    Path(method): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let args = Args::read(&headers, &body);
    let (scopes, pause) = {
        let mut state = shared.lock();
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = host.and_then(|host| host.split(':').next());
        state.visited(host.unwrap_or_default(), &method);
        state.calls.push(method.clone());
        if state.down {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        let limits = state.limits;
        let channel = args.text("channel");
        if !state.meter.admits(&limits, &method, channel.as_deref()) {
            state.refusals += 1;
            let wait = limits.retry_after.to_string();
            let body = json!({"ok": false, "error": "ratelimited"});
            return (
                StatusCode::TOO_MANY_REQUESTS,
                [(RETRY_AFTER, wait)],
                Json(body),
            )
                .into_response();
        }
        (state.scopes.join(","), state.slow_answers)
    };
    let answer = match admitted(&shared, &method, &headers) {
        Ok(()) => call(&shared, &method, &args),
        Err(refused) => Err(refused),
    };
    if method == "chat.postMessage" && answer.is_ok() {
        tokio::time::sleep(pause).await;
        let lost = {
            let mut state = shared.lock();
            let lost = state.lost_answers > 0;
            state.lost_answers = state.lost_answers.saturating_sub(1);
            lost
        };
        if lost {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
    }
    let body = match answer {
        Ok(mut fields) => {
            fields["ok"] = json!(true);
            fields
        }
        Err(refused) => refused,
    };
    ([("x-oauth-scopes", scopes)], Json(body)).into_response()
}

/// Token and scope.
fn admitted(shared: &Shared, method: &str, headers: &HeaderMap) -> Result<(), Value> {
    let state = shared.lock();
    let given = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    let Some(token) = given.and_then(|value| value.strip_prefix("Bearer ")) else {
        return no("not_authed");
    };
    let wanted = if method == "apps.connections.open" {
        &state.app_token
    } else {
        &state.bot_token
    };
    if token != wanted {
        let other = token == state.app_token || token == state.bot_token;
        return no(if other {
            "not_allowed_token_type"
        } else {
            "invalid_auth"
        });
    }
    if state.revoked {
        return no("token_revoked");
    }
    if method == "apps.connections.open" && state.mishaps.no_connections {
        return Err(json!({"ok": false, "error": "missing_scope",
            "needed": "connections:write", "provided": "authorizations:read"}));
    }
    match scope_of(method) {
        Some(scope) if !state.has(scope) => Err(json!({"ok": false, "error": "missing_scope",
            "needed": scope, "provided": state.scopes.join(",")})),
        _ => Ok(()),
    }
}

fn scope_of(method: &str) -> Option<&'static str> {
    Some(match method {
        "chat.postMessage" | "chat.update" | "chat.delete" | "chat.postEphemeral" => "chat:write",
        "conversations.history" | "conversations.replies" => "channels:history",
        "conversations.list" | "conversations.info" | "conversations.members" => "channels:read",
        "conversations.join" => "channels:join",
        "conversations.create" | "conversations.invite" => "channels:manage",
        "reactions.get" => "reactions:read",
        "reactions.add" | "reactions.remove" => "reactions:write",
        "users.info" | "users.list" => "users:read",
        "usergroups.users.list" => "usergroups:read",
        "files.info" => "files:read",
        "files.getUploadURLExternal" | "files.completeUploadExternal" => "files:write",
        _ => return None,
    })
}

fn call(shared: &Shared, method: &str, args: &Args) -> Answer {
    let mut state = shared.lock();
    let state = &mut *state;
    match method {
        "auth.test" => reading::auth_test(state),
        "apps.connections.open" => reading::connections_open(state),
        "users.info" => reading::user(state, args),
        "users.list" => reading::users(state),
        "usergroups.users.list" => reading::group(state, args),
        "conversations.list" => reading::channels(state, args),
        "conversations.info" => reading::channel(state, args),
        "conversations.members" => reading::members(state, args),
        "conversations.invite" => reading::invite(state, args),
        "conversations.archive" => reading::archive(state, args),
        "views.publish" => chat::publish(state, args),
        "views.open" => modals::open(state, args),
        "assistant.threads.setStatus" => chat::status(state, args),
        "conversations.join" => reading::join(state, args),
        "conversations.create" => reading::create(state, args),
        "conversations.history" => reading::history(state, args),
        "conversations.replies" => reading::replies(state, args),
        "reactions.get" => reading::reactions(state, args),
        "chat.postMessage" => chat::post(state, args),
        "chat.postEphemeral" => chat::ephemeral(state, args),
        "chat.update" => chat::update(state, args),
        "chat.delete" => chat::delete(state, args),
        "chat.getPermalink" => chat::permalink(state, args),
        "reactions.add" => chat::react(state, args, true),
        "reactions.remove" => chat::react(state, args, false),
        "files.getUploadURLExternal" => files::address(state, args),
        "files.completeUploadExternal" => files::complete(shared, state, args),
        "files.info" => files::info(state, args),
        _ => no("unknown_method"),
    }
}

/// `response_url`: no token, the address is the secret, five uses.
async fn respond(
    Here(shared): Here<Shared>,
    Path(key): Path<String>,
    Json(answer): Json<Value>,
) -> Response {
    let mut state = shared.lock();
    if state.down {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let Some((channel, ts, uses)) = state.urls.get_mut(&key) else {
        return (StatusCode::NOT_FOUND, "expired_url").into_response();
    };
    if *uses == 0 {
        return (StatusCode::NOT_FOUND, "used_url").into_response();
    }
    *uses -= 1;
    let (channel, ts) = (channel.clone(), ts.clone());
    state.responses.push(answer.clone());
    if answer["replace_original"] == json!(true) {
        let fields = json!({"text": answer["text"], "blocks": answer["blocks"]});
        state.changed(&channel, &ts, Some(&fields));
    } else if answer["response_type"] == json!("in_channel") {
        let fields = json!({"subtype": "bot_message", "bot_id": super::state::BOT,
            "app_id": super::state::APP, "text": answer["text"]});
        let root = state.channels[&channel].messages.get(&ts).cloned();
        let root = root.and_then(|root| root["thread_ts"].as_str().map(str::to_owned));
        state.write(&channel, root.as_deref(), fields);
    }
    "ok".into_response()
}
