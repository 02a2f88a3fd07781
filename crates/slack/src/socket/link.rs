//! One WebSocket. It reads frames, answers and sends pings, and gives up when
//! nothing at all has come for a while: a half-open connection is silent.

use std::time::Duration;

use butler_protocol::{Epoch, Speaks, cannot_work_together};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::Value;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};
use tokio_tungstenite::tungstenite;
use tokio_util::sync::CancellationToken;
use tracing::debug;
use tungstenite::protocol::Message as Frame;

use super::{
    Standing,
    dial::{self, Trust},
};
use crate::{Envelope, EnvelopeId};

const PING_EVERY: Duration = Duration::from_secs(12);
const SILENCE_LIMIT: Duration = Duration::from_secs(70);

/// Which connection of this process, counted from 1.
pub(super) type LinkNumber = u64;

/// What a link tells the keeper.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) link: LinkNumber,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    Hello(Hello),
    Envelope(Box<Envelope>),
    Disconnect(String),
    /// We and the hub cannot work together; which of the two to update.
    TooOld(String),
    /// It is over, and why, where that is known.
    Closed(Option<String>),
}

/// What a workspace says when a connection is open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hello {
    /// The epoch that our hub gives.
    pub(super) epoch: Option<Epoch>,
    /// How many connections of the app are open.
    pub(super) connections: Option<u32>,
    pub(super) standing: Standing,
}

/// The keeper's end of a link.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) acks: mpsc::Sender<EnvelopeId>,
    pub(super) stop: CancellationToken,
    /// Ends right after it has reported that it is closed.
    pub(super) task: JoinHandle<()>,
}

/// Connects to `url` in a task of its own.
pub(super) fn start(
    link: LinkNumber,
    url: String,
    trust: Trust,
    reports: mpsc::Sender<Report>,
    stop: CancellationToken,
) -> Line {
    let (acks, to_send) = mpsc::channel(256);
    let stopped = stop.clone();
    let task = tokio::spawn(async move {
        let work = run(link, &url, trust, &reports, to_send);
        let why = tokio::select! {
            why = work => why,
            () = stopped.cancelled() => None,
        };
        let what = What::Closed(why);
        let _ = reports.send(Report { link, what }).await;
    });
    Line { acks, stop, task }
}

async fn run(
    link: LinkNumber,
    url: &str,
    trust: Trust,
    reports: &mpsc::Sender<Report>,
    mut to_send: mpsc::Receiver<EnvelopeId>,
) -> Option<String> {
    let mut stream = match dial::dial(url, trust).await {
        Ok(stream) => stream,
        Err(why) => {
            debug!(link, why, "cannot open the socket");
            return Some(why);
        }
    };
    let mut pings = interval(PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut give_up = Instant::now() + SILENCE_LIMIT;
    loop {
        let outgoing = tokio::select! {
            frame = stream.next() => {
                give_up = Instant::now() + SILENCE_LIMIT;
                match frame {
                    Some(Ok(Frame::Text(text))) => {
                        let Some(what) = understand(&text) else { continue };
                        if reports.send(Report { link, what }).await.is_err() {
                            return None;
                        }
                        continue;
                    }
                    // Pongs are queued by the library and go out with the next flush.
                    Some(Ok(Frame::Ping(_))) => None,
                    Some(Ok(Frame::Close(_)) | Err(_)) | None => {
                        return Some("the connection broke off".to_owned());
                    }
                    Some(Ok(_)) => continue,
                }
            }
            id = to_send.recv() => match id {
                Some(id) => Some(Frame::text(serde_json::json!({"envelope_id": id}).to_string())),
                None => return None,
            },
            _ = pings.tick() => Some(Frame::Ping(tungstenite::Bytes::from_static(b"codebutler"))),
            () = sleep_until(give_up) => {
                debug!(link, "the socket has been silent for too long");
                return Some("the connection fell silent".to_owned());
            }
        };
        let sent = match outgoing {
            Some(frame) => stream.send(frame).await,
            None => stream.flush().await,
        };
        if sent.is_err() {
            return Some("the connection broke off".to_owned());
        }
    }
}

/// Reads a frame; what is not JSON, or neither greeting nor envelope, is skipped.
fn understand(text: &str) -> Option<What> {
    let frame: Value = serde_json::from_str(text).ok()?;
    match frame.get("type")?.as_str()? {
        "hello" => {
            if let Some(words) = too_old(&frame) {
                return Some(What::TooOld(words));
            }
            let ours = &frame["codebutler"];
            let open = frame["num_connections"].as_u64();
            let alone = Standing::default();
            Some(What::Hello(Hello {
                epoch: Epoch::deserialize(&ours["epoch"]).ok(),
                connections: open.and_then(|open| u32::try_from(open).ok()),
                standing: Standing {
                    first: ours["first"].as_bool().unwrap_or(alone.first),
                    shared: ours["shared"].as_bool().unwrap_or(alone.shared),
                },
            }))
        }
        "disconnect" => {
            // The hub has compared already.
            let words = frame["codebutler"]["words"].as_str();
            if let Some(words) = words {
                return Some(What::TooOld(words.to_owned()));
            }
            let reason = frame.get("reason").and_then(Value::as_str);
            Some(What::Disconnect(reason.unwrap_or("warning").to_owned()))
        }
        _ => match serde_json::from_value(frame) {
            Ok(envelope) => Some(What::Envelope(Box::new(envelope))),
            Err(error) => {
                debug!(%error, "a frame that is no envelope");
                None
            }
        },
    }
}

/// Whether the hub that says hello and this build are too far apart; Slack is no hub.
fn too_old(hello: &Value) -> Option<String> {
    let hub = Speaks::deserialize(hello.get("codebutler")?).ok()?;
    cannot_work_together(&super::this_build(), &hub)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hub_that_is_too_far_away_is_named_and_others_are_greeted() {
        let hello = |ours: Value| {
            let frame = json!({"type": "hello", "num_connections": 1, "codebutler": ours});
            understand(&frame.to_string())
        };
        let release = hello(json!({"epoch": 3, "version": "0.1.0"}));
        let Some(What::Hello(release)) = release else {
            panic!("{release:?}")
        };
        assert_eq!(release.epoch, Some(Epoch(3)));
        assert_eq!(release.standing, Standing::default());
        let next = hello(json!({"epoch": 3, "version": "9.0.0", "protocol": 9, "oldest": 2}));
        assert!(matches!(next, Some(What::Hello(..))));
        let later = hello(json!({"epoch": 3, "version": "9.9.0", "protocol": 9, "oldest": 8}));
        let Some(What::TooOld(words)) = later else {
            panic!("{later:?}")
        };
        assert!(words.contains("too old for the hub (9.9.0)"), "{words}");
        let slack = json!({"type": "hello", "num_connections": 1});
        assert!(matches!(
            understand(&slack.to_string()),
            Some(What::Hello(Hello { epoch: None, .. }))
        ));
    }
}
