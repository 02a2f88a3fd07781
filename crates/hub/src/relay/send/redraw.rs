//! What the hub itself owes Slack after a decision: the card without its buttons,
//! and a word to whoever may not decide. It is in the store before, so it can
//! wait for Slack and happen twice.

use std::sync::Arc;

use butler_protocol::{ChannelId, DecisionView, MessageTs};
use serde_json::{Value, json};
use tracing::warn;

use crate::{
    error::{Result, Trouble},
    hub::App,
    relay::{
        Relay,
        send::{fallback, upstream::repeatable},
    },
    store::{Db, params},
    workspace::{card, decide, message},
};

/// Draws every decided card that still waits for it, and says what is to be said;
/// what Slack does not answer is tried again at the next beat.
pub(crate) async fn work(app: &Arc<App>, relay: &Arc<Relay>) -> Result<()> {
    whisper(app, relay).await?;
    for (channel, ts) in app.read(waiting).await? {
        match one(app, relay, &channel, &ts).await {
            Ok(()) => {}
            Err(Trouble::Away | Trouble::Closed | Trouble::NotOwner) => return Ok(()),
            Err(trouble) => {
                warn!(%trouble, %channel, message = %ts, "a decided card keeps its buttons");
                done(app, channel, ts).await?;
            }
        }
    }
    Ok(())
}

async fn whisper(app: &Arc<App>, relay: &Arc<Relay>) -> Result<()> {
    for (id, args) in app.read(whispers).await? {
        match relay.upstream.once("chat.postEphemeral", &args).await {
            Err(error) if repeatable(&error) => return Ok(()),
            Err(error) => warn!(%error, "somebody is not told that they may not decide"),
            Ok(_) => {}
        }
        app.write_as_owner(move |tx| {
            let sql = "DELETE FROM whispers WHERE id = ?1";
            Ok(tx.db().execute(sql, [id])?)
        })
        .await?;
    }
    Ok(())
}

fn whispers(db: &Db) -> Result<Vec<(i64, Value)>> {
    let sql = "SELECT id, channel, root, user, words FROM whispers ORDER BY id LIMIT 50";
    let rows = db.rows::<(i64, [String; 4])>(sql, [])?.into_iter();
    let whispers = rows.map(|(id, [channel, root, user, words])| {
        let args = json!({"channel": channel, "thread_ts": root, "user": user, "text": words});
        (id, args)
    });
    Ok(whispers.collect())
}

fn waiting(db: &Db) -> Result<Vec<(ChannelId, MessageTs)>> {
    Ok(db.rows("SELECT channel, message FROM redraws LIMIT 50", [])?)
}

async fn one(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    channel: &ChannelId,
    ts: &MessageTs,
) -> Result<()> {
    let (place, wanted) = (channel.clone(), ts.clone());
    let found = app
        .read(move |db| {
            let view = decide::on_message(db, &place, &wanted)?;
            Ok((view, message::find(db, &place, &wanted)?))
        })
        .await?;
    let (
        Some(DecisionView {
            decided: Some(decision),
            ..
        }),
        Some(old),
    ) = found
    else {
        return done(app, channel.clone(), ts.clone()).await;
    };
    let person = relay.person(&app.as_owner(), &decision.person).await?.name;
    let (blocks, text) = card::decided(&old.body, decision.choice, &decision.by(&person));
    let args = json!({"channel": channel, "ts": ts, "text": text, "blocks": blocks});
    fallback::call(relay, "chat.update", args).await?;
    app.write_as_owner(move |tx| {
        decide::redraw(tx, &decision, &person)?;
        forget(tx.db(), &decision.thread.channel, &decision.message)
    })
    .await
}

async fn done(app: &Arc<App>, channel: ChannelId, ts: MessageTs) -> Result<()> {
    app.write_as_owner(move |tx| forget(tx.db(), &channel, &ts))
        .await
}

fn forget(db: &Db, channel: &ChannelId, ts: &MessageTs) -> Result<()> {
    db.run(
        "DELETE FROM redraws WHERE channel = ?1 AND message = ?2",
        params![channel, ts],
    )
}
