//! What Slack tells us is kept first and acknowledged then; the work is done
//! afterwards. So an acknowledgement is always in time, however long a back-fill
//! takes, and a kill loses nothing.

use std::sync::Arc;

use butler_protocol::fault;
use butler_slack::{Ended, Envelope, EnvelopeKind, SlackError, Socket};
use rusqlite::params;
use tracing::{error, info, warn};

use crate::relay::Relay;
use crate::store::db::Db;
use crate::{error::Trouble, hub::app::App};

/// How long the key of something that was done is remembered.
const MEMORY_MS: i64 = 7 * 24 * 3600 * 1000;

/// Reads the socket until it ends for good.
pub(crate) async fn listen(app: &Arc<App>, relay: &Arc<Relay>) {
    let token = relay.app_token.clone();
    let opening = Socket::open(&relay.base, token, relay.cancel.child_token());
    let mut socket = match opening.await {
        Ok(socket) => socket,
        Err(SlackError::Ended(ended)) => return say_why(Some(&ended)),
        Err(error) => return error!(%error, "Slack cannot be listened to"),
    };
    info!("listening to Slack");
    let mut gaps = socket.gaps();
    relay.gaps.send_modify(|count| *count += 1);
    gaps.mark_unchanged();
    loop {
        tokio::select! {
            // A gap is told before the first envelope after it.
            biased;
            Ok(()) = gaps.changed() => relay.gaps.send_modify(|count| *count += 1),
            envelope = socket.next() => match envelope {
                Some(envelope) => take(app, relay, &socket, envelope).await,
                None => break,
            },
        }
    }
    say_why(Some(&socket.close().await));
}

/// Keeps an envelope, then acknowledges it. One that cannot be kept is not
/// acknowledged: Slack sends it again.
async fn take(app: &Arc<App>, relay: &Arc<Relay>, socket: &Socket, envelope: Envelope) {
    let id = envelope.id.clone();
    let kept = app
        .store
        .write(move |tx| {
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

fn say_why(ended: Option<&Ended>) {
    match ended {
        None | Some(Ended::Cancelled) => {}
        Some(Ended::Disabled) => error!(
            "Socket Mode is switched off for the Slack app; switch it on and start the hub again"
        ),
        Some(ended) => error!(
            reason = %ended,
            "Slack ended the connection for good; correct slack.appToken in the machine's \
             config.json and start the hub again"
        ),
    }
}

/// Keeps an envelope; false when its like was kept before.
fn keep(db: &Db, envelope: &Envelope) -> Result<bool, Trouble> {
    let kept = db
        .prepare_cached(
            "INSERT INTO upstream_inbox (key, kind, payload, at_ms) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (key) DO NOTHING",
        )?
        .execute(params![
            key_of(envelope),
            envelope.kind.as_str(),
            serde_json::to_string(envelope)?,
            db.now_ms()
        ])?;
    Ok(kept > 0)
}

/// By what a second telling is recognised: Slack's own id of an event; for a
/// click who pressed what when.
fn key_of(envelope: &Envelope) -> String {
    let payload = &envelope.payload;
    match envelope.kind {
        EnvelopeKind::EventsApi => envelope.event_id().to_string(),
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

/// What waits above `after`, oldest first.
pub(crate) fn waiting(db: &Db, after: i64) -> Result<Vec<Waiting>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT seq, payload FROM upstream_inbox
         WHERE payload IS NOT NULL AND seq > ?1 ORDER BY seq LIMIT 64",
    )?;
    let rows = statement.query_map([after], |row| {
        Ok(Waiting {
            seq: row.get(0)?,
            envelope: row.get(1)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Worked off. In the transaction that did it.
pub(crate) fn done(db: &Db, seq: i64) -> Result<(), Trouble> {
    db.prepare_cached("UPDATE upstream_inbox SET payload = NULL WHERE seq = ?1")?
        .execute([seq])?;
    Ok(())
}

/// Forgets keys that nobody will tell again.
pub(crate) fn prune(db: &Db) -> Result<(), Trouble> {
    db.execute(
        "DELETE FROM upstream_inbox WHERE payload IS NULL AND at_ms < ?1",
        [db.now_ms() - MEMORY_MS],
    )?;
    Ok(())
}
