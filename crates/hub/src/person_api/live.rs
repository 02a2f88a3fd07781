//! Server-sent events of what is broadcast inside the hub. The connection that reads
//! them drives them: no task outlives its reader.

use axum::response::sse::Event as SseEvent;
use futures_util::Stream;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_util::sync::CancellationToken;

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
