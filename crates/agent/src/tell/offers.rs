//! Buttons that decide nothing go once they were used, and once what they offer is
//! over: a button that is still there must still do something.

use butler_protocol::{MessageTs, ThreadId};
use butler_slack::{BlockAction, Message, SlackError};
use serde_json::{Value, json};

use crate::{listen::buttons, tell::poster::Poster};

/// A press was heard: the buttons of that message go, what was chosen stays.
pub(crate) async fn used(
    poster: &Poster,
    action: &BlockAction,
    by: &str,
) -> Result<(), SlackError> {
    let messages = poster.web.replies(&action.thread).await?;
    let pressed = messages.iter().find(|one| one.ts == action.message);
    let Some(offer) = pressed.filter(|one| is_ours(poster, one)) else {
        return Ok(());
    };
    let label = labels(offer).find(|(id, _)| *id == action.action_id);
    let chosen = label.map(|(_, label)| format!("{by} chose *{label}*"));
    close(poster, &action.thread, offer, chosen).await
}

/// Something else was said: what this role offered before and that answered is void.
/// A draft is not, until another one begins.
pub(crate) async fn void(
    poster: &Poster,
    thread: &ThreadId,
    before: &MessageTs,
    is_void: fn(&str) -> bool,
) -> Result<(), SlackError> {
    for message in poster.web.replies(thread).await? {
        let offers = labels(&message).any(|(id, _)| is_void(id));
        if offers && message.ts < *before && is_ours(poster, &message) {
            close(poster, thread, &message, None).await?;
        }
    }
    Ok(())
}

/// Whether these buttons asked a question that any words of a person answer.
pub(crate) fn ends_with_words(action: &str) -> bool {
    buttons::words(action).is_some() || buttons::about_silence(action).is_some()
}

/// Whether these are buttons of a draft.
pub(crate) fn is_draft(action: &str) -> bool {
    buttons::drafted(action).is_some()
}

fn is_ours(poster: &Poster, message: &Message) -> bool {
    message
        .tag()
        .is_some_and(|tag| tag.from == Some(poster.role))
}

/// The ids and labels of a message's buttons.
fn labels(message: &Message) -> impl Iterator<Item = (&str, &str)> {
    let blocks = message.blocks.as_ref().and_then(Value::as_array);
    let rows = blocks.into_iter().flatten().filter(|one| is_row(one));
    let elements = rows.filter_map(|row| row["elements"].as_array()).flatten();
    elements.filter_map(|one| Some((one["action_id"].as_str()?, one["text"]["text"].as_str()?)))
}

fn is_row(block: &Value) -> bool {
    block["type"] == "actions"
}

async fn close(
    poster: &Poster,
    thread: &ThreadId,
    offer: &Message,
    chosen: Option<String>,
) -> Result<(), SlackError> {
    let blocks = offer.blocks.as_ref().and_then(Value::as_array);
    let rest = blocks.into_iter().flatten().filter(|one| !is_row(one));
    let mut rest: Vec<Value> = rest.cloned().collect();
    if let Some(chosen) = chosen {
        rest.push(json!({"type": "context", "elements": [{"type": "mrkdwn", "text": chosen}]}));
    }
    let blocks = Value::Array(rest);
    let web = &poster.web;
    web.update(&thread.channel, &offer.ts, &offer.text, Some(&blocks))
        .await
}
