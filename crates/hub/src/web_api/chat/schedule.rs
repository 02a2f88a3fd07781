//! Posts for later. They are kept as they were asked for and posted when their time has
//! come, as if they had been asked for then.

use std::{sync::Arc, time::Duration};

use axum::http::HeaderMap;
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;

use super::post_of;
use crate::{
    error::{Refusal, Trouble, refuse},
    hub::app::App,
    identity::{
        self, Agent,
        names::{BOT, BOT_USER, TEAM},
        tokens::random_text,
    },
    store::sql::params,
    web_api::{Call, args::Args, by_method, conversations},
    workspace::channels,
};

/// How far ahead a post may be asked for.
const FARTHEST: i64 = 120 * 24 * 3600;
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(in crate::web_api) async fn schedule(mut call: Call) -> Result<Value, Trouble> {
    conversations::by_name(&mut call).await?;
    let post = post_of(&call)?;
    if post.text.is_empty() && post.blocks.is_none() && post.attachments.is_none() {
        return refuse(Refusal::NoText);
    }
    let post_at = call.args.need("post_at", Refusal::InvalidTime)?;
    let Ok(post_at) = post_at.parse::<i64>() else {
        return refuse(Refusal::InvalidTime);
    };
    let arguments = call.args.all().to_string();
    let (agent, fence) = (call.agent.clone(), call.fence.clone());
    let write = call.app.store.write(move |tx| {
        agent.check_fence(tx.db(), fence.as_ref())?;
        agent.may_use(tx.db(), &post.channel)?;
        channels::writable(tx.db(), &post.channel)?;
        let now = tx.db().now_ms();
        if post_at * 1000 <= now {
            return refuse(Refusal::TimeInPast);
        }
        if post_at > now / 1000 + FARTHEST {
            return refuse(Refusal::TimeTooFar);
        }
        let id = format!("Q{}", &random_text()[..10]);
        tx.db().execute(
            "INSERT INTO scheduled (id, agent, channel, post_at, arguments, created_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                id,
                agent.key,
                post.channel.as_str(),
                post_at,
                arguments,
                now
            ],
        )?;
        let message = json!({"type": "delayed_message", "text": post.text, "user": BOT_USER,
            "bot_id": BOT, "team": TEAM, "blocks": post.blocks, "username": post.username});
        Ok(
            json!({"channel": post.channel, "scheduled_message_id": id, "post_at": post_at,
            "message": message}),
        )
    });
    write.await
}

pub(in crate::web_api) async fn delete(call: Call) -> Result<Value, Trouble> {
    const BAD: Refusal = Refusal::InvalidScheduledMessageId;
    let (agent, channel) = (call.agent.clone(), call.args.channel()?);
    let id = call.args.need("scheduled_message_id", BAD)?;
    let write = call.app.store.write(move |tx| {
        agent.may_use(tx.db(), &channel)?;
        let gone = tx.db().execute(
            "DELETE FROM scheduled WHERE id = ?1 AND agent = ?2 AND channel = ?3",
            params![id, agent.key, channel.as_str()],
        )?;
        match gone {
            0 => refuse(BAD),
            _ => Ok(json!({})),
        }
    });
    write.await
}

pub(in crate::web_api) async fn list(call: Call) -> Result<Value, Trouble> {
    let (agent, channel) = (call.agent.clone(), call.args.text("channel"));
    let edge = |name| call.args.number(name).and_then(|at| i64::try_from(at).ok());
    let (oldest, latest) = (edge("oldest"), edge("latest"));
    let look = call.app.store.read(move |db| {
        let mut statement = db.prepare_cached(
            "SELECT id, channel, post_at, arguments, created_ms FROM scheduled WHERE agent = ?1
               AND (?2 IS NULL OR channel = ?2) AND (?3 IS NULL OR post_at >= ?3)
               AND (?4 IS NULL OR post_at <= ?4) ORDER BY post_at, id",
        )?;
        let rows = statement.query_map(params![agent.key, channel, oldest, latest], |row| {
            let arguments: String = row.get(3)?;
            let said: Value = serde_json::from_str(&arguments).unwrap_or_default();
            Ok(
                json!({"id": row.get::<_, String>(0)?, "channel_id": row.get::<_, String>(1)?,
                "post_at": row.get::<_, i64>(2)?, "text": said["text"],
                "date_created": row.get::<_, i64>(4)? / 1000}),
            )
        })?;
        Ok(rows.collect::<Result<Vec<Value>, _>>()?)
    });
    let found = look.await?;
    conversations::page(&call, found, "scheduled_messages")
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

async fn due(app: &App) -> Result<Vec<Due>, Trouble> {
    let look = app.store.read(|db| {
        let mut statement = db.prepare_cached(
            "SELECT id, agent, arguments FROM scheduled WHERE post_at <= ?1 ORDER BY post_at, id",
        )?;
        let rows = statement.query_map([db.now_ms() / 1000], |row| {
            let agent: i64 = row.get(1)?;
            Ok((row.get::<_, String>(0)?, agent, row.get::<_, String>(2)?))
        })?;
        let mut found = Vec::new();
        for row in rows {
            let (id, agent, arguments) = row?;
            found.push((id, identity::agent_by_key(db, agent)?, arguments));
        }
        Ok(found)
    });
    look.await
}

/// Taken out first: better not posted than posted twice.
async fn post(app: &Arc<App>, id: String, agent: Agent, arguments: &str) {
    let gone = id.clone();
    let take = app.as_owner().write(move |tx| {
        let sql = "DELETE FROM scheduled WHERE id = ?1";
        Ok(tx.db().execute(sql, [&gone])?)
    });
    if !matches!(take.await, Ok(1)) {
        return;
    }
    let call = Call {
        app: Arc::clone(app),
        agent,
        fence: None,
        args: Args::of(arguments),
        headers: HeaderMap::new(),
        // It was taken out as the owner, so nobody else has it.
        as_owner: false,
    };
    if let Err(error) = by_method("chat.postMessage", call).await {
        warn!(id, %error, "a post for later was refused");
    }
}
