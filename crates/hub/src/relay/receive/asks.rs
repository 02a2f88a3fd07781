//! What a person asks of the team elsewhere than in the channel: by a slash command, in
//! a direct message, about a message. Slack lets nobody write in another's name, so the
//! app opens the thread and says whose words they are; to the team they are that
//! person's words.

use butler_protocol::{ChannelId, UserId};
use butler_slack::mrkdwn;
use serde_json::{Value, json};

use crate::{
    error::Result,
    identity::Person,
    relay::{
        Relay,
        channels::{recall, remember},
        receive::{News, mirror},
        send::upstream::{messages, reader_of},
    },
    store::Db,
    workspace::channels,
};

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

impl Asked {
    pub(crate) fn new(
        person: Person,
        channel: ChannelId,
        thread: Option<String>,
        words: String,
    ) -> Self {
        Self {
            person,
            channel,
            thread,
            words,
        }
    }
}

/// Puts the words into the channel, once, and ends the inbox entry with that. Gives the
/// address of the message.
pub(crate) async fn ask(news: News<'_>, asked: Asked) -> Result<String> {
    let News { app, relay, seq } = news;
    let key = format!("asked {seq}");
    let mark = key.clone();
    let begin = app.write_as_owner(move |tx| {
        let begun = recall(tx.db(), &mark)?.is_some();
        remember(tx.db(), &mark, "begun")?;
        Ok(begun)
    });
    let there = match begin.await? {
        true => find(relay, &asked, seq).await?,
        false => None,
    };
    let ts = match there {
        Some(ts) => ts,
        None => post(relay, &asked, seq).await?,
    };
    let link = link(relay, &asked.channel, &ts);
    let (rules, us) = (app.rules.clone(), relay.us.clone());
    let keep = news.settle(move |tx| {
        let (person, channel) = (&asked.person, &asked.channel);
        let words = mrkdwn::escape(&asked.words);
        let mut message = json!({"type": "message", "user": person.id, "ts": ts,
            "text": format!("@codebutler.pm {words}")});
        if let Some(thread) = &asked.thread {
            message["text"] = json!(words);
            message["thread_ts"] = json!(thread);
        }
        mirror::said(tx, &rules, &us, Some(person), channel, &message)?;
        tx.db().run("DELETE FROM upstream WHERE key = ?1", [&key])
    });
    keep.await?;
    Ok(link)
}

async fn post(relay: &Relay, asked: &Asked, seq: i64) -> Result<String> {
    let words = mrkdwn::escape(&asked.words).replace('\n', "\n> ");
    let text = format!("<@{}> says:\n> {words}", asked.person.id);
    let mut args = json!({"channel": asked.channel, "text": text, "unfurl_links": false,
        "unfurl_media": false,
        "metadata": {"event_type": EVENT, "event_payload": {"seq": seq}}});
    if let Some(thread) = &asked.thread {
        args["thread_ts"] = json!(thread);
    }
    let answered = relay.upstream.once("chat.postMessage", &args).await?;
    let ts = answered.body["ts"].as_str().unwrap_or_default();
    Ok(ts.to_owned())
}

/// The message, where an earlier try has made it.
async fn find(relay: &Relay, asked: &Asked, seq: i64) -> Result<Option<String>> {
    let mut args = json!({"channel": asked.channel, "limit": 200, "include_all_metadata": true});
    let method = reader_of(asked.thread.as_deref(), &mut args);
    let page = relay.upstream.call(method, &args).await?;
    let ours = |one: &&Value| {
        mirror::is_ours(&relay.us, one)
            && one["metadata"]["event_type"] == EVENT
            && one["metadata"]["event_payload"]["seq"] == json!(seq)
    };
    let found = messages(&page)
        .find(ours)
        .and_then(|one| one["ts"].as_str());
    Ok(found.map(str::to_owned))
}

/// Slack's address of a message.
pub(crate) fn link(relay: &Relay, channel: &ChannelId, ts: &str) -> String {
    let workspace = relay.us.url.trim_end_matches('/');
    format!("{workspace}/archives/{channel}/p{}", ts.replace('.', ""))
}

/// The repos' channels: where there is one, no question is needed.
pub(crate) fn channels_of_repos(db: &Db) -> Result<Vec<ChannelId>> {
    let all = channels::list(db, None)?;
    let ours = all.into_iter().filter(|one| !one.repo.is_empty());
    Ok(ours.map(|one| one.id).collect())
}

/// A message to the app itself: it becomes a thread in the repo's channel, and whoever
/// wrote it is told where. With several repos they are asked to say it there.
pub(crate) async fn direct(news: News<'_>, event: &Value) -> Result<()> {
    let text = event["text"].as_str().unwrap_or_default();
    let by_person = event["bot_id"].is_null() && event["subtype"].is_null();
    let (Some(user), true) = (event["user"].as_str(), by_person && !text.trim().is_empty()) else {
        return news.done().await;
    };
    let person = news.person(&UserId::new(user)).await?;
    let channels = news.app.read(channels_of_repos).await?;
    let words = mrkdwn::unescape(text);
    let answer = match (news.outside(&person).await?, channels.as_slice()) {
        (Some(words), _) => words.to_owned(),
        (None, []) => "No repository of this team has a channel here yet.".to_owned(),
        (None, [channel]) => {
            let asked = Asked::new(person, channel.clone(), None, words);
            let link = ask(news, asked).await?;
            format!("I have passed that on, where everybody can follow it: {link}")
        }
        (None, many) => {
            let named: Vec<String> = many.iter().map(|id| format!("<#{id}>")).collect();
            format!(
                "I work for several repositories. Please say it in the channel of the one you mean: {}",
                named.join(", ")
            )
        }
    };
    news.done().await?;
    let args = json!({"channel": event["channel"], "text": answer});
    // The words themselves have arrived; only the note about it may be lost.
    let said = news.relay.upstream.once("chat.postMessage", &args);
    if let Err(error) = said.await {
        tracing::warn!(%error, "a direct message is not answered");
    }
    Ok(())
}
