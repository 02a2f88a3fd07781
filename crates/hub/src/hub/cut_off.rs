//! A hub that does not reach the store which it shares counts as gone for the others, and
//! can do nothing for anybody. Whoever is connected to it is sent away: behind the same
//! address is another one. Its sockets are dropped, its calls are refused, and each refusal
//! ends its connection, because a balancer chooses a hub for connections, not for calls.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{
        HeaderValue, StatusCode, Version,
        header::{ACCEPT, CONNECTION},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use tokio::sync::watch;
use tracing::{info, warn};

use crate::{
    error::{Refusal, Refused},
    hub::app::App,
    store::shared::LEASE_SECONDS,
};

/// After so long without a beat the others count a hub as gone.
const GONE: Duration = Duration::from_secs(LEASE_SECONDS.unsigned_abs());

/// Whether this hub is cut off.
#[derive(Debug, Clone)]
pub(crate) struct CutOff(watch::Sender<bool>);

impl CutOff {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Whether nothing has reached the store for so long.
    pub(crate) fn is_on(&self) -> bool {
        *self.0.borrow()
    }

    /// When whoever is connected has to go.
    pub(crate) async fn begins(&self) {
        // The sender is here.
        let _ = self.0.subscribe().wait_for(|cut| *cut).await;
    }
}

/// A beat has worked, or none has for so long.
pub(super) fn beaten(app: &App, silent_for: Duration) {
    let cut = silent_for > GONE;
    if app.sockets.cut_off.0.send_replace(cut) == cut {
        return;
    }
    if cut {
        let look = "docs/operations.md, StoreNotWriting: is the database there, and does somebody hold a lock in it?";
        warn!(
            remedy = look,
            "the store is out of reach; everybody is sent to another hub"
        );
    } else {
        info!("the store is in reach again");
    }
}

/// What is answered all the same: whoever asks how the hub is wants to hear just this.
const WATCHED: [&str; 4] = ["/healthz", "/readyz", "/readyz/store", "/metrics"];

/// Refuses calls while the hub is cut off, also those that wait for the store by then. Who
/// asks how the hub is gets an answer, and people get a page.
pub(super) async fn send_away(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    let accepts = request.headers().get(ACCEPT);
    let page = accepts.is_some_and(|kinds| kinds.as_bytes().starts_with(b"text/html"));
    let stays = page || WATCHED.contains(&request.uri().path());
    let is_old = request.version() < Version::HTTP_2;
    let mut answer = tokio::select! {
        biased;
        () = app.sockets.cut_off.begins(), if !stays => Refused(Refusal::ServiceUnavailable).into_response(),
        answer = next.run(request) => answer,
    };
    if answer.status() == StatusCode::SERVICE_UNAVAILABLE && is_old {
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(CONNECTION, close);
    }
    answer
}
