//! The event log. An event is written together with what it is about, in one
//! transaction, and with one delivery per subscriber; it is sent afterwards, as
//! often as it takes.

pub(crate) mod acks;
pub(crate) mod listeners;
pub(crate) mod notice;
pub(crate) mod processes;
pub(crate) mod socket_mode;

use std::sync::Arc;

use butler_protocol::{ChannelId, Role, StampKind, ThreadId, fault};
use butler_slack::EnvelopeKind;
use serde_json::{Value, json};

use crate::{
    error::Result,
    identity::{APP, BOT_USER, TEAM},
    presence::activity,
    store::{Db, FromRow, Known, Row, Tx, params, sql},
    workspace::stops,
};

pub(crate) use notice::{AgentKey, LoggedEvent, Notice, Shake};

/// What is logged.
#[derive(Debug, Clone)]
pub(crate) struct Happening {
    pub(crate) thread: ThreadId,
    /// The role that caused it. Our own client does not get it back; others do, as
    /// from Slack.
    pub(crate) from: Option<Role>,
    pub(crate) to: Vec<Role>,
    pub(crate) stamp: StampKind,
    pub(crate) reference: Option<String>,
    pub(crate) kind: EnvelopeKind,
    /// The inner event, or the whole payload of clicks and commands.
    pub(crate) body: Value,
    /// Whether agents get it; the page always does.
    pub(crate) delivered: bool,
    /// The one agent that gets it; otherwise every one of the channel.
    pub(crate) only: Option<AgentKey>,
    /// Whose holder gets it where a role has several processes; otherwise its thread's.
    pub(crate) queue: Option<String>,
}

impl Happening {
    /// An event that agents get, and that says nothing else.
    pub(crate) fn new(thread: ThreadId, from: Option<Role>, body: Value) -> Self {
        Self {
            thread,
            from,
            to: Vec::new(),
            stamp: StampKind::Other,
            reference: None,
            kind: EnvelopeKind::EventsApi,
            body,
            delivered: true,
            only: None,
            queue: None,
        }
    }
}

/// Appends to the log and queues a delivery for every role of the channel that wants it.
pub(crate) fn append(tx: &mut Tx<'_>, what: Happening) -> Result<u64> {
    let at_ms = tx.db().now_ms();
    let (to, active) = match what.stamp {
        StampKind::Stop => {
            let halt = stops::halt(tx.db(), &what.thread, at_ms)?;
            (halt.roles, halt.next)
        }
        _ => (what.to, activity::active(tx.db(), &what.thread, at_ms)?),
    };
    let name = what.body["type"].as_str().unwrap_or("event").to_owned();
    let payload = match what.kind {
        EnvelopeKind::EventsApi => callback(&what.body, at_ms),
        EnvelopeKind::Interactive | EnvelopeKind::SlashCommands => what.body,
    };
    let frame = json!({
        "type": what.kind,
        "accepts_response_payload": takes_answer(what.kind, &name),
        "payload": payload,
        "codebutler": {
            "seq": 0, "from": what.from, "to": to, "kind": what.stamp,
            "ref": what.reference, "active": active, "thread": what.thread,
        },
    });
    let channel = what.thread.channel.clone();
    let root = what.thread.root.as_str().to_owned();
    fault("hub.before-event");
    let seq: i64 = tx.db().one(
        "INSERT INTO events (channel, root, from_role, kind, frame, at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING seq",
        params![channel, root, what.from, name, frame.to_string(), at_ms],
    )?;
    match what.stamp {
        StampKind::Stop => stops::note(tx.db(), &what.thread, seq, active)?,
        StampKind::Message if what.from.is_none() => stops::spoken(tx.db(), &what.thread)?,
        _ => {}
    }
    let targets = if what.delivered {
        let queue = what.queue.as_deref();
        let targets = deliver(
            tx.db(),
            seq,
            (&channel, &root),
            what.from,
            (what.only, queue),
        )?;
        // Who has the thread is not who gets it; the others look when they are told to.
        if queue.is_none() { targets } else { Vec::new() }
    } else {
        Vec::new()
    };
    fault("hub.after-event");
    let seq = u64::try_from(seq).unwrap_or(0);
    tx.say(Notice::Event(Arc::new(LoggedEvent {
        seq,
        channel,
        root,
        from: what.from,
        kind: name,
        frame,
        at_ms,
        targets,
    })));
    Ok(seq)
}

/// One delivery for every role of the channel's repo, while the app is in the channel.
/// The role that caused it knows it, unless a client of Slack's speaks for it: such a
/// client gets its own events too.
fn deliver(
    db: &Db,
    seq: i64,
    (channel, root): (&ChannelId, &str),
    from: Option<Role>,
    (only, queue): (Option<AgentKey>, Option<&str>),
) -> Result<Vec<AgentKey>> {
    let thread = queue.map_or_else(|| format!("{channel}/{root}"), str::to_owned);
    let targets = db.rows(
        "INSERT INTO deliveries (agent, seq, thread)
         SELECT agents.id, ?1, ?2 FROM agents
         JOIN channels ON channels.repo = agents.repo
         WHERE channels.id = ?3 AND (agents.role IS DISTINCT FROM ?4 OR agents.foreign_client = 1)
           AND NOT EXISTS (SELECT 1 FROM members WHERE members.channel = channels.id
             AND members.user = ?5 AND members.present = 0)
           AND (?6 IS NULL OR agents.id = ?6)
         RETURNING agent",
        params![seq, thread, channel, from, BOT_USER, only],
    )?;
    processes::holders::hold_for(db, seq, &thread)?;
    Ok(targets)
}

/// Whether an acknowledgement may bring an answer along.
fn takes_answer(kind: EnvelopeKind, name: &str) -> bool {
    let told_only = matches!(name, "shortcut" | "message_action" | "view_closed");
    kind != EnvelopeKind::EventsApi && !told_only
}

/// The Events API wrapper; its `event_id` is set when it is sent.
fn callback(event: &Value, at_ms: i64) -> Value {
    json!({
        "token": "", "team_id": TEAM, "api_app_id": APP, "type": "event_callback",
        "event_id": "", "event_time": at_ms / 1000, "is_ext_shared_channel": false,
        "authorizations": [{"enterprise_id": null, "team_id": TEAM, "user_id": BOT_USER,
            "is_bot": true, "is_enterprise_install": false}],
        "event": event,
    })
}

impl LoggedEvent {
    /// The envelope for one subscriber. Its id stays the same however often it
    /// is sent, so that an acknowledgement over any connection counts.
    pub(crate) fn envelope(&self, agent: AgentKey, attempt: u32) -> Value {
        let mut frame = self.frame.clone();
        frame["envelope_id"] = json!(envelope_id(agent, self.seq));
        frame["codebutler"]["seq"] = json!(self.seq);
        if frame["type"] == json!("events_api") {
            frame["payload"]["event_id"] = json!(format!("Ev{:X}S{}", self.at_ms, self.seq));
            frame["retry_attempt"] = json!(attempt);
            frame["retry_reason"] = json!(if attempt > 0 { "timeout" } else { "" });
        }
        frame
    }
}

fn envelope_id(agent: AgentKey, seq: u64) -> String {
    format!("cb-{agent}-{seq}")
}

/// The event that an acknowledgement of this agent is about.
pub(crate) fn acknowledged(agent: AgentKey, envelope_id: &str) -> Option<u64> {
    let rest = envelope_id.strip_prefix("cb-")?;
    let (owner, seq) = rest.split_once('-')?;
    (owner.parse::<AgentKey>().ok()? == agent)
        .then(|| seq.parse().ok())
        .flatten()
}

/// What an agent has not acknowledged yet, above `after`, oldest first, at most `limit`;
/// for a process that has a name, of the threads that it holds.
pub(crate) fn undelivered(
    db: &Db,
    agent: AgentKey,
    process: Option<&str>,
    after: u64,
    limit: usize,
) -> Result<Vec<(u64, String)>> {
    Ok(db.rows(
        "SELECT seq, thread FROM deliveries WHERE agent = ?1 AND seq > ?2
         AND (?4 IS NULL OR EXISTS (SELECT 1 FROM held_threads held
           WHERE held.agent = ?1 AND held.thread = deliveries.thread AND held.process = ?4))
         ORDER BY seq LIMIT ?3",
        params![agent, after, limit, process],
    )?)
}

const COLUMNS: &str = "seq, channel, root, from_role, kind, frame, at_ms";

impl FromRow for LoggedEvent {
    fn from_row(row: &Row<'_>, at: &mut usize) -> sql::Result<Self> {
        let (seq, channel, root, Known(from), kind, Known(frame), at_ms) =
            FromRow::from_row(row, at)?;
        Ok(Self {
            seq,
            channel,
            root,
            from,
            kind,
            frame: frame.unwrap_or_default(),
            at_ms,
            targets: Vec::new(),
        })
    }
}

/// One event of the log.
pub(crate) fn event(db: &Db, seq: u64) -> Result<LoggedEvent> {
    Ok(db.one(
        &format!("SELECT {COLUMNS} FROM events WHERE seq = ?1"),
        [seq],
    )?)
}

/// Events above `after`, oldest first, at most `limit`.
pub(crate) fn events_after(db: &Db, after: u64, limit: u32) -> Result<Vec<LoggedEvent>> {
    let sql = format!("SELECT {COLUMNS} FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2");
    Ok(db.rows(&sql, params![after, limit])?)
}

/// Forgets a delivery whose acknowledgement says something; tells whether there was one. A process that has a name can do so
/// for its own threads only.
pub(crate) fn acknowledge(
    db: &Db,
    agent: AgentKey,
    process: Option<&str>,
    seq: u64,
) -> Result<bool> {
    fault("hub.before-answer-ack");
    let forgotten = db.execute(
        "DELETE FROM deliveries WHERE agent = ?1 AND seq = ?2
               AND (?3 IS NULL OR EXISTS (SELECT 1 FROM held_threads held
                 WHERE held.agent = ?1 AND held.thread = deliveries.thread AND held.process = ?3))",
        params![agent, seq, process],
    )?;
    fault("hub.after-answer-ack");
    Ok(forgotten > 0)
}

/// Whether one of Slack's clients speaks, or spoke last, for an agent here.
pub(crate) fn strangers_listen(db: &Db) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM agents WHERE foreign_client = 1)";
    Ok(db.one(sql, [])?)
}

/// Whether one of Slack's clients speaks for this agent.
pub(crate) fn is_foreign(db: &Db, agent: AgentKey) -> Result<bool> {
    let sql = "SELECT foreign_client FROM agents WHERE id = ?1";
    Ok(db.one(sql, [agent])?)
}

/// Who speaks for an agent from now on: our own client, which knows what it did, or
/// one of Slack's, which is told.
pub(crate) fn spoken_for(db: &Db, agent: AgentKey, foreign: bool) -> Result<()> {
    db.execute(
        "UPDATE agents SET foreign_client = ?2 WHERE id = ?1",
        params![agent, foreign],
    )?;
    if !foreign {
        db.execute(
            "DELETE FROM deliveries WHERE agent = ?1 AND EXISTS (SELECT 1 FROM events, agents
             WHERE events.seq = deliveries.seq AND agents.id = ?1
               AND events.from_role = agents.role)",
            [agent],
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_counts_only_for_its_own_agent() {
        assert_eq!(acknowledged(7, &envelope_id(7, 12)), Some(12));
        assert_eq!(acknowledged(8, &envelope_id(7, 12)), None);
        for odd in ["", "cb-", "cb-7", "cb-7-x", "7-12"] {
            assert_eq!(acknowledged(7, odd), None, "{odd}");
        }
    }
}
