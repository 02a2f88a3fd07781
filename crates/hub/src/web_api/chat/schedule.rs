//! Posts for later. They are kept as they were asked for and posted when their time has
//! come, as if they had been asked for then.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;

use super::post_of;
use crate::{
    error::{Refusal, Result, When},
    hub::App,
    identity::{self, Agent, BOT, BOT_USER, TEAM, tokens::random_text},
    store::{Db, Tx, params},
    web_api::{Call, args::Args, by_method, conversations},
    workspace::channels,
};

/// How far ahead a post may be asked for.
const FARTHEST: i64 = 120 * 24 * 3600;
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(in crate::web_api) fn schedule(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let post = post_of(call)?;
    post.says_something()?;
    let post_at = call.args.need("post_at", Refusal::InvalidTime)?;
    let post_at = post_at.parse::<i64>().map_err(|_| Refusal::InvalidTime)?;
    let channel = call.channel(tx.db())?;
    channels::writable(tx.db(), &channel)?;
    let now = tx.db().now_ms();
    Refusal::TimeInPast.when(post_at * 1000 <= now)?;
    Refusal::TimeTooFar.when(post_at > now / 1000 + FARTHEST)?;
    let id = format!("Q{}", &random_text()[..10]);
    let arguments = call.args.all().to_string();
    tx.db().execute(
        "INSERT INTO scheduled (id, agent, channel, post_at, arguments, created_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![id, call.agent.key, channel, post_at, arguments, now],
    )?;
    let message = json!({"type": "delayed_message", "text": post.text, "user": BOT_USER,
        "bot_id": BOT, "team": TEAM, "blocks": post.blocks, "username": post.username});
    Ok(
        json!({"channel": channel, "scheduled_message_id": id, "post_at": post_at,
        "message": message}),
    )
}

pub(in crate::web_api) fn delete(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    const BAD: Refusal = Refusal::InvalidScheduledMessageId;
    let id = call.args.need("scheduled_message_id", BAD)?;
    let channel = call.channel(tx.db())?;
    let gone = tx.db().execute(
        "DELETE FROM scheduled WHERE id = ?1 AND agent = ?2 AND channel = ?3",
        params![id, call.agent.key, channel],
    )?;
    BAD.when(gone == 0)?;
    Ok(json!({}))
}

pub(in crate::web_api) fn list(db: &Db, call: &Call) -> Result<Value> {
    let edge = |name| call.args.number(name).and_then(|at| i64::try_from(at).ok());
    let rows = db.rows::<(String, String, i64, Value, i64)>(
        "SELECT id, channel, post_at, arguments, created_ms FROM scheduled WHERE agent = ?1
         AND (?2 IS NULL OR channel = ?2) AND (?3 IS NULL OR post_at >= ?3)
         AND (?4 IS NULL OR post_at <= ?4) ORDER BY post_at, id",
        params![
            call.agent.key,
            call.args.text("channel"),
            edge("oldest"),
            edge("latest")
        ],
    )?;
    let shown = |(id, channel, post_at, said, created_ms): (String, String, i64, Value, i64)| {
        json!({"id": id, "channel_id": channel, "post_at": post_at, "text": said["text"],
            "date_created": created_ms / 1000})
    };
    let found = rows.into_iter().map(shown).collect();
    conversations::page(call, found, "scheduled_messages")
}

/// Posts what is due, until the hub stops.
pub(crate) async fn keep_posting(app: Arc<App>) {
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = app.cancel.cancelled() => return,
            _ = ticks.tick() => {}
        }
        match due(&app).await {
            Ok(posts) => {
                for (id, agent, arguments) in posts {
                    post(&app, id, agent, &arguments).await;
                }
            }
            Err(error) => warn!(%error, "the posts for later cannot be read"),
        }
    }
}

type Due = (String, Agent, String);

async fn due(app: &App) -> Result<Vec<Due>> {
    let look = app.read(|db| {
        let sql =
            "SELECT id, agent, arguments FROM scheduled WHERE post_at <= ?1 ORDER BY post_at, id";
        let rows = db
            .rows::<(String, i64, String)>(sql, [db.now_ms() / 1000])?
            .into_iter();
        rows.map(|(id, agent, arguments)| Ok((id, identity::agent_by_key(db, agent)?, arguments)))
            .collect()
    });
    look.await
}

/// Taken out first: better not posted than posted twice.
async fn post(app: &Arc<App>, id: String, agent: Agent, arguments: &str) {
    let gone = id.clone();
    let take = app.write_as_owner(move |tx| {
        let sql = "DELETE FROM scheduled WHERE id = ?1";
        Ok(tx.db().execute(sql, [&gone])?)
    });
    if !matches!(take.await, Ok(1)) {
        return;
    }
    // It was taken out as the owner, so nobody else has it.
    let call = Call::of_hub(app, agent, Args::of(arguments));
    if let Err(error) = by_method("chat.postMessage", call).await {
        warn!(id, %error, "a post for later was refused");
    }
}
