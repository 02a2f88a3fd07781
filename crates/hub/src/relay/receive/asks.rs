//! What a person asks of the team elsewhere than in the channel: by a slash command, in
//! a direct message, about a message. Slack lets nobody write in another's name, so the
//! app opens the thread and says whose words they are; to the team they are that
//! person's words.

use std::sync::Arc;

use butler_protocol::ChannelId;
use butler_slack::mrkdwn;
use serde_json::{Value, json};

use crate::relay::{
    Relay,
    channels::{recall, remember},
    receive::{inbox, mirror},
};
use crate::{error::Trouble, hub::app::App, identity::Person, store::db::Db, workspace::channels};

/// The metadata that such a message is known by.
pub(crate) const EVENT: &str = "codebutler_asked";

/// Somebody's words, and where they are to stand.
pub(crate) struct Asked {
    pub(crate) person: Person,
    pub(crate) channel: ChannelId,
    /// In a thread that is there, or a new one.
    pub(crate) thread: Option<String>,
    /// As they were typed, without Slack's escapes.
    pub(crate) words: String,
}

/// Puts the words into the channel, once, and ends the inbox entry with that. Gives the
/// address of the message.
pub(crate) async fn ask(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    seq: i64,
    asked: Asked,
) -> Result<String, Trouble> {
    let key = format!("asked {seq}");
    let mark = key.clone();
    let begun = app
        .as_owner()
        .write(move |tx| {
            let begun = recall(tx.db(), &mark)?.is_some();
            remember(tx.db(), &mark, "begun")?;
            Ok(begun)
        })
        .await?;
    let there = match begun {
        true => find(relay, &asked, seq).await?,
        false => None,
    };
    let ts = match there {
        Some(ts) => ts,
        None => post(relay, &asked, seq).await?,
    };
    let link = link(relay, &asked.channel, &ts);
    let (rules, us) = (app.rules.clone(), relay.us.clone());
    app.as_owner()
        .write(move |tx| {
            let text = format!("@codebutler.pm {}", mrkdwn::escape(&asked.words));
            let text = match asked.thread {
                Some(_) => mrkdwn::escape(&asked.words),
                None => text,
            };
            let mut message = json!({"type": "message", "user": asked.person.id, "ts": ts,
                "text": text});
            if let Some(thread) = &asked.thread {
                message["thread_ts"] = json!(thread);
            }
            mirror::said(
                tx,
                &rules,
                &us,
                Some(&asked.person),
                &asked.channel,
                &message,
            )?;
            tx.db()
                .execute("DELETE FROM upstream WHERE key = ?1", [&key])?;
            inbox::done(tx.db(), seq)
        })
        .await?;
    Ok(link)
}

async fn post(relay: &Relay, asked: &Asked, seq: i64) -> Result<String, Trouble> {
    let words = mrkdwn::escape(&asked.words).replace('\n', "\n> ");
    let text = format!("<@{}> says:\n> {words}", asked.person.id);
    let mut args = json!({"channel": asked.channel, "text": text, "unfurl_links": false,
        "unfurl_media": false,
        "metadata": {"event_type": EVENT, "event_payload": {"seq": seq}}});
    if let Some(thread) = &asked.thread {
        args["thread_ts"] = json!(thread);
    }
    let channel = Some(asked.channel.as_str());
    let answered = relay
        .upstream
        .once("chat.postMessage", channel, &args)
        .await?;
    let ts = answered.body["ts"].as_str().unwrap_or_default();
    Ok(ts.to_owned())
}

/// The message, where an earlier try has made it.
async fn find(relay: &Relay, asked: &Asked, seq: i64) -> Result<Option<String>, Trouble> {
    let mut args = json!({"channel": asked.channel, "limit": 200, "include_all_metadata": true});
    let method = match &asked.thread {
        Some(thread) => {
            args["ts"] = json!(thread);
            "conversations.replies"
        }
        None => "conversations.history",
    };
    let page = relay.upstream.call(method, None, &args).await?;
    let mut all = page["messages"].as_array().into_iter().flatten();
    let ours = |one: &&Value| {
        mirror::is_ours(&relay.us, one)
            && one["metadata"]["event_type"] == EVENT
            && one["metadata"]["event_payload"]["seq"] == json!(seq)
    };
    let found = all.find(ours).and_then(|one| one["ts"].as_str());
    Ok(found.map(str::to_owned))
}

/// Slack's address of a message.
pub(crate) fn link(relay: &Relay, channel: &ChannelId, ts: &str) -> String {
    let workspace = relay.us.url.trim_end_matches('/');
    format!("{workspace}/archives/{channel}/p{}", ts.replace('.', ""))
}

/// The repos' channels: where there is one, no question is needed.
pub(crate) fn channels_of_repos(db: &Db) -> Result<Vec<ChannelId>, Trouble> {
    let all = channels::list(db, None)?;
    let ours = all.into_iter().filter(|one| !one.repo.is_empty());
    Ok(ours.map(|one| one.id).collect())
}

/// A message to the app itself: it becomes a thread in the repo's channel, and whoever
/// wrote it is told where. With several repos they are asked to say it there.
pub(crate) async fn direct(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    seq: i64,
    event: &Value,
) -> Result<(), Trouble> {
    let text = event["text"].as_str().unwrap_or_default();
    let by_person = event["bot_id"].is_null() && event["subtype"].is_null();
    let (Some(user), true) = (event["user"].as_str(), by_person && !text.trim().is_empty()) else {
        return done(app, seq).await;
    };
    let person = relay
        .person(&app.as_owner(), &butler_protocol::UserId::new(user))
        .await?;
    let channels = app.store.read(channels_of_repos).await?;
    let words = mrkdwn::unescape(text);
    let outsider = relay.outsider(&app.as_owner(), &person.id).await?;
    let answer = match channels.as_slice() {
        _ if outsider.is_some() => {
            let words = outsider.map(|outsider| outsider.words());
            words.unwrap_or_default().to_owned()
        }
        [] => "No repository of this team has a channel here yet.".to_owned(),
        [channel] => {
            let asked = Asked {
                person,
                channel: channel.clone(),
                thread: None,
                words,
            };
            let link = ask(app, relay, seq, asked).await?;
            format!("I have passed that on, where everybody can follow it: {link}")
        }
        many => {
            let named: Vec<String> = many.iter().map(|id| format!("<#{id}>")).collect();
            format!(
                "I work for several repositories. Please say it in the channel of the one you mean: {}",
                named.join(", ")
            )
        }
    };
    done(app, seq).await?;
    let args = json!({"channel": event["channel"], "text": answer});
    // The words themselves have arrived; only the note about it may be lost.
    if let Err(error) = relay.upstream.once("chat.postMessage", None, &args).await {
        tracing::warn!(%error, "a direct message is not answered");
    }
    Ok(())
}

async fn done(app: &Arc<App>, seq: i64) -> Result<(), Trouble> {
    app.as_owner()
        .write(move |tx| inbox::done(tx.db(), seq))
        .await
}
