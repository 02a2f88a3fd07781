//! What roles do this very moment, for whoever looks. An agent asks whether somebody does
//! (`GET /agent/v1/live/…`, which waits) and sends pictures only then (`POST
//! /agent/v1/live`). They are in memory, and gone with the last who looked.

use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Path},
    http::HeaderMap,
    response::{
        IntoResponse, Response,
        sse::{Event as SseEvent, KeepAlive, Sse},
    },
    routing::{get, post},
};
use butler_protocol::{ChannelId, LiveWork, MessageTs, Role, ThreadId, Watched, visible};
use futures_util::StreamExt;
use serde_json::json;
use tokio::sync::watch;

use crate::{
    agent_api::Caller,
    error::{Refused, Result},
    hub::App,
    identity::Person,
    person_api::{Somebody, live::session_ended},
    store::Db,
    workspace::{channels, gate, message},
};

/// How long an agent's question waits for somebody to look.
const WAIT: Duration = Duration::from_secs(25);
/// A picture: characters of a text, of a diff, and steps.
const TEXT: usize = 16 * 1024;
const DIFF: usize = 96 * 1024;
const STEPS: usize = 60;
const BODY_LIMIT: usize = 1024 * 1024;

/// What every role does in a thread.
pub(crate) type Picture = BTreeMap<Role, Arc<LiveWork>>;

/// The threads that somebody looks at.
pub(crate) struct LiveWorks {
    threads: Mutex<HashMap<ThreadId, watch::Sender<Picture>>>,
    /// Moves when somebody begins to look.
    began: watch::Sender<u64>,
}

impl Default for LiveWorks {
    fn default() -> Self {
        Self {
            threads: Mutex::default(),
            began: watch::channel(0).0,
        }
    }
}

impl LiveWorks {
    fn threads(&self) -> MutexGuard<'_, HashMap<ThreadId, watch::Sender<Picture>>> {
        // Whole values only are put behind this lock.
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at a thread, until what is given back is dropped.
    pub(crate) fn look(&self, thread: &ThreadId) -> watch::Receiver<Picture> {
        let looks = {
            let mut threads = self.threads();
            // Those that nobody looks at any more make room.
            threads.retain(|_, picture| picture.receiver_count() > 0);
            let picture = threads.entry(thread.clone());
            picture
                .or_insert_with(|| watch::channel(Picture::new()).0)
                .subscribe()
        };
        self.began.send_modify(|count| *count += 1);
        looks
    }

    fn watched(&self, thread: &ThreadId) -> bool {
        let threads = self.threads();
        threads
            .get(thread)
            .is_some_and(|picture| picture.receiver_count() > 0)
    }

    /// Takes a picture; whether somebody looks.
    fn show(&self, role: Role, work: LiveWork) -> bool {
        let threads = self.threads();
        let Some(picture) = threads.get(&work.thread) else {
            return false;
        };
        let over = work == LiveWork::nothing(work.thread.clone());
        let work = Arc::new(work);
        picture.send_if_modified(|roles| {
            if over {
                return roles.remove(&role).is_some();
            }
            let before = roles.insert(role, Arc::clone(&work));
            before.as_ref() != Some(&work)
        });
        picture.receiver_count() > 0
    }
}

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/agent/v1/live", post(show))
        .route("/agent/v1/live/{channel}/{root}", get(wait))
        .route("/v1/threads/{channel}/{ts}/work", get(look))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
}

async fn allowed(caller: &Caller, thread: &ThreadId) -> Result<()> {
    let (agent, channel) = (caller.agent.clone(), thread.channel.clone());
    let look = move |db: &Db| agent.may_use(db, &channel);
    caller.app.read(look).await
}

/// Answers when somebody looks, or after a while.
async fn wait(
    caller: Caller,
    Path((channel, root)): Path<(ChannelId, MessageTs)>,
) -> Result<Json<Watched>, Refused> {
    let thread = ThreadId::new(channel, root);
    allowed(&caller, &thread).await?;
    let app = caller.app;
    let works = &app.presence.live;
    let mut began = works.began.subscribe();
    let looking = async {
        while !works.watched(&thread) {
            if began.changed().await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = looking => {}
        () = app.cancel.cancelled() => {}
        () = tokio::time::sleep(WAIT) => {}
    }
    let watched = works.watched(&thread);
    Ok(Json(Watched { watched }))
}

async fn show(caller: Caller, Json(mut work): Json<LiveWork>) -> Result<Json<Watched>, Refused> {
    let app = &caller.app;
    if app.presence.live.watched(&work.thread) {
        allowed(&caller, &work.thread).await?;
        bound(&mut work);
        let steps = work.steps.iter_mut().map(|step| &mut step.text);
        let texts = [&mut work.saying, &mut work.output, &mut work.diff];
        for text in texts.into_iter().chain(&mut work.running).chain(steps) {
            gate::clean_text(&app.redactor, text);
        }
    }
    let watched = app.presence.live.show(caller.agent.role, work);
    Ok(Json(Watched { watched }))
}

/// Whatever an agent sends, a picture is small, and nothing in it is invisible.
fn bound(work: &mut LiveWork) {
    let end = |text: &str| {
        let surplus = text.chars().count().saturating_sub(TEXT);
        visible(text).chars().skip(surplus).collect::<String>()
    };
    work.saying = end(&work.saying);
    work.output = end(&work.output);
    work.running = work
        .running
        .take()
        .map(|text| text.chars().take(200).collect());
    work.diff = work.diff.chars().take(DIFF).collect();
    work.steps.truncate(STEPS);
    for step in &mut work.steps {
        step.text = step.text.chars().take(500).collect();
    }
}

async fn look(
    Somebody { app, person }: Somebody,
    Path((channel, ts)): Path<(ChannelId, MessageTs)>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let drawn = |picture: &Picture| {
        let roles: BTreeMap<&str, &LiveWork> = picture
            .iter()
            .map(|(role, work)| (role.as_str(), &**work))
            .collect();
        json!({"ok": true, "roles": roles}).to_string()
    };
    Ok(stream(&app, person, (channel, ts), headers, drawn).await?)
}

/// Every picture of a thread as an event called `work`, as long as somebody reads them.
pub(crate) async fn stream(
    app: &Arc<App>,
    person: Person,
    (channel, ts): (ChannelId, MessageTs),
    headers: HeaderMap,
    drawn: impl Fn(&Picture) -> String + Send + 'static,
) -> Result<Response> {
    let place = channel.clone();
    let look = move |db: &Db| {
        channels::get(db, &place)?;
        message::root_of(db, &place, &ts)
    };
    let root = app.read(look).await?;
    let looks = app.presence.live.look(&ThreadId::new(channel, root));
    let ended = session_ended(Arc::clone(app), headers, person.id);
    let cancel = app.cancel.clone();
    let first = drawn(&looks.borrow());
    let later = futures_util::stream::unfold((looks, drawn), async |(mut looks, drawn)| {
        looks.changed().await.ok()?;
        let now = drawn(&looks.borrow_and_update());
        Some((now, (looks, drawn)))
    });
    let all = futures_util::stream::iter([first]).chain(later);
    let all = all.take_until(ended).take_until(cancel.cancelled_owned());
    let all = all.map(|data| Ok::<_, Infallible>(SseEvent::default().event("work").data(data)));
    Ok(Sse::new(all)
        .keep_alive(KeepAlive::default())
        .into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(thread: &ThreadId, saying: &str) -> LiveWork {
        LiveWork {
            saying: saying.to_owned(),
            ..LiveWork::nothing(thread.clone())
        }
    }

    #[test]
    fn nothing_is_kept_where_nobody_looks_or_looks_any_more() {
        let works = LiveWorks::default();
        let thread: ThreadId = "C1/1700000000.000100".parse().unwrap();
        assert!(!works.show(Role::Coder, work(&thread, "unheard")));
        let looks = works.look(&thread);
        assert!(works.watched(&thread));
        assert!(works.show(Role::Coder, work(&thread, "hello")));
        assert_eq!(looks.borrow()[&Role::Coder].saying, "hello");
        assert!(works.show(Role::Coder, LiveWork::nothing(thread.clone())));
        assert!(looks.borrow().is_empty());
        works.show(Role::Coder, work(&thread, "again"));
        drop(looks);
        assert!(!works.watched(&thread));
        assert!(!works.show(Role::Coder, work(&thread, "unseen")));
        let other = "C1/1700000000.000200".parse().unwrap();
        let _looks = works.look(&other);
        assert_eq!(works.threads().len(), 1);
    }

    #[test]
    fn a_picture_is_small() {
        let thread: ThreadId = "C1/1700000000.000100".parse().unwrap();
        let mut big = work(&thread, &format!("{}end", "é".repeat(100_000)));
        big.diff = "x".repeat(500_000);
        bound(&mut big);
        assert!(big.saying.ends_with("end") && big.saying.chars().count() == TEXT);
        assert_eq!(big.diff.len(), DIFF);
    }
}
