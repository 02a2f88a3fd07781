//! Reactions by agents.

use butler_protocol::ChannelId;
use serde_json::{Value, json};

use super::{Call, conversations};
use crate::{
    error::{Refusal, Trouble, refuse},
    identity::names::BOT_USER,
    workspace::{
        message,
        react::{self, Reactor},
        read,
    },
};

pub(super) async fn add(call: Call) -> Result<Value, Trouble> {
    change(call, true).await
}

pub(super) async fn remove(call: Call) -> Result<Value, Trouble> {
    change(call, false).await
}

async fn change(call: Call, add: bool) -> Result<Value, Trouble> {
    let (agent, fence, channel) = (call.agent.clone(), call.fence.clone(), call.args.channel()?);
    let name = call.args.need("name", Refusal::InvalidName)?;
    react::check_name(&name)?;
    let Some(ts) = call.args.ts("timestamp", Refusal::BadTimestamp)? else {
        return refuse(Refusal::NoItemSpecified);
    };
    call.app
        .store
        .write(move |tx| {
            agent.check_fence(tx.db(), fence.as_ref())?;
            agent.may_use(tx.db(), &channel)?;
            let reactor = Reactor::Role(agent.role);
            react::react(tx, &reactor, &channel, &ts, &name, add)
        })
        .await?;
    Ok(json!({}))
}

pub(super) async fn get(call: Call) -> Result<Value, Trouble> {
    let (agent, channel) = (call.agent.clone(), call.args.channel()?);
    let Some(ts) = call.args.ts("timestamp", Refusal::BadTimestamp)? else {
        return refuse(Refusal::NoItemSpecified);
    };
    let answered = channel.clone();
    let message = call
        .app
        .store
        .read(move |db| {
            agent.may_use(db, &channel)?;
            match message::find(db, &channel, &ts)? {
                Some(stored) => read::shown(db, &channel, stored, false),
                None => refuse(Refusal::MessageNotFound),
            }
        })
        .await?;
    Ok(json!({"type": "message", "channel": answered, "message": message}))
}

/// What somebody, or the app itself, reacted to, the newest first.
pub(super) async fn list(call: Call) -> Result<Value, Trouble> {
    let (agent, user) = (call.agent.clone(), call.args.text("user"));
    let look = call.app.store.read(move |db| {
        let mut statement = db.prepare_cached(
            "SELECT channel, ts FROM reactions WHERE user = ?1
             GROUP BY channel, ts ORDER BY max(at_ms) DESC, ts DESC",
        )?;
        let user = user.as_deref().unwrap_or(BOT_USER);
        let rows = statement.query_map([user], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        let mut items = Vec::new();
        for row in rows {
            let (channel, ts) = row?;
            let channel = ChannelId::new(channel);
            let Ok(ts) = ts.parse() else { continue };
            if agent.may_use(db, &channel).is_err() {
                continue;
            }
            if let Some(found) = message::find(db, &channel, &ts)? {
                items.push(json!({"type": "message", "channel": channel,
                    "message": read::shown(db, &channel, found, false)?}));
            }
        }
        Ok(items)
    });
    conversations::page(&call, look.await?, "items")
}
