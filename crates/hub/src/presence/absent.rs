//! Whoever names a role that is not running is told so, once per thread and absence:
//! the message waits in the role's queue, and people should not wait without knowing.

use std::{collections::HashSet, sync::Arc, time::Duration};

use butler_protocol::{ChannelId, Idem, PostTag};
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{debug, warn};

use crate::{
    error::Result,
    hub::App,
    identity::{Agent, agent_by_key},
    log::AgentKey,
    store::{Db, params},
    web_api::{Call, args::Args, by_method},
};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A message that waits for somebody who is not there.
struct Waiting {
    agent: Agent,
    /// Its number rises with every start: the next absence is another one.
    epoch: i64,
    channel: ChannelId,
    root: String,
}

/// Looks until the hub stops.
pub(crate) async fn keep_telling(app: Arc<App>, after: Duration) {
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = 0;
    loop {
        tokio::select! {
            () = app.cancel.cancelled() => return,
            _ = ticks.tick() => {}
        }
        let online = app.presence.online();
        let after_ms = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
        let look = move |db: &Db| waiting(db, &online, seen, db.now_ms() - after_ms);
        match app.read(look).await {
            Ok((found, newest)) => {
                seen = newest;
                for one in found {
                    tell(&app, one).await;
                }
            }
            Err(error) => warn!(%error, "the queues of absent roles cannot be read"),
        }
    }
}

/// What people said above `seen` and before `until_ms` to roles that are not there.
fn waiting(
    db: &Db,
    online: &HashSet<AgentKey>,
    seen: i64,
    until_ms: i64,
) -> Result<(Vec<Waiting>, i64)> {
    let newest: i64 = db.one(
        "SELECT coalesce(max(seq), ?1) FROM events WHERE seq > ?1 AND at_ms <= ?2",
        params![seen, until_ms],
    )?;
    let rows = db.rows::<(AgentKey, i64, ChannelId, String)>(
        "SELECT agents.id, agents.epoch, events.channel, events.root
         FROM events JOIN deliveries ON deliveries.seq = events.seq
         JOIN agents ON agents.id = deliveries.agent
         WHERE events.seq > ?1 AND events.seq <= ?2 AND events.kind = 'message'
           AND events.from_role IS NULL
           AND EXISTS (SELECT 1 FROM json_each(events.frame, '$.codebutler.to')
             WHERE value = agents.role)
         GROUP BY agents.id, agents.epoch, events.channel, events.root ORDER BY min(events.seq)",
        params![seen, newest],
    )?;
    let mut found = Vec::new();
    for (key, epoch, channel, root) in rows {
        if !online.contains(&key) {
            found.push(Waiting {
                agent: agent_by_key(db, key)?,
                epoch,
                channel,
                root,
            });
        }
    }
    Ok((found, newest))
}

async fn tell(app: &Arc<App>, one: Waiting) {
    let role = one.agent.role;
    let idem = Idem::new(format!("absent {role} {} {}", one.epoch, one.root));
    let words = format!(
        "The {} is not running. Your message is queued: it is read as soon as the {} runs \
         (`codebutler up`, or `codebutler start` for services).",
        role.title(),
        role.title(),
    );
    let args = json!({"channel": one.channel, "thread_ts": one.root, "text": words,
        "username": "codebutler", "metadata": PostTag::message(idem, Vec::new()).to_metadata()});
    let call = Call {
        as_owner: true,
        ..Call::of_hub(app, one.agent, Args::of(&args.to_string()))
    };
    if let Err(error) = by_method("chat.postMessage", call).await {
        debug!(%error, %role, "nobody could be told that a role is not running");
    }
}
