//! Server-sent events of what is broadcast inside the hub. The connection that reads
//! them drives them: no task outlives its reader.

use std::{sync::Arc, time::Duration};

use axum::{http::HeaderMap, response::sse::Event as SseEvent};
use butler_protocol::UserId;
use futures_util::Stream;
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

use crate::{hub::App, log::Notice, person_api::guard};

/// What is said from now on and concerns this reader, until the hub stops or the
/// reader goes. One that is too slow is told to look at everything again.
pub(crate) fn heard<T: Clone + Send + 'static>(
    news: broadcast::Receiver<T>,
    cancel: CancellationToken,
    concerns: impl Fn(&T) -> Option<SseEvent> + Send + 'static,
) -> impl Stream<Item = SseEvent> + Send {
    futures_util::stream::unfold(
        (news, cancel, concerns),
        async |(mut news, cancel, concerns)| {
            loop {
                let one = tokio::select! {
                    () = cancel.cancelled() => return None,
                    one = news.recv() => one,
                };
                let event = match one {
                    Ok(one) => concerns(&one),
                    Err(RecvError::Lagged(_)) => {
                        Some(SseEvent::default().event("reload").data("{}"))
                    }
                    Err(RecvError::Closed) => return None,
                };
                if let Some(event) = event {
                    return Some((event, (news, cancel, concerns)));
                }
            }
        },
    )
}

/// How often a listener is asked for their way in: it may have been closed by another
/// process, or have run out.
const STILL_IN: Duration = Duration::from_secs(20);

/// Returns when the caller may no longer listen, or a session of theirs ended: who still
/// may, connects again.
pub(crate) async fn session_ended(app: Arc<App>, headers: HeaderMap, person: UserId) {
    let mut news = app.notices.subscribe();
    let mut beat = interval(STILL_IN);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat.tick().await;
    loop {
        tokio::select! {
            one = news.recv() => match one.as_deref() {
                Ok(Notice::SessionEnded(user)) if *user == person => return,
                Err(RecvError::Closed) => return,
                _ => {}
            },
            _ = beat.tick() => if !guard::is_in(&app, &headers).await { return },
        }
    }
}
