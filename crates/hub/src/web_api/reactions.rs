//! Reactions by agents.

use serde_json::{Value, json};

use super::Call;
use crate::{
    error::{Refusal, Trouble, refuse},
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
    let (agent, epoch, channel) = (call.agent.clone(), call.epoch, call.args.channel()?);
    let name = call.args.need("name", Refusal::InvalidName)?;
    react::check_name(&name)?;
    let Some(ts) = call.args.ts("timestamp", Refusal::BadTimestamp)? else {
        return refuse(Refusal::NoItemSpecified);
    };
    call.app
        .store
        .write(move |tx| {
            agent.check_epoch(tx.db(), epoch)?;
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
