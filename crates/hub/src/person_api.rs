//! `/v1/…`: JSON of everything the page shows, and everything a person can do
//! on it, for scripts and tests.

pub(crate) mod edits;
pub(crate) mod guard;
pub(crate) mod live;
pub(crate) mod message_form;
pub(crate) mod people;
pub(crate) mod person_actions;
pub(crate) mod view_api;
pub(crate) mod views;
mod waking;

use std::{convert::Infallible, sync::Arc};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Path, Query, Request},
    http::HeaderMap,
    response::sse::{Event as SseEvent, KeepAlive, Sse},
    routing::{get, post},
};
use butler_protocol::{ChannelId, MessageTs, RequestId, ThreadId};
use futures_util::{Stream, StreamExt};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    error::{Answer, Refusal, Refused, done, well},
    hub::App,
    identity::Person,
    log::{self, LoggedEvent, Notice, Shake},
    person_api::live::{heard, session_ended},
    store::{Db, Tx},
    views::{Window, agents as all_agents, overview},
    web_api::assistant,
    workspace::{
        access, channels,
        decide::{self, edited::PlanEdit},
        ephemeral, read,
    },
};

pub(crate) use guard::Somebody;
pub(crate) use person_actions::{MessageForm, Press};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/me", get(me))
        .route("/v1/messages", post(say))
        .route("/v1/actions", post(press))
        .route("/v1/plans/approve", post(approve_edited))
        .route("/v1/reactions", post(react).delete(unreact))
        .route("/v1/ephemerals/dismiss", post(dismiss))
        .route("/v1/channels", get(list_channels))
        .route("/v1/channels/{channel}/messages", get(channel_messages))
        .route("/v1/threads/{channel}/{ts}", get(thread))
        .route("/v1/decisions", get(decisions))
        .route("/v1/agents", get(agents))
        .route("/v1/events", get(events))
        .route("/v1/test/shake", post(shake))
        .merge(waking::routes())
        .layer(DefaultBodyLimit::max(message_form::BODY_LIMIT))
}

async fn me(Somebody { app, person }: Somebody) -> Answer {
    let (rules, who) = (app.rules.clone(), person.clone());
    let look = app.read(move |db| access::standing(db, &rules, &who));
    well(json!({"user": person.id, "name": person.name, "role": look.await?}))
}

/// JSON, or a form with files (`channel`, `text`, `thread_ts`, `file`…).
async fn say(Somebody { app, person }: Somebody, request: Request) -> Answer {
    let form = message_form::read(&app, request, None).await?;
    let channel = form.channel.clone();
    let (ts, message) = person_actions::say(&app, person, form).await?;
    well(json!({"channel": channel, "ts": ts, "message": message}))
}

#[derive(Deserialize)]
struct Pressing {
    channel: ChannelId,
    ts: MessageTs,
    #[serde(flatten)]
    press: Press,
}

async fn press(Somebody { app, person }: Somebody, Json(pressing): Json<Pressing>) -> Answer {
    let Pressing { channel, ts, press } = pressing;
    let decision = person_actions::press(&app, person, channel, ts, press).await?;
    well(json!({"decision": decision}))
}

#[derive(Deserialize)]
struct Approving {
    channel: ChannelId,
    ts: MessageTs,
    request: RequestId,
    #[serde(flatten)]
    edit: PlanEdit,
}

async fn approve_edited(Somebody { app, person }: Somebody, Json(a): Json<Approving>) -> Answer {
    let place = (a.channel, a.ts);
    let decided = person_actions::approve_edited(&app, person, place, a.request, a.edit).await?;
    well(json!({"decision": decided}))
}

#[derive(Deserialize)]
struct Reacting {
    channel: ChannelId,
    ts: MessageTs,
    name: String,
}

async fn react(somebody: Somebody, Json(what): Json<Reacting>) -> Answer {
    reacted(somebody, what, true).await
}

async fn unreact(somebody: Somebody, Json(what): Json<Reacting>) -> Answer {
    reacted(somebody, what, false).await
}

async fn reacted(Somebody { app, person }: Somebody, r: Reacting, add: bool) -> Answer {
    person_actions::react(&app, person, r.channel, r.ts, r.name, add).await?;
    done()
}

#[derive(Deserialize)]
struct Noted {
    channel: ChannelId,
    ts: MessageTs,
}

/// Puts away a message that only this person sees.
async fn dismiss(somebody: Somebody, Json(note): Json<Noted>) -> Answer {
    let work = move |tx: &mut Tx<'_>, person: &Person| {
        ephemeral::dismiss(tx, &note.channel, &note.ts, &person.id)
    };
    somebody.does(work).await
}

async fn list_channels(somebody: Somebody) -> Answer {
    let look = |db: &Db, _: &Person| {
        let all = channels::list(db, None)?;
        let shown = all.iter().map(|channel| channels::shown(db, channel));
        shown.collect::<Result<Vec<Value>, _>>()
    };
    somebody.sees("channels", look).await
}

#[derive(Deserialize)]
struct Paging {
    limit: Option<usize>,
    cursor: Option<String>,
}

impl Paging {
    fn range(self) -> read::Range {
        read::Range {
            limit: self.limit.unwrap_or(200).clamp(1, 999),
            cursor: self.cursor.filter(|cursor| !cursor.is_empty()),
            all_metadata: true,
            ..read::Range::default()
        }
    }
}

async fn channel_messages(
    Somebody { app, person }: Somebody,
    Path(channel): Path<ChannelId>,
    Query(paging): Query<Paging>,
) -> Answer {
    let range = paging.range();
    let look = app.read(move |db| {
        channels::get(db, &channel)?;
        let own = ephemeral::of(db, &channel, None, &person.id)?;
        Ok((read::history(db, &channel, &range)?, own))
    });
    let (page, own) = look.await?;
    well(json!({"messages": page.messages, "ephemerals": own,
        "response_metadata": {"next_cursor": page.next_cursor}}))
}

/// `limit` and `before` ask for the newest part of a long thread.
#[derive(Deserialize)]
struct Part {
    limit: Option<usize>,
    before: Option<MessageTs>,
}

async fn thread(
    Somebody { app, person }: Somebody,
    Path((channel, ts)): Path<(ChannelId, MessageTs)>,
    Query(part): Query<Part>,
) -> Answer {
    let caps = app.rules.caps.clone();
    let window = Window {
        before: part.before,
        limit: part.limit.map(|limit| limit.clamp(1, 999)),
    };
    let (view, own, people, assistant) = app
        .read(move |db| {
            let mut view = overview::thread(db, &ThreadId::new(channel, ts), &caps, &window)?;
            view.records = overview::records(db, &view.thread)?;
            let (channel, root) = (&view.thread.channel, &view.thread.root);
            let own = ephemeral::of(db, channel, Some(root), &person.id)?;
            let people = channels::users(db)?.into_iter();
            let people: Map<String, Value> = people
                .filter_map(|user| Some((user["id"].as_str()?.to_owned(), user["name"].clone())))
                .collect();
            let assistant = assistant::of(db, &view.thread)?;
            Ok((view, own, people, assistant))
        })
        .await?;
    let mut answer = serde_json::to_value(view).map_err(crate::error::Trouble::Json)?;
    answer["ephemerals"] = json!(own);
    answer["people"] = Value::Object(people);
    answer["assistant"] = assistant;
    well(answer)
}

#[derive(Deserialize)]
struct Which {
    open: Option<String>,
}

async fn decisions(somebody: Somebody, Query(which): Query<Which>) -> Answer {
    let open_only = matches!(which.open.as_deref(), Some("1" | "true"));
    let look = move |db: &Db, _: &Person| decide::list(db, open_only);
    somebody.sees("decisions", look).await
}

async fn agents(Somebody { app, .. }: Somebody) -> Answer {
    let (online, known) = (
        app.presence.online(),
        app.presence.facts.known(app.store.now_ms()),
    );
    let look = app.read(move |db| all_agents::all(db, &online, known));
    well(json!({"agents": look.await?, "version": app.version}))
}

#[derive(Deserialize)]
struct Since {
    after: Option<u64>,
}

/// Everything that happens, as server-sent events. `Last-Event-ID` (or `after`)
/// resumes where a reader stopped.
async fn events(
    Somebody { app, person }: Somebody,
    Query(since): Query<Since>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<SseEvent, Infallible>>>, Refused> {
    let last = headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .or(since.after);
    let notices = app.notices.subscribe();
    let ended = session_ended(Arc::clone(&app), headers, person.id.clone());
    let missed = match last {
        Some(after) => {
            let look = move |db: &Db| log::events_after(db, after, 1000);
            app.read(look).await?
        }
        None => Vec::new(),
    };
    let already = missed.last().map_or(0, |event| event.seq);
    let cancel = app.cancel.clone();
    let old = futures_util::stream::iter(missed.into_iter().map(|event| told(&event)));
    let live = heard(
        notices,
        cancel,
        move |notice: &Arc<Notice>| match &**notice {
            Notice::Event(event) if event.seq > already => Some(told(event)),
            Notice::Page(thread) => Some(page_changed(thread)),
            Notice::Presence => Some(SseEvent::default().event("agents").data("{}")),
            Notice::Whisper { to, message } if *to == person.id => Some(whispered(message)),
            _ => None,
        },
    );
    let all = old.chain(live).take_until(ended);
    Ok(Sse::new(all.map(Ok)).keep_alive(KeepAlive::default()))
}

fn told(event: &LoggedEvent) -> SseEvent {
    let data = json!({"seq": event.seq, "channel": event.channel, "root": event.root,
        "kind": event.kind, "at_ms": event.at_ms, "from": event.from,
        "payload": event.frame["payload"], "codebutler": event.frame["codebutler"]});
    SseEvent::default()
        .id(event.seq.to_string())
        .event("event")
        .data(data.to_string())
}

/// What only this person is told.
fn whispered(message: &Value) -> SseEvent {
    SseEvent::default()
        .event("ephemeral")
        .data(message.to_string())
}

fn page_changed(thread: &ThreadId) -> SseEvent {
    SseEvent::default()
        .event("page")
        .data(json!(thread).to_string())
}

#[derive(Deserialize)]
struct Shaking {
    kind: Shake,
}

/// For tests: disconnect frames, or all sockets dropped.
async fn shake(Somebody { app, .. }: Somebody, Json(shaking): Json<Shaking>) -> Answer {
    if !app.test_hooks {
        return Err(Refused(Refusal::NoTestHooks));
    }
    let _ = app.notices.send(Arc::new(Notice::Shake(shaking.kind)));
    done()
}
