//! A person's words as a `rich_text` block, which Slack sends beside the text of every
//! message that was typed. Our own agents go by the text; apps of others may not.

use butler_slack::mrkdwn;
use serde_json::{Value, json};

/// Adds the block to the event of a message that a person wrote.
pub(super) fn add(payload: &mut Value) {
    // Looked for, not indexed: that would put an empty event into a click.
    let Some(event) = payload.get_mut("event") else {
        return;
    };
    let typed = matches!(event["type"].as_str(), Some("message" | "app_mention"))
        && event["user"].is_string()
        && event["bot_id"].is_null()
        && event["blocks"].is_null();
    let text = event["text"].as_str().unwrap_or_default().to_owned();
    if typed && !text.is_empty() {
        event["blocks"] = json!([{"type": "rich_text", "block_id": "typed", "elements": [
            {"type": "rich_text_section", "elements": elements(&text)}]}]);
    }
}

fn elements(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, token, after)) = next_token(rest) {
        push_words(&mut found, before);
        found.push(element(token));
        rest = after;
    }
    push_words(&mut found, rest);
    found
}

/// The text before the next `<…>`, what is in it, and the rest.
fn next_token(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('<')?;
    let (token, after) = rest.split_once('>')?;
    Some((before, token, after))
}

fn push_words(found: &mut Vec<Value>, words: &str) {
    if !words.is_empty() {
        found.push(json!({"type": "text", "text": mrkdwn::unescape(words)}));
    }
}

fn element(token: &str) -> Value {
    let (name, label) = token.split_once('|').unwrap_or((token, ""));
    match name.split_at_checked(1) {
        Some(("@", user)) => json!({"type": "user", "user_id": user}),
        Some(("#", channel)) => json!({"type": "channel", "channel_id": channel}),
        Some(("!", range)) => json!({"type": "broadcast", "range": range}),
        _ if label.is_empty() => json!({"type": "link", "url": name}),
        _ => json!({"type": "link", "url": name, "text": mrkdwn::unescape(label)}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mentions_and_links_are_parts_and_apps_are_left_alone() {
        let mut typed = json!({"event": {"type": "message", "user": "U1",
            "text": "a &lt; b <@U2> see <https://example.com|this>"}});
        add(&mut typed);
        assert_eq!(
            typed["event"]["blocks"][0]["elements"][0]["elements"],
            json!([{"type": "text", "text": "a < b "}, {"type": "user", "user_id": "U2"},
                {"type": "text", "text": " see "},
                {"type": "link", "url": "https://example.com", "text": "this"}])
        );
        let mut posted = json!({"event": {"type": "message", "bot_id": "B1", "user": "U0",
            "text": "x"}});
        add(&mut posted);
        assert!(posted["event"]["blocks"].is_null());
        let mut click = json!({"type": "block_actions"});
        add(&mut click);
        assert_eq!(click, json!({"type": "block_actions"}));
    }
}
