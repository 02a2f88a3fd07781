//! A message of a thread as a terminal shows it.

use butler_slack::{mrkdwn, rich};
use serde_json::Value;

/// What the message says: the body of a card with its small print, else its text.
/// A card says here what it says everywhere, the whole of it; what it had no room
/// for is in a file, which is named. Control characters are taken out: a terminal
/// would obey them.
pub(crate) fn words(message: &Value) -> String {
    let blocks = || message["blocks"].as_array().into_iter().flatten();
    let title = |block: &Value| Some(format!("{}\n\n", block["text"]["text"].as_str()?));
    let body: String = blocks()
        .filter_map(|block| match block["type"].as_str()? {
            "header" => title(block),
            "rich_text" => Some(rich::plain(block)),
            "markdown" => block["text"].as_str().map(mrkdwn::unescape),
            _ => None,
        })
        .collect();
    let mut text = match body.trim_end() {
        "" => mrkdwn::unescape(message["text"].as_str().unwrap_or_default()),
        body => body.to_owned(),
    };
    let files = message["files"].as_array().into_iter().flatten();
    for file in files.filter_map(|file| file["url_private"].as_str()) {
        text.push_str(&format!("\n\nAttached: {file}"));
    }
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

    use crate::commands::talk::message::*;

    #[test]
    fn a_card_is_shown_whole_and_cannot_steer_the_terminal() {
        let card = json!({"text": "Plan", "blocks": [
            {"type": "header", "text": {"text": "Plan"}},
            {"type": "rich_text", "elements": [rich::section(&[rich::bold("Steps")]),
                rich::list(true, &[vec![rich::text("a <step> \u{1b}[2J&amp;")]])]},
            {"type": "context", "elements": [{"text": "about $0.10"}]},
            {"type": "actions", "elements": []}]});
        assert_eq!(
            words(&card),
            "Plan\n\nSteps:\n    1. a <step> [2J&amp;\n\nabout $0.10"
        );
        let offer =
            json!({"text": "x", "blocks": [{"type": "markdown", "text": "Why &lt;not&gt;?"}]});
        assert_eq!(words(&offer), "Why <not>?");
        assert_eq!(words(&json!({"text": "plain"})), "plain");
    }
}
