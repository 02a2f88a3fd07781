//! Reactions by agents.

use butler_protocol::{ChannelId, MessageTs};
use serde_json::{Value, json};

use super::{Call, conversations};
use crate::{
    error::{Refusal, Result},
    identity::BOT_USER,
    store::{Db, Tx},
    workspace::{
        message,
        react::{self, Reactor},
        read,
    },
};

pub(super) fn change(tx: &mut Tx<'_>, call: &Call, add: bool) -> Result<Value> {
    let (_, name) = (
        call.args.channel()?,
        call.args.need("name", Refusal::InvalidName)?,
    );
    react::check_name(&name)?;
    let (channel, ts) = call.item(tx.db())?;
    let reactor = Reactor::Role(call.agent.role);
    react::react(tx, &reactor, &channel, &ts, &name, add)?;
    Ok(json!({}))
}

pub(super) fn get(db: &Db, call: &Call) -> Result<Value> {
    let (channel, ts) = call.item(db)?;
    let found = message::get(db, &channel, &ts)?;
    let message = read::shown(db, &channel, found, false)?;
    Ok(json!({"type": "message", "channel": channel, "message": message}))
}

/// What somebody, or the app itself, reacted to, the newest first.
pub(super) fn list(db: &Db, call: &Call) -> Result<Value> {
    let user = call.args.text("user");
    let user = user.as_deref().unwrap_or(BOT_USER);
    let mut items = Vec::new();
    for (channel, ts) in db.rows::<(ChannelId, MessageTs)>(
        "SELECT channel, ts FROM reactions WHERE user = ?1
         GROUP BY channel, ts ORDER BY max(at_ms) DESC, ts DESC",
        [user],
    )? {
        if call.agent.may_use(db, &channel).is_err() {
            continue;
        }
        if let Some(found) = message::find(db, &channel, &ts)? {
            items.push(json!({"type": "message", "channel": channel,
                "message": read::shown(db, &channel, found, false)?}));
        }
    }
    conversations::page(call, items, "items")
}
