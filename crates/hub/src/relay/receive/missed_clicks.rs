//! A click while nobody listened is lost: Slack keeps none. After a longer
//! absence the threads with open cards are told so, once each, by the role that
//! asked.

use std::sync::Arc;

use butler_protocol::{ChannelId, Idem, PostTag};

use crate::{
    error::Result,
    hub::App,
    identity::{Agent, agent_by_key},
    relay::{
        Relay, channels,
        send::{Order, post},
    },
    store::Db,
    workspace::AgentPost,
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
pub(crate) fn alive(db: &Db) -> Result<Option<i64>> {
    let last = channels::recall(db, "alive")?.and_then(|at| at.parse().ok());
    channels::remember(db, "alive", &db.now_ms().to_string())?;
    Ok(last)
}

/// After a gap: asks for what may have been pressed in it.
pub(crate) async fn ask(app: &Arc<App>, relay: &Arc<Relay>) -> Result<()> {
    let last = app.write_as_owner(|tx| alive(tx.db())).await?;
    let Some(last) = last.filter(|last| app.store.now_ms() - last > LONG_MS) else {
        return Ok(());
    };
    for open in app.read(open_cards).await? {
        let idem = Idem::new(format!("again {} {last}", open.message));
        let tag = PostTag::message(idem, Vec::new());
        let order = Order {
            post: AgentPost {
                thread_ts: open.root.parse().ok(),
                username: Some(open.agent.role.user_name()),
                metadata: Some(tag.to_metadata()),
                ..AgentPost::new(open.channel, WORDS.to_owned(), app.rules.base.clone())
            },
            agent: open.agent,
            fence: None,
            files: Vec::new(),
        };
        post::post(Arc::clone(relay), Arc::clone(app), order).await?;
    }
    Ok(())
}

fn open_cards(db: &Db) -> Result<Vec<Open>> {
    let rows = db.rows::<(i64, ChannelId, String, String)>(
        "SELECT agents.id, cards.channel, cards.root, cards.message
         FROM cards JOIN agents ON agents.repo = cards.repo AND agents.role = cards.from_role
         WHERE cards.choice IS NULL ORDER BY cards.asked_ms",
        [],
    )?;
    let open = |(agent, channel, root, message)| {
        Ok(Open {
            agent: agent_by_key(db, agent)?,
            channel,
            root,
            message,
        })
    };
    rows.into_iter().map(open).collect()
}
