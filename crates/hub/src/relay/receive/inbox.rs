//! What Slack tells us is kept first and acknowledged then; the work is done
//! afterwards. So an acknowledgement is always in time, however long a back-fill
//! takes, and a kill loses nothing.

use std::{sync::Arc, time::Duration};

use butler_protocol::fault;
use butler_slack::{Ended, Envelope, EnvelopeKind, Hearing, Socket};
use tracing::{error, warn};

use crate::{
    error::Result,
    hub::App,
    relay::Relay,
    store::{Db, from_row, params},
};

/// Between two looks whether Slack lets us listen again.
const AGAIN: Duration = Duration::from_secs(60);
/// How long the key of something that was done is remembered.
const MEMORY_MS: i64 = 7 * 24 * 3600 * 1000;

/// Listens until the hub stops. When Slack lets nobody listen that is told, and looked
/// at again after a while: somebody may have switched it on meanwhile.
pub(crate) async fn listen(app: &Arc<App>, relay: &Arc<Relay>) {
    let mut first = relay.socket.lock().ok().and_then(|mut one| one.take());
    loop {
        let socket = match first.take() {
            Some(socket) => Ok(socket),
            None => {
                let token = relay.app_token.clone();
                Socket::start(&relay.workspace, token, relay.cancel.child_token())
            }
        };
        match socket {
            Ok(socket) => {
                let ended = hear(app, relay, socket).await;
                if ended == Ended::Cancelled {
                    return;
                }
                relay.heard(app, Hearing::Ended(ended));
            }
            Err(error) => error!(%error, "Slack cannot be listened to"),
        }
        tokio::select! {
            () = relay.cancel.cancelled() => return,
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}

/// Reads one socket until it ends for good, and says why it did.
async fn hear(app: &Arc<App>, relay: &Arc<Relay>, mut socket: Socket) -> Ended {
    let (mut gaps, mut hearing) = (socket.gaps(), socket.hearing());
    loop {
        tokio::select! {
            // A gap is told before the first envelope after it.
            biased;
            Ok(()) = hearing.changed() => {
                let now = hearing.borrow_and_update().clone();
                // What has ended is told by the caller, once.
                if !matches!(now, Hearing::Ended(_)) {
                    relay.heard(app, now);
                }
            }
            Ok(()) = gaps.changed() => relay.gaps.send_modify(|count| *count += 1),
            envelope = socket.next() => match envelope {
                Some(envelope) => take(app, relay, &socket, envelope).await,
                None => break,
            },
        }
    }
    socket.close().await
}

/// Keeps an envelope, then acknowledges it. One that cannot be kept is not
/// acknowledged: Slack sends it again.
async fn take(app: &Arc<App>, relay: &Arc<Relay>, socket: &Socket, envelope: Envelope) {
    let id = envelope.id.clone();
    let kept = app
        .write_as_owner(move |tx| {
            fault("relay.before-inbox");
            let new = keep(tx.db(), &envelope)?;
            fault("relay.after-inbox");
            Ok(new)
        })
        .await;
    match kept {
        Ok(new) => {
            // Lost with its connection it is asked for again, and known then.
            let _ = socket.ack(&id).await;
            if new {
                relay.wake.notify_one();
            }
        }
        Err(error) => warn!(%error, "an event could not be kept"),
    }
}

/// Keeps an envelope; false when its like was kept before.
fn keep(db: &Db, envelope: &Envelope) -> Result<bool> {
    let kept = db.execute(
        "INSERT INTO upstream_inbox (key, kind, payload, at_ms) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (key) DO NOTHING",
        params![
            key_of(envelope),
            envelope.kind.as_str(),
            serde_json::to_string(envelope)?,
            db.now_ms()
        ],
    )?;
    Ok(kept > 0)
}

/// By what a second telling is recognised: Slack's own id of an event; for a
/// click who pressed what when.
fn key_of(envelope: &Envelope) -> String {
    let payload = &envelope.payload;
    match envelope.kind {
        EnvelopeKind::EventsApi => envelope.event_id().to_string(),
        // A shortcut or a modal has no button; each use has a trigger of its own.
        EnvelopeKind::Interactive if payload["type"] != "block_actions" => {
            let trigger = payload["trigger_id"].as_str();
            format!("use {}", trigger.unwrap_or(envelope.id.as_str()))
        }
        EnvelopeKind::Interactive => format!(
            "click {} {} {} {}",
            payload["container"]["channel_id"],
            payload["container"]["message_ts"],
            payload["actions"][0]["action_ts"],
            payload["user"]["id"],
        ),
        EnvelopeKind::SlashCommands => match payload["trigger_id"].as_str() {
            Some(trigger) => format!("command {trigger}"),
            None => format!("command {}", envelope.id),
        },
    }
}

/// One thing to be worked on.
pub(crate) struct Waiting {
    pub(crate) seq: i64,
    pub(crate) envelope: String,
}

from_row! { Waiting: seq, envelope }

/// What waits above `after`, oldest first.
pub(crate) fn waiting(db: &Db, after: i64) -> Result<Vec<Waiting>> {
    Ok(db.rows(
        "SELECT seq, payload FROM upstream_inbox
         WHERE payload IS NOT NULL AND seq > ?1 ORDER BY seq LIMIT 64",
        [after],
    )?)
}

/// Worked off. In the transaction that did it.
pub(crate) fn done(db: &Db, seq: i64) -> Result<()> {
    db.run(
        "UPDATE upstream_inbox SET payload = NULL WHERE seq = ?1",
        [seq],
    )
}

/// Forgets keys that nobody will tell again.
pub(crate) fn prune(db: &Db) -> Result<()> {
    db.run(
        "DELETE FROM upstream_inbox WHERE payload IS NULL AND at_ms < ?1",
        [db.now_ms() - MEMORY_MS],
    )
}
