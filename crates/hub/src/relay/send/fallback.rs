//! What is said in another way where Slack refuses it: a role without a name of its own
//! is named in the text, blocks that a workspace does not know become older ones, and
//! what cannot be drawn at all is text.

use std::sync::atomic::Ordering;

use butler_protocol::Refusal;
use butler_slack::{SlackError, mrkdwn};
use serde_json::{Value, json};
use tracing::warn;

use crate::relay::Relay;

/// What a section may hold.
const SECTION: usize = 2_900;

/// Makes a call that may be repeated, in another way where Slack refuses how it is said.
pub(crate) async fn call(
    relay: &Relay,
    method: &str,
    mut args: Value,
) -> Result<Value, SlackError> {
    if relay.plain.load(Ordering::Relaxed) {
        role_in_text(&mut args);
    }
    loop {
        match relay.upstream.call(method, &args).await {
            Err(error) if otherwise(relay, &error, &mut args) => {}
            other => return other,
        }
    }
}

/// Slack refuses how it is said: whether it can be said in another way, and how.
pub(crate) fn otherwise(relay: &Relay, error: &SlackError, args: &mut Value) -> bool {
    if names_refused(error) && role_in_text(args) {
        if !relay.plain.swap(true, Ordering::Relaxed) {
            warn!(%error, "Slack lets the app use no other names: roles are named in the text");
        }
        return true;
    }
    let changed = blocks_refused(error) && older_blocks(args);
    if changed {
        warn!(%error, "Slack refuses blocks; they are said with older ones, or as text");
    }
    changed
}

/// Whether the app may use no names but its own.
pub(crate) fn names_refused(error: &SlackError) -> bool {
    match error {
        SlackError::MissingScope { needed, .. } => needed.contains("chat:write.customize"),
        _ => false,
    }
}

/// Whether it is the blocks that Slack does not take.
fn blocks_refused(error: &SlackError) -> bool {
    let is = |name: &str| error.code() == Some(name);
    matches!(
        error.refusal(),
        Some(Refusal::InvalidBlocks | Refusal::InvalidBlocksFormat)
    ) || is("msg_blocks_too_long")
        || is("msg_blocks_too_many")
}

/// Says as whom it is said in the text; false when it has no name of its own.
pub(crate) fn role_in_text(args: &mut Value) -> bool {
    let Some(fields) = args.as_object_mut() else {
        return false;
    };
    let Some(name) = fields.remove("username") else {
        return false;
    };
    fields.remove("icon_emoji");
    fields.remove("icon_url");
    let name = name.as_str().unwrap_or_default();
    let role = format!("*{}*", mrkdwn::escape(name));
    let text = fields
        .get("text")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let text = format!("{role}: {text}");
    fields.insert("text".to_owned(), json!(text));
    if let Some(blocks) = fields.get_mut("blocks").and_then(Value::as_array_mut) {
        let line = json!({"type": "context", "elements": [{"type": "mrkdwn", "text": role}]});
        blocks.insert(0, line);
    }
    true
}

/// The same with blocks that every workspace knows, then without any; false when there
/// is nothing left to leave out. Buttons stay: without them a card could not be decided.
fn older_blocks(args: &mut Value) -> bool {
    let Some(blocks) = args["blocks"].as_array() else {
        return false;
    };
    let new = |block: &Value| {
        matches!(
            block["type"].as_str(),
            Some("markdown" | "table" | "rich_text")
        )
    };
    if blocks.iter().any(new) {
        let older: Vec<Value> = blocks.iter().flat_map(older).collect();
        args["blocks"] = json!(older);
        return true;
    }
    let has_buttons = blocks.iter().any(|block| block["type"] == "actions");
    let only_buttons = blocks
        .iter()
        .all(|block| matches!(block["type"].as_str(), Some("actions" | "section")));
    if has_buttons && !only_buttons {
        let text = args["text"].as_str().unwrap_or_default();
        let mut plain = sections(text);
        let buttons = blocks.iter().filter(|block| block["type"] == "actions");
        plain.extend(buttons.cloned());
        args["blocks"] = json!(plain);
        return true;
    }
    match has_buttons {
        true => false,
        false => args
            .as_object_mut()
            .is_some_and(|fields| fields.remove("blocks").is_some()),
    }
}

fn older(block: &Value) -> Vec<Value> {
    match block["type"].as_str() {
        Some("markdown") => {
            let text = block["text"].as_str().unwrap_or_default();
            sections(&mrkdwn::from_markdown(text))
        }
        Some("table" | "rich_text") => Vec::new(),
        _ => vec![block.clone()],
    }
}

fn sections(text: &str) -> Vec<Value> {
    mrkdwn::split(text, SECTION)
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .map(|part| json!({"type": "section", "text": {"type": "mrkdwn", "text": part}}))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_without_a_name_is_named_once() {
        let mut args = json!({"text": "done", "username": "codebutler.coder",
            "icon_emoji": ":x:", "blocks": [{"type": "divider"}]});
        assert!(role_in_text(&mut args));
        assert_eq!(args["text"], "*codebutler.coder*: done");
        assert_eq!(args["blocks"][0]["type"], "context");
        assert!(args.get("username").is_none() && args.get("icon_emoji").is_none());
        assert!(!role_in_text(&mut args), "not a second time");
    }

    #[test]
    fn blocks_become_older_and_end_as_text_but_buttons_stay() {
        let buttons = json!({"type": "actions", "elements": []});
        let mut card = json!({"text": "a plan", "blocks": [
            {"type": "header"}, {"type": "markdown", "text": "**a** plan"}, buttons]});
        assert!(older_blocks(&mut card));
        assert_eq!(card["blocks"][1]["text"]["text"], "*a* plan");
        assert!(older_blocks(&mut card), "then only text and buttons");
        assert_eq!(card["blocks"][0]["text"]["text"], "a plan");
        assert_eq!(card["blocks"][1], buttons);
        assert!(!older_blocks(&mut card), "nothing is left to leave out");

        let mut words = json!({"text": "words", "blocks": [{"type": "header"}]});
        assert!(older_blocks(&mut words));
        assert!(words.get("blocks").is_none());
        assert!(!older_blocks(&mut words));
    }
}
