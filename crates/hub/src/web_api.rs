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
use butler_protocol::{Epoch, Sha256Hex};
use butler_slack::{EPOCH_HEADER, THREAD_HEADER};
use serde_json::{Value, json};

use crate::{
    agent_api::Caller,
    error::{Refusal, Result, Trouble, refuse},
    hub::App,
    identity::{Agent, Fence, Identity},
    relay,
};
pub(crate) use conversations::changes;

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

pub(crate) async fn by_method(method: &str, mut call: Call) -> Result<Value> {
    if method == "chat.postMessage" {
        conversations::by_name(&mut call).await?;
    }
    if let Some(relay) = call.app.relay.clone()
        && relay::answers(method)
    {
        return relay::call(relay, method, call).await;
    }
    match method {
        "auth.test" => who::auth_test(call).await,
        "team.info" => who::team_info(call).await,
        "bots.info" => who::bots_info(call).await,
        "users.info" => who::users_info(call).await,
        "users.list" => who::users_list(call).await,
        "conversations.list" => conversations::list(call).await,
        "conversations.info" => conversations::info(call).await,
        "conversations.create" => conversations::create(call).await,
        "conversations.join" => changes::join(call).await,
        "conversations.members" => conversations::members(call).await,
        "conversations.history" => conversations::history(call).await,
        "conversations.replies" => conversations::replies(call).await,
        "chat.postMessage" => chat::post_message(call).await,
        "chat.postEphemeral" => chat::post_ephemeral(call).await,
        "chat.update" => chat::update(call).await,
        "chat.delete" => chat::delete(call).await,
        "chat.getPermalink" => chat::get_permalink(call).await,
        "reactions.add" => reactions::change(call, true).await,
        "reactions.remove" => reactions::change(call, false).await,
        "reactions.get" => reactions::get(call).await,
        "reactions.list" => reactions::list(call).await,
        "files.getUploadURLExternal" => files::get_upload_url(call).await,
        "files.completeUploadExternal" => files::complete_upload(call).await,
        "files.info" => files::info(call).await,
        "users.conversations" => conversations::of_user(call).await,
        "users.lookupByEmail" => who::lookup_by_email(call).await,
        "users.profile.get" => who::profile(call).await,
        "users.getPresence" => who::presence(call).await,
        "emoji.list" => Ok(json!({"emoji": {}, "cache_ts": "0"})),
        "usergroups.list" => Ok(json!({"usergroups": []})),
        "usergroups.users.list" => refuse(Refusal::NoSuchSubteam),
        // The rest changes what only the built-in workspace keeps.
        _ if call.app.relay.is_some() => refuse(Refusal::UnknownMethod),
        _ => built_in(method, call).await,
    }
}

/// What apps of others expect, and ours do without.
async fn built_in(method: &str, call: Call) -> Result<Value> {
    match method {
        "conversations.open" => changes::open(call).await,
        "conversations.close" => changes::close(call).await,
        "conversations.invite" => changes::invite(call).await,
        "conversations.kick" => changes::kick(call).await,
        "conversations.leave" => changes::leave(call).await,
        "conversations.setTopic" => changes::describe(call, "topic").await,
        "conversations.setPurpose" => changes::describe(call, "purpose").await,
        "conversations.archive" => changes::put_away(call, true).await,
        "conversations.unarchive" => changes::put_away(call, false).await,
        "conversations.rename" => changes::rename(call).await,
        "conversations.mark" => changes::mark(call).await,
        "chat.scheduleMessage" => chat::schedule::schedule(call).await,
        "chat.deleteScheduledMessage" => chat::schedule::delete(call).await,
        "chat.scheduledMessages.list" => chat::schedule::list(call).await,
        "chat.meMessage" => chat::unfurl::me_message(call).await,
        "chat.unfurl" => chat::unfurl::unfurl(call).await,
        "chat.startStream" => chat::streams::start(call).await,
        "chat.appendStream" => chat::streams::go_on(call, false).await,
        "chat.stopStream" => chat::streams::go_on(call, true).await,
        "pins.add" => pins::pin(call, true).await,
        "pins.remove" => pins::pin(call, false).await,
        "pins.list" => pins::list(call).await,
        "bookmarks.add" => pins::add_bookmark(call).await,
        "bookmarks.edit" => pins::edit_bookmark(call).await,
        "bookmarks.remove" => pins::remove_bookmark(call).await,
        "bookmarks.list" => pins::bookmarks(call).await,
        "files.list" => files::list(call).await,
        "files.delete" => files::delete(call).await,
        "views.open" => views::open(call).await,
        "views.push" => views::push(call).await,
        "views.update" => views::update(call).await,
        "views.publish" => views::publish(call).await,
        "assistant.threads.setStatus" => assistant::set_status(call).await,
        "assistant.threads.setTitle" | "agents.sessions.rename" => assistant::set_title(call).await,
        "agents.sessions.setStatus" => assistant::set_session(call).await,
        "assistant.threads.setSuggestedPrompts" => assistant::set_prompts(call).await,
        _ => refuse(not_for_apps(method)),
    }
}

/// What Slack has and refuses to an app like ours, as it refuses it; the rest is unknown.
fn not_for_apps(method: &str) -> Refusal {
    match method.split('.').next().unwrap_or_default() {
        "admin" | "reminders" | "search" | "stars" => Refusal::NotAllowedTokenType,
        "calls" | "canvases" | "dnd" | "slackLists" | "usergroups" => Refusal::MissingScope,
        _ => Refusal::UnknownMethod,
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
