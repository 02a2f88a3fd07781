//! Whether blocks are ones that Slack would take. A post that works here must not
//! fail there, so the limits of the real thing hold in the built-in one too.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::error::{Refusal, Trouble, refuse};

/// What a message may hold. Newer kinds are passed on; what the page does not
/// know it shows by its text.
const KINDS: [&str; 22] = [
    "actions",
    "alert",
    "card",
    "carousel",
    "container",
    "context",
    "context_actions",
    "data_table",
    "data_visualization",
    "divider",
    "file",
    "header",
    "image",
    "input",
    "markdown",
    "plan",
    "rich_text",
    "section",
    "table",
    "task_card",
    "video",
    "call",
];
const MOST: usize = 50;
/// All texts of all blocks together.
const CHARACTERS: usize = 13_200;
const NAME: usize = 255;

/// The blocks of a post; an empty list is none.
pub(crate) fn checked(blocks: Option<Value>) -> Result<Option<Value>, Trouble> {
    let Some(blocks) = blocks else {
        return Ok(None);
    };
    let Value::Array(list) = &blocks else {
        return refuse(Refusal::InvalidBlocks);
    };
    if list.is_empty() {
        return Ok(None);
    }
    if list.len() > MOST {
        return refuse(Refusal::MsgBlocksTooMany);
    }
    let mut names = BTreeSet::new();
    for block in list {
        let name = block["block_id"].as_str();
        if !fits(block) || name.is_some_and(|name| !names.insert(name)) {
            return refuse(Refusal::InvalidBlocks);
        }
    }
    if list.iter().map(characters).sum::<usize>() > CHARACTERS {
        return refuse(Refusal::MsgBlocksTooLong);
    }
    Ok(Some(blocks))
}

/// Whether one block is within the limits of its kind.
fn fits(block: &Value) -> bool {
    let kind = block["type"].as_str().unwrap_or_default();
    let named = short(&block["block_id"], NAME);
    let elements = block["elements"].as_array().map(Vec::as_slice);
    KINDS.contains(&kind)
        && named
        && match kind {
            "section" => section(block),
            "header" => block["text"]["type"] == "plain_text" && text(&block["text"], 150),
            "context" => elements.is_some_and(|list| (1..=10).contains(&list.len())),
            "actions" => elements
                .is_some_and(|list| (1..=25).contains(&list.len()) && list.iter().all(element)),
            "image" => {
                let has = |field: &str| block[field].is_string();
                has("image_url") && short(&block["image_url"], 3000) && has("alt_text")
                    || block["slack_file"].is_object()
            }
            "markdown" => block["text"].is_string() && short(&block["text"], 12_000),
            "rich_text" => elements.is_some(),
            _ => true,
        }
}

fn section(block: &Value) -> bool {
    let fields = block["fields"].as_array();
    let fields_fit = fields.is_none_or(|fields| {
        (1..=10).contains(&fields.len()) && fields.iter().all(|field| text(field, 2000))
    });
    let accessory = &block["accessory"];
    (fields.is_some() || !block["text"].is_null())
        && fields_fit
        && (block["text"].is_null() || text(&block["text"], 3000))
        && (accessory.is_null() || element(accessory))
}

/// A text object that is not empty.
fn text(object: &Value, most: usize) -> bool {
    let kind = object["type"].as_str().unwrap_or_default();
    matches!(kind, "plain_text" | "mrkdwn")
        && object["text"].as_str().is_some_and(|text| !text.is_empty())
        && short(&object["text"], most)
}

/// Something to click or fill in.
fn element(element: &Value) -> bool {
    let kind = element["type"].as_str().unwrap_or_default();
    let options = element["options"].as_array().map_or(0, Vec::len);
    let most = match kind {
        "checkboxes" | "radio_buttons" => 10,
        "overflow" => 5,
        _ => 100,
    };
    let labelled =
        kind != "button" || text(&element["text"], 75) && element["text"]["type"] == "plain_text";
    !kind.is_empty()
        && labelled
        && options <= most
        && short(&element["action_id"], NAME)
        && short(&element["value"], 2000)
        && short(&element["url"], 3000)
}

fn short(value: &Value, most: usize) -> bool {
    value
        .as_str()
        .is_none_or(|text| text.chars().count() <= most)
}

/// What people would read of a block, in characters.
fn characters(value: &Value) -> usize {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) if name == "text" => text.chars().count(),
                Value::String(_) => 0,
                other => characters(other),
            })
            .sum(),
        Value::Array(items) => items.iter().map(characters).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(blocks: Value) -> String {
        match checked(Some(blocks)) {
            Ok(_) => "ok".to_owned(),
            Err(trouble) => trouble.to_string(),
        }
    }

    fn words(kind: &str, length: usize) -> Value {
        json!({"type": kind, "text": "x".repeat(length)})
    }

    #[test]
    fn what_slack_takes_is_taken() {
        let button = json!({"type": "button", "action_id": "a", "value": "v",
            "text": words("plain_text", 75)});
        for block in [
            json!({"type": "divider"}),
            json!({"type": "header", "text": words("plain_text", 150)}),
            json!({"type": "section", "text": words("mrkdwn", 3000), "accessory": button}),
            json!({"type": "section", "fields": [words("mrkdwn", 2000), words("plain_text", 9)]}),
            json!({"type": "context", "elements": [words("mrkdwn", 10)]}),
            json!({"type": "actions", "elements": [button]}),
            json!({"type": "image", "image_url": "https://example.com/a.png", "alt_text": "a"}),
            json!({"type": "markdown", "text": "**x**"}),
            json!({"type": "rich_text", "elements": []}),
            json!({"type": "task_card", "task_id": "1", "title": "t", "status": "pending"}),
        ] {
            assert_eq!(answer(json!([block])), "ok", "{block}");
        }
        assert!(checked(Some(json!([]))).unwrap().is_none());
        assert!(checked(None).unwrap().is_none());
    }

    #[test]
    fn what_slack_refuses_is_refused_by_its_name() {
        let button = |length| {
            json!({"type": "actions", "elements":
                [{"type": "button", "action_id": "a", "text": words("plain_text", length)}]})
        };
        let divider = json!({"type": "divider"});
        for (blocks, name) in [
            (json!({"type": "divider"}), Refusal::InvalidBlocks),
            (json!(["x"]), Refusal::InvalidBlocks),
            (json!([{"type": "sectoin"}]), Refusal::InvalidBlocks),
            (json!([{"type": "section"}]), Refusal::InvalidBlocks),
            (
                json!([{"type": "section", "text": "bare"}]),
                Refusal::InvalidBlocks,
            ),
            (
                json!([{"type": "section", "text": words("mrkdwn", 3001)}]),
                Refusal::InvalidBlocks,
            ),
            (
                json!([{"type": "section", "text": words("mrkdwn", 0)}]),
                Refusal::InvalidBlocks,
            ),
            (
                json!([{"type": "header", "text": words("mrkdwn", 5)}]),
                Refusal::InvalidBlocks,
            ),
            (
                json!([{"type": "header", "text": words("plain_text", 151)}]),
                Refusal::InvalidBlocks,
            ),
            (
                json!([{"type": "context", "elements": vec![words("mrkdwn", 1); 11]}]),
                Refusal::InvalidBlocks,
            ),
            (
                json!([{"type": "actions", "elements": []}]),
                Refusal::InvalidBlocks,
            ),
            (json!([button(76)]), Refusal::InvalidBlocks),
            (
                json!([{"type": "divider", "block_id": "a"}, {"type": "divider", "block_id": "a"}]),
                Refusal::InvalidBlocks,
            ),
            (json!(vec![divider; 51]), Refusal::MsgBlocksTooMany),
            (
                json!(vec![
                    json!({"type": "section", "text": words("mrkdwn", 2700)});
                    5
                ]),
                Refusal::MsgBlocksTooLong,
            ),
        ] {
            assert_eq!(answer(blocks.clone()), name.code(), "{blocks}");
        }
    }
}
