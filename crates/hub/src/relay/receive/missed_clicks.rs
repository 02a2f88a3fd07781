//! A click while nobody listened is lost: Slack keeps none. After a longer
//! absence the threads with open cards are told so, once each, by the role that
//! asked.

use std::sync::Arc;

use butler_protocol::{ChannelId, Idem, PostTag, Role};

use crate::relay::{
    Relay, channels,
    send::post::{self, Order},
};
use crate::{
    error::Trouble, hub::app::App, identity::Agent, store::db::Db, workspace::outbox::AgentPost,
};

/// Below this a person who saw the error mark is still there and presses again.
const LONG_MS: i64 = 60_000;
const WORDS: &str =
    "I was away for a while. If you pressed a button meanwhile, please press it again.";

/// A card that waits.
struct Open {
    agent: Agent,
    channel: ChannelId,
    root: String,
    message: String,
}

/// Notes that Slack is being listened to; gives when that was noted last.
pub(crate) fn alive(db: &Db) -> Result<Option<i64>, Trouble> {
    let last = channels::recall(db, "alive")?.and_then(|at| at.parse().ok());
    channels::remember(db, "alive", &db.now_ms().to_string())?;
    Ok(last)
}

/// After a gap: asks for what may have been pressed in it.
pub(crate) async fn ask(app: &Arc<App>, relay: &Arc<Relay>) -> Result<(), Trouble> {
    let last = app.as_owner().write(|tx| alive(tx.db())).await?;
    let Some(last) = last.filter(|last| app.store.now_ms() - last > LONG_MS) else {
        return Ok(());
    };
    for open in app.store.read(open_cards).await? {
        let idem = Idem::new(format!("again {} {last}", open.message));
        let tag = PostTag::message(idem, Vec::new());
        let order = Order {
            post: AgentPost {
                channel: open.channel,
                thread_ts: open.root.parse().ok(),
                broadcast: false,
                text: WORDS.to_owned(),
                blocks: None,
                attachments: None,
                files: Vec::new(),
                attached: None,
                username: Some(format!("codebutler.{}", open.agent.role)),
                icon_emoji: None,
                icon_url: None,
                metadata: Some(tag.to_metadata()),
                base: app.rules.base.clone(),
            },
            agent: open.agent,
            fence: None,
            files: Vec::new(),
        };
        post::post(Arc::clone(relay), Arc::clone(app), order).await?;
    }
    Ok(())
}

fn open_cards(db: &Db) -> Result<Vec<Open>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT agents.id, agents.repo, agents.role, cards.channel, cards.root, cards.message
         FROM cards JOIN agents ON agents.repo = cards.repo AND agents.role = cards.from_role
         WHERE cards.choice IS NULL ORDER BY cards.asked_ms",
    )?;
    let rows = statement.query_map([], |row| {
        let role: String = row.get(2)?;
        Ok(Open {
            agent: Agent {
                key: row.get(0)?,
                repo: row.get(1)?,
                role: role.parse().unwrap_or(Role::Pm),
                machine: None,
            },
            channel: ChannelId::new(row.get::<_, String>(3)?),
            root: row.get(4)?,
            message: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
