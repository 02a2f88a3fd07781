//! Reactions by agents.

use butler_protocol::ChannelId;
use serde_json::{Value, json};

use super::{Call, conversations};
use crate::{
    error::{Refusal, Result},
    identity::BOT_USER,
    workspace::{
        message,
        react::{self, Reactor},
        read,
    },
};

pub(super) async fn change(call: Call, add: bool) -> Result<Value> {
    let (channel, name) = (
        call.args.channel()?,
        call.args.need("name", Refusal::InvalidName)?,
    );
    react::check_name(&name)?;
    let (place, ts) = (channel.clone(), call.args.item()?);
    call.write_in(&place, move |tx, agent| {
        let reactor = Reactor::Role(agent.role);
        react::react(tx, &reactor, &channel, &ts, &name, add)
    })
    .await?;
    Ok(json!({}))
}

pub(super) async fn get(call: Call) -> Result<Value> {
    let (channel, ts) = (call.args.channel()?, call.args.item()?);
    let place = channel.clone();
    let look = call.read_in(&channel, move |db| {
        let found = message::get(db, &place, &ts)?;
        read::shown(db, &place, found, false)
    });
    let message = look.await?;
    Ok(json!({"type": "message", "channel": channel, "message": message}))
}

/// What somebody, or the app itself, reacted to, the newest first.
pub(super) async fn list(call: Call) -> Result<Value> {
    let (agent, user) = (call.agent.clone(), call.args.text("user"));
    let look = call.app.read(move |db| {
        let user = user.as_deref().unwrap_or(BOT_USER);

        let mut items = Vec::new();
        for (channel, ts) in db.rows::<(String, String)>(
            "SELECT channel, ts FROM reactions WHERE user = ?1
             GROUP BY channel, ts ORDER BY max(at_ms) DESC, ts DESC",
            [user],
        )? {
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
