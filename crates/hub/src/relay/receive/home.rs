//! What stands beside the channel: the app's home tab with everything that waits for
//! whoever opens it, and what people do with a message (ask about it, make it an item).

use butler_protocol::{ChannelId, UserId};
use butler_slack::mrkdwn;
use serde_json::{Value, json};
use tracing::warn;

use crate::{
    error::Result,
    relay::receive::{Asked, News, asks},
    views::{Need, needs},
};

/// Needs that are shown; more would not be read.
const MOST: usize = 20;
/// What the manifest calls the two shortcuts.
const ASK: &str = "ask_about_message";
const ITEM: &str = "make_item";

/// Somebody opens the app's home: what waits for them is drawn.
pub(crate) async fn opened(news: News<'_>, event: &Value) -> Result<()> {
    let user = event["user"].as_str().unwrap_or_default();
    let person = news.person(&UserId::new(user)).await?;
    let rules = news.app.rules.clone();
    let look = news.settle(move |tx| needs::of(tx.db(), &rules, &person));
    let waiting = look.await?;
    if event["tab"] != json!("home") {
        return Ok(());
    }
    let blocks = drawn(&waiting, |channel, ts| asks::link(news.relay, channel, ts));
    let args = json!({"user_id": user, "view": {"type": "home", "blocks": blocks}});
    // It is drawn again when it is opened again.
    let shown = news.relay.upstream.once("views.publish", &args);
    if let Err(error) = shown.await {
        warn!(%error, "a home tab is not drawn");
    }
    Ok(())
}

fn drawn(waiting: &[Need], link: impl Fn(&ChannelId, &str) -> String) -> Vec<Value> {
    let plain = |text: String| json!({"type": "plain_text", "text": text, "emoji": true});
    let mut blocks = vec![json!({"type": "header", "text": plain("Needs you".to_owned())})];
    if waiting.is_empty() {
        let text = "Nothing waits for you. Say `/pm …` to ask for something.";
        blocks.push(json!({"type": "section", "text": {"type": "mrkdwn", "text": text}}));
    }
    for need in waiting.iter().take(MOST) {
        let ts = need.message.as_ref().unwrap_or(&need.thread.root);
        let text = format!(
            "*{}: {}*\n{}",
            need.kind.label(),
            mrkdwn::escape(&need.title),
            mrkdwn::escape(&need.why)
        );
        let text: String = text.chars().take(2_900).collect();
        blocks.push(
            json!({"type": "section", "text": {"type": "mrkdwn", "text": text},
            "accessory": {"type": "button", "text": plain("Open".to_owned()),
                "url": link(&need.thread.channel, ts.as_str())}}),
        );
    }
    if waiting.len() > MOST {
        let more = format!("and {} more", waiting.len() - MOST);
        blocks.push(json!({"type": "context", "elements": [plain(more)]}));
    }
    blocks
}

/// Somebody uses a shortcut on a message: false when it is none of ours.
pub(crate) async fn shortcut(news: News<'_>, payload: &Value) -> Result<bool> {
    let text = |value: &Value| mrkdwn::plain(value.as_str().unwrap_or_default());
    let quoted = text(&payload["message"]["text"]);
    let words = match payload["callback_id"].as_str() {
        Some(ASK) => format!("What do you say to this?\n{quoted}"),
        Some(ITEM) => format!("roadmap-add: {quoted}"),
        _ => return Ok(false),
    };
    let user = payload["user"]["id"].as_str().unwrap_or_default();
    let person = news.person(&UserId::new(user)).await?;
    let here = ChannelId::new(payload["channel"]["id"].as_str().unwrap_or_default());
    let channels = news.app.read(asks::channels_of_repos).await?;
    let channel = match channels.as_slice() {
        many if many.contains(&here) => Some(here),
        [one] => Some(one.clone()),
        _ => None,
    };
    let answer = match (news.outside(&person).await?, channel) {
        (Some(words), _) => words.to_owned(),
        (None, Some(channel)) => {
            let asked = Asked::new(person, channel, None, words);
            format!("The team has it: {}", asks::ask(news, asked).await?)
        }
        (None, None) => {
            "Use this on a message in the channel of the repository that you mean.".to_owned()
        }
    };
    news.done().await?;
    let url = payload["response_url"].as_str().unwrap_or_default();
    let body = json!({"response_type": "ephemeral", "replace_original": false, "text": answer});
    if let Err(error) = news.relay.upstream.web.respond(url, &body).await {
        warn!(%error, "a shortcut is not answered");
    }
    Ok(true)
}
