//! A message of a thread as a terminal shows it.

use butler_slack::mrkdwn;
use serde_json::Value;

/// What the message says: the body of a card with its small print, else its text.
/// Control characters are taken out: a terminal would obey them.
pub fn words(message: &Value) -> String {
    let blocks = || message["blocks"].as_array().into_iter().flatten();
    let body = blocks()
        .filter(|block| block["type"] == "markdown")
        .find_map(|block| block["text"].as_str());
    let text = body.or_else(|| message["text"].as_str());
    let mut text = mrkdwn::unescape(text.unwrap_or_default());
    let small = blocks()
        .filter(|block| block["type"] == "context")
        .filter_map(|block| block["elements"][0]["text"].as_str());
    for line in small {
        text.push_str(&format!("\n\n{}", mrkdwn::unescape(line)));
    }
    text.retain(|c| c == '\n' || c == '\t' || !c.is_control());
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_card_is_shown_whole_and_cannot_steer_the_terminal() {
        let card = json!({"text": "Plan", "blocks": [
            {"type": "markdown", "text": "# Plan\n1. a &lt;step&gt; \u{1b}[2J&amp;"},
            {"type": "context", "elements": [{"text": "about $0.10"}]},
            {"type": "actions", "elements": []}]});
        assert_eq!(words(&card), "# Plan\n1. a <step> [2J&\n\nabout $0.10");
        assert_eq!(words(&json!({"text": "plain"})), "plain");
    }
}
