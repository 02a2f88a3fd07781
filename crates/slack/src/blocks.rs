//! The decision cards in Block Kit. Only the runtime draws these: a model's
//! text has no buttons.

use butler_vocab::{ActionId, Choice, DecisionKind, RequestId};
use serde_json::{Value, json};

/// The most that Slack takes in all Markdown blocks of a message.
const BODY_LIMIT: usize = 11_500;
const TITLE_LIMIT: usize = 150;

/// The block of a decided card that says who decided. Our own page leaves it
/// out and draws the hub's record instead.
pub const VERDICT_BLOCK: &str = "cb:verdict";

/// What [`card`] and [`decided`] make: blocks and the text fallback.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// For `blocks`.
    pub blocks: Value,
    /// For `text`: notification and screen reader.
    pub text: String,
}

/// A card that waits for a person.
#[must_use]
pub fn card(
    kind: DecisionKind,
    request: &RequestId,
    title: &str,
    body_markdown: &str,
    context: &str,
) -> Card {
    let mut blocks = top(title, body_markdown, context);
    let buttons: Vec<Value> = kind
        .choices()
        .iter()
        .map(|choice| button(request, *choice))
        .collect();
    blocks
        .push(json!({"type": "actions", "block_id": format!("cb:{request}"), "elements": buttons}));
    let choices: Vec<&str> = kind.choices().iter().map(|choice| choice.label()).collect();
    Card {
        blocks: Value::Array(blocks),
        text: crate::mrkdwn::escape(&format!(
            "{}\n{} ({request})",
            headline(title, body_markdown),
            choices.join(" · ")
        )),
    }
}

/// The same card after the decision: no buttons, and who decided.
#[must_use]
pub fn decided(
    title: &str,
    body_markdown: &str,
    context: &str,
    choice: Choice,
    person: &str,
) -> Card {
    let verdict = format!("{} by {person}", past(choice));
    let mut blocks = top(title, body_markdown, context);
    blocks.push(
        json!({"type": "context", "block_id": VERDICT_BLOCK, "elements": [
        {"type": "mrkdwn", "text": format!("*{}*", crate::mrkdwn::escape(&verdict))}]}),
    );
    Card {
        blocks: Value::Array(blocks),
        text: crate::mrkdwn::escape(&format!("{}\n{verdict}", headline(title, body_markdown))),
    }
}

/// A notification shows nothing else: the title, and of what when the body says
/// so in a bold first line.
fn headline(title: &str, body_markdown: &str) -> String {
    let first = body_markdown.lines().next().unwrap_or_default().trim();
    let bold = first
        .strip_prefix("**")
        .and_then(|rest| rest.strip_suffix("**"));
    match bold {
        Some(subject) => format!("{title}: {}", cut(subject, TITLE_LIMIT)),
        None => title.to_owned(),
    }
}

fn top(title: &str, body_markdown: &str, context: &str) -> Vec<Value> {
    let mut blocks = vec![json!({"type": "header",
        "text": {"type": "plain_text", "text": cut(title, TITLE_LIMIT), "emoji": false}})];
    if !body_markdown.is_empty() {
        blocks.push(json!({"type": "markdown", "text": cut(body_markdown, BODY_LIMIT)}));
    }
    if !context.is_empty() {
        blocks.push(json!({"type": "context", "elements": [
            {"type": "plain_text", "text": cut(context, 2_000), "emoji": false}]}));
    }
    blocks
}

fn button(request: &RequestId, choice: Choice) -> Value {
    let action = ActionId {
        request: request.clone(),
        choice,
    };
    let mut button = json!({"type": "button", "action_id": action.to_string(),
        "value": request, "text": {"type": "plain_text", "text": choice.label()}});
    match choice {
        Choice::Approve | Choice::Accept | Choice::Merge | Choice::Raise => {
            button["style"] = json!("primary");
        }
        Choice::Reject | Choice::Close | Choice::Stop => button["style"] = json!("danger"),
        Choice::Modify | Choice::Hold => {}
    }
    button
}

/// A choice after it was made, as in "Approved".
#[must_use]
pub const fn past(choice: Choice) -> &'static str {
    match choice {
        Choice::Approve => "Approved",
        Choice::Modify => "Changes asked for",
        Choice::Reject => "Rejected",
        Choice::Accept => "Accepted",
        Choice::Merge => "Merge ordered",
        Choice::Hold => "Held",
        Choice::Close => "Closed without merge",
        Choice::Raise => "Cap raised",
        Choice::Stop => "Stopped",
    }
}

/// At most `limit` characters; says so when something is missing.
fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(limit - 1).collect();
            format!("{kept}…")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_has_the_buttons_of_its_kind_and_a_fallback() {
        let request = RequestId::new("k3m9qa");
        let card = card(
            DecisionKind::Plan,
            &request,
            "Plan <x>",
            "1. do",
            "branch a",
        );
        let actions = card.blocks.as_array().unwrap().last().unwrap().clone();
        let ids: Vec<&str> = actions["elements"]
            .as_array()
            .unwrap()
            .iter()
            .map(|button| button["action_id"].as_str().unwrap())
            .collect();
        assert_eq!(
            ids,
            ["cb:k3m9qa:approve", "cb:k3m9qa:modify", "cb:k3m9qa:reject"]
        );
        assert_eq!(actions["elements"][0]["style"], "primary");
        assert!(card.text.starts_with("Plan &lt;x&gt;"), "{}", card.text);
    }

    #[test]
    fn a_notification_says_what_is_to_be_decided() {
        let request = RequestId::new("k3m9qa");
        let body = "**Add <--json>**\n\nMachines read it.";
        let open = card(DecisionKind::Plan, &request, "Plan", body, "");
        assert!(
            open.text.starts_with("Plan: Add &lt;--json&gt;\n"),
            "{}",
            open.text
        );
        let done = decided("Plan", body, "", Choice::Approve, "ana");
        assert_eq!(done.text, "Plan: Add &lt;--json&gt;\nApproved by ana");
    }

    #[test]
    fn a_decided_card_has_no_buttons_and_names_the_person() {
        let card = decided("Plan", "1. do", "", Choice::Approve, "ana <3");
        assert!(!card.blocks.to_string().contains("\"actions\""));
        assert!(card.blocks.to_string().contains("Approved by ana &lt;3"));
    }

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        let card = card(
            DecisionKind::Merge,
            &RequestId::new("r"),
            &"ü".repeat(400),
            &"x".repeat(20_000),
            "",
        );
        let title = card.blocks[0]["text"]["text"].as_str().unwrap();
        assert_eq!(title.chars().count(), 150);
        assert!(title.ends_with('…'));
        assert!(card.blocks[1]["text"].as_str().unwrap().len() < 12_000);
    }
}
