//! A message of a thread as a terminal shows it.

use std::collections::BTreeMap;

use butler_protocol::{MessageTs, Role, ThreadId, with_names};
use butler_slack::{mrkdwn, rich};
use serde_json::Value;

/// Everybody's name by their id.
pub(crate) type People = BTreeMap<String, String>;

/// The people whom a thread's view names.
pub(crate) fn people(view: &Value) -> People {
    let named = view["people"].as_object().into_iter().flatten();
    named
        .filter_map(|(id, name)| Some((id.clone(), name.as_str()?.to_owned())))
        .collect()
}

/// The roles that are at work in a thread.
pub(crate) fn working(view: &Value) -> Vec<Role> {
    let states = view["activity"].as_array().into_iter().flatten();
    let works = states.filter(|one| one["state"] == "working");
    works
        .filter_map(|one| one["role"].as_str()?.parse().ok())
        .collect()
}

/// The messages of a thread after this one.
pub(crate) fn after<'a>(view: &'a Value, ts: &MessageTs) -> impl Iterator<Item = &'a Value> {
    let messages = view["messages"].as_array().into_iter().flatten();
    messages.filter(move |message| {
        let said = message["ts"].as_str().and_then(|ts| ts.parse().ok());
        said.is_some_and(|said: MessageTs| said > *ts)
    })
}

/// The short id of a thread that the hub names, which every command takes.
pub(crate) fn short(thread: &Value) -> Option<String> {
    let thread: ThreadId = serde_json::from_value(thread.clone()).ok()?;
    Some(thread.short())
}

/// What the message says: the body of a card with its small print, else its text.
/// A card says here what it says everywhere, the whole of it; what it had no room
/// for is in a file, which is named. Control characters are taken out: a terminal
/// would obey them.
pub(crate) fn words(message: &Value, people: &People) -> String {
    // Whoever reads this is meant.
    let plain = |text: &str| {
        let named = with_names(text, |id| people.get(id).cloned());
        mrkdwn::unescape(&named).replace("@the user", "@you")
    };
    let blocks = || message["blocks"].as_array().into_iter().flatten();
    let title = |block: &Value| Some(format!("{}\n\n", block["text"]["text"].as_str()?));
    let body: String = blocks()
        .filter_map(|block| match block["type"].as_str()? {
            "header" => title(block),
            "rich_text" => Some(rich::plain(block)),
            "markdown" => block["text"].as_str().map(plain),
            _ => None,
        })
        .collect();
    let mut text = match body.trim_end() {
        "" => plain(message["text"].as_str().unwrap_or_default()),
        body => body.to_owned(),
    };
    let files = message["files"].as_array().into_iter().flatten();
    for file in files.filter_map(|file| file["url_private"].as_str()) {
        text.push_str(&format!("\n\nAttached: {file}"));
    }
    let small = blocks()
        // Whom it rings for is no news at a terminal.
        .filter(|block| block["type"] == "context" && block["block_id"] != "cb:people")
        .filter_map(|block| block["elements"][0]["text"].as_str());
    for line in small {
        text.push_str(&format!("\n\n{}", plain(line)));
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
            {"type": "context", "elements": [{"text": "<@U1> <@U2|ben> <@U3>"}]},
            {"type": "context", "block_id": "cb:people", "elements": [{"text": "<@U1>"}]},
            {"type": "actions", "elements": []}]});
        let people = People::from([("U1".to_owned(), "ana".to_owned())]);
        assert_eq!(
            words(&card, &people),
            "Plan\n\nSteps:\n    1. a <step> [2J&amp;\n\nabout $0.10\n\n@ana @ben @you"
        );
        let offer =
            json!({"text": "x", "blocks": [{"type": "markdown", "text": "Why &lt;not&gt;?"}]});
        assert_eq!(words(&offer, &people), "Why <not>?");
        assert_eq!(words(&json!({"text": "plain <@"}), &people), "plain <@");
    }
}
