//! Socket Mode: each payload goes to one random connection and is sent again
//! when it was not acknowledged; where nobody listens it is lost.

use std::{
    hash::{BuildHasher, RandomState},
    time::{Duration, Instant},
};

use axum::{
    extract::{
        Query, State as Here, WebSocketUpgrade,
        ws::{Message as Frame, WebSocket},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    Disconnect, Shared,
    state::{APP, State},
};

/// The most connections that an app may have.
const MOST: usize = 10;
/// How long after its notice a connection is closed.
const FAREWELL: Duration = Duration::from_millis(150);
/// An event that is not acknowledged by then is sent again.
const DEADLINE: Duration = Duration::from_secs(3);

/// The state's end of a connection.
#[derive(Debug)]
pub(super) struct SocketEnd {
    frames: mpsc::Sender<Out>,
}

#[derive(Debug)]
enum Out {
    Frame(Value),
    CloseAfter(Duration),
}

/// An envelope that was sent and not acknowledged.
#[derive(Debug)]
pub(super) struct Pending {
    socket: u64,
    kind: &'static str,
    payload: Value,
    attempt: u32,
    at: Instant,
}

impl State {
    /// Sends a payload to one connection; false when there is none.
    pub(super) fn send(&mut self, kind: &'static str, payload: Value, answerable: bool) -> bool {
        self.send_attempt(kind, payload, answerable, 0)
    }

    /// The same event once more, as a retry.
    pub(super) fn send_again(&mut self, payload: Value, attempt: u32) {
        self.send_attempt("events_api", payload, false, attempt);
    }

    fn send_attempt(
        &mut self,
        kind: &'static str,
        payload: Value,
        answerable: bool,
        attempt: u32,
    ) -> bool {
        let ids: Vec<u64> = self.sockets.keys().copied().collect();
        if ids.is_empty() {
            return false;
        }
        let roll = usize::try_from(RandomState::new().hash_one(0u8) >> 8).unwrap_or(0);
        let socket = ids[roll % ids.len()];
        let id = self.fresh("env-");
        let mut frame = json!({"envelope_id": id, "type": kind, "payload": payload,
            "accepts_response_payload": answerable});
        if kind == "events_api" {
            frame["retry_attempt"] = json!(attempt);
            frame["retry_reason"] = json!(if attempt > 0 { "timeout" } else { "" });
        }
        let _ = self.sockets[&socket].frames.try_send(Out::Frame(frame));
        let sent = Pending {
            socket,
            kind,
            payload,
            attempt,
            at: Instant::now(),
        };
        self.pending.insert(id, sent);
        true
    }

    /// A connection is gone: events that it held are tried again at once, on
    /// another one if there is one, three times at most.
    fn gone(&mut self, socket: u64) {
        self.sockets.remove(&socket);
        self.retry(|sent| sent.socket == socket);
    }

    /// Tries events again whose acknowledgement is missing.
    fn retry(&mut self, which: impl Fn(&Pending) -> bool) {
        let found = self.pending.iter().filter(|(_, sent)| which(sent));
        let lost: Vec<String> = found.map(|(id, _)| id.clone()).collect();
        for id in lost {
            let sent = self.pending.remove(&id);
            if let Some(sent) = sent.filter(|sent| sent.kind == "events_api" && sent.attempt < 3) {
                self.send_again(sent.payload, sent.attempt + 1);
            }
        }
    }

    pub(super) fn disconnect(&mut self, how: Disconnect) {
        let reason = match how {
            Disconnect::Warning => Some("warning"),
            Disconnect::Refresh => Some("refresh_requested"),
            Disconnect::LinkDisabled => Some("link_disabled"),
            Disconnect::Abrupt => None,
        };
        self.disabled |= how == Disconnect::LinkDisabled;
        for end in self.sockets.values() {
            if let Some(reason) = reason {
                let _ = end.frames.try_send(Out::Frame(farewell(reason)));
            }
            let pause = if reason.is_some() {
                FAREWELL
            } else {
                Duration::ZERO
            };
            let _ = end.frames.try_send(Out::CloseAfter(pause));
        }
        if how == Disconnect::Abrupt {
            let all: Vec<u64> = self.sockets.keys().copied().collect();
            for socket in all {
                self.sockets.remove(&socket);
            }
            // What was under way is lost with its connection.
            self.pending.clear();
        }
    }

    pub(super) fn outage(&mut self, on: bool) {
        self.down = on;
        if on {
            self.disconnect(Disconnect::Abrupt);
        }
    }
}

fn farewell(reason: &str) -> Value {
    json!({"type": "disconnect", "reason": reason, "debug_info": {"host": "standin"}})
}

#[derive(serde::Deserialize)]
pub(super) struct Ticket {
    ticket: String,
}

pub(super) async fn handle(
    Here(shared): Here<Shared>,
    Query(Ticket { ticket }): Query<Ticket>,
    upgrade: WebSocketUpgrade,
) -> Response {
    {
        let mut state = shared.lock();
        let open = !state.down && !state.mishaps.blocked;
        match state.tickets.remove(&ticket).filter(|_| open) {
            Some(host) => state.visited(&host, "hello"),
            None => return StatusCode::FORBIDDEN.into_response(),
        }
    }
    upgrade.on_upgrade(move |socket| serve(shared, socket))
}

async fn serve(shared: Shared, mut socket: WebSocket) {
    let (frames, mut out) = mpsc::channel(4_096);
    let number = {
        let mut state = shared.lock();
        if state.sockets.len() >= MOST {
            None
        } else {
            state.greeted += 1;
            let number = u64::try_from(state.greeted).unwrap_or(0);
            let open = state.sockets.len() + 1;
            let hello = json!({"type": "hello", "num_connections": open,
                "connection_info": {"app_id": APP},
                "debug_info": {"host": "standin", "approximate_connection_time": 3600}});
            let _ = frames.try_send(Out::Frame(hello));
            state.sockets.insert(number, SocketEnd { frames });
            state.most_open = state.most_open.max(open);
            Some(number)
        }
    };
    let Some(number) = number else {
        let frame = farewell("too_many_websockets").to_string();
        let _ = socket.send(Frame::Text(frame.into())).await;
        return;
    };
    let mut checks = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            _ = checks.tick() => {
                let late = |sent: &Pending| sent.socket == number && sent.at.elapsed() >= DEADLINE;
                shared.lock().retry(late);
            }
            next = out.recv() => match next {
                Some(Out::Frame(frame)) => {
                    if socket.send(Frame::Text(frame.to_string().into())).await.is_err() {
                        break;
                    }
                }
                Some(Out::CloseAfter(pause)) => {
                    drain(&shared, &mut socket, pause).await;
                    break;
                }
                None => break,
            },
            heard = socket.recv() => match heard {
                Some(Ok(Frame::Text(text))) => acknowledged(&shared, text.as_str()),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => break,
            },
        }
    }
    shared.lock().gone(number);
}

/// After its notice a connection still takes acknowledgements for a moment.
async fn drain(shared: &Shared, socket: &mut WebSocket, pause: Duration) {
    let reading = async {
        while let Some(Ok(frame)) = socket.recv().await {
            if let Frame::Text(text) = frame {
                acknowledged(shared, text.as_str());
            }
        }
    };
    let _ = tokio::time::timeout(pause, reading).await;
}

fn acknowledged(shared: &Shared, text: &str) {
    let ack: Value = serde_json::from_str(text).unwrap_or_default();
    if let Some(id) = ack["envelope_id"].as_str() {
        shared.lock().pending.remove(id);
    }
}
