//! Whether blocks are ones that Slack would take. A post that works here must not
//! fail there, so the limits of the real thing hold in the built-in one too. What is
//! wrong is said as Slack says it, with the place in the JSON.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::error::{Refusal, Result, Trouble, When};

/// What a message may hold. Newer kinds are passed on; what the page does not
/// know it shows by its text.
const KINDS: &str = "\
    actions alert card carousel container context context_actions data_table \
    data_visualization divider file header image input markdown plan rich_text section table \
    task_card video call";
/// What can be clicked or filled in.
const ELEMENTS: &str = "\
    button channels_select checkboxes conversations_select datepicker datetimepicker \
    email_text_input external_select feedback_buttons file_input icon_button image \
    multi_channels_select multi_conversations_select multi_external_select \
    multi_static_select multi_users_select number_input overflow plain_text_input \
    radio_buttons rich_text_input static_select timepicker url_source url_text_input \
    users_select workflow_button";
const MOST: usize = 50;
/// All texts of all blocks together.
const CHARACTERS: usize = 13_200;
const NAME: usize = 255;

/// What is wrong with a block, and where.
type Wrong = Result<(), String>;

/// The blocks of a post; an empty list is none.
pub(crate) fn checked(blocks: Option<Value>) -> Result<Option<Value>> {
    let Some(blocks) = blocks else {
        return Ok(None);
    };
    let Value::Array(list) = &blocks else {
        let what = "must be an array [json-pointer:/blocks]";
        return Err(Trouble::Explained(Refusal::InvalidBlocks, what.to_owned()));
    };
    if list.is_empty() {
        return Ok(None);
    }
    Refusal::MsgBlocksTooMany.when(list.len() > MOST)?;
    let fit = each_fits(list, "/blocks");
    fit.map_err(|what| Trouble::Explained(Refusal::InvalidBlocks, what))?;
    Refusal::MsgBlocksTooLong.when(list.iter().map(characters).sum::<usize>() > CHARACTERS)?;
    Ok(Some(blocks))
}

/// Whether each block is within the limits of its kind, and their names are unique.
pub(crate) fn each_fits(list: &[Value], at: &str) -> Wrong {
    let mut names = BTreeSet::new();
    for (index, block) in list.iter().enumerate() {
        let at = format!("{at}/{index}");
        fits(block, &at)?;
        if let Some(name) = block["block_id"].as_str()
            && !names.insert(name)
        {
            return wrong(&format!("{at}/block_id"), "`block_id` already exists");
        }
    }
    Ok(())
}

fn is_one_of(kinds: &str, kind: &str) -> bool {
    kinds.split(' ').any(|one| one == kind)
}

fn wrong(at: &str, what: &str) -> Wrong {
    Err(format!("{what} [json-pointer:{at}]"))
}

fn fits(block: &Value, at: &str) -> Wrong {
    let Some(kind) = block["type"].as_str() else {
        return wrong(at, "missing required field: type");
    };
    if !is_one_of(KINDS, kind) {
        return wrong(&format!("{at}/type"), &format!("unsupported type: {kind}"));
    }
    short(block, "block_id", NAME, at)?;
    match kind {
        "section" => section(block, at),
        "header" => plain_text(block, "text", 150, at),
        "context" => context(block, at),
        "actions" => actions(block, at),
        "input" => {
            plain_text(block, "label", 2000, at)?;
            inside(block, "element", at, element)
        }
        "image" if block["slack_file"].is_object() => Ok(()),
        "image" => {
            needed(block, "image_url", at)?;
            needed(block, "alt_text", at)?;
            short(block, "image_url", 3000, at)
        }
        "markdown" => {
            needed(block, "text", at)?;
            short(block, "text", 12_000, at)
        }
        "rich_text" if !block["elements"].is_array() => {
            wrong(at, "missing required field: elements")
        }
        _ => Ok(()),
    }
}

fn section(block: &Value, at: &str) -> Wrong {
    if block["fields"].is_null() && block["text"].is_null() {
        return wrong(at, "missing required field: text");
    }
    if !block["fields"].is_null() {
        let fields = block["fields"].as_array().map_or(&[][..], Vec::as_slice);
        let at = format!("{at}/fields");
        counted(fields, 10, &at)?;
        for (index, field) in fields.iter().enumerate() {
            text(field, 2000, &format!("{at}/{index}"))?;
        }
    }
    if !block["text"].is_null() {
        text(&block["text"], 3000, &format!("{at}/text"))?;
    }
    match block["accessory"].is_null() {
        true => Ok(()),
        false => inside(block, "accessory", at, element),
    }
}

/// Words and small pictures, nothing to click.
fn context(block: &Value, at: &str) -> Wrong {
    for (index, one) in elements(block, 10, at)?.iter().enumerate() {
        let at = format!("{at}/elements/{index}");
        match one["type"].as_str() {
            Some("image") => needed(one, "alt_text", &at)?,
            _ => text(one, 2000, &at)?,
        }
    }
    Ok(())
}

fn actions(block: &Value, at: &str) -> Wrong {
    let mut names = BTreeSet::new();
    for (index, one) in elements(block, 25, at)?.iter().enumerate() {
        let at = format!("{at}/elements/{index}");
        element(one, &at)?;
        if let Some(name) = one["action_id"].as_str()
            && !names.insert(name)
        {
            return wrong(&format!("{at}/action_id"), "`action_id` already exists");
        }
    }
    Ok(())
}

/// Between one item and the most that there may be.
fn counted(list: &[Value], most: usize, at: &str) -> Wrong {
    match list.len() {
        0 => wrong(at, "no fewer than 1 items allowed"),
        many if many > most => wrong(at, &format!("no more than {most} items allowed")),
        _ => Ok(()),
    }
}

/// What a block has in it.
fn elements<'a>(block: &'a Value, most: usize, at: &str) -> Result<&'a [Value], String> {
    let Some(list) = block["elements"].as_array() else {
        return Err(format!(
            "missing required field: elements [json-pointer:{at}]"
        ));
    };
    counted(list, most, &format!("{at}/elements"))?;
    Ok(list)
}

fn inside(block: &Value, field: &str, at: &str, check: impl Fn(&Value, &str) -> Wrong) -> Wrong {
    match &block[field] {
        Value::Null => wrong(at, &format!("missing required field: {field}")),
        there => check(there, &format!("{at}/{field}")),
    }
}

fn needed(block: &Value, field: &str, at: &str) -> Wrong {
    match block[field].is_string() {
        true => Ok(()),
        false => wrong(at, &format!("missing required field: {field}")),
    }
}

/// A text object that is not empty.
fn text(object: &Value, most: usize, at: &str) -> Wrong {
    let kind = object["type"].as_str().unwrap_or_default();
    if !matches!(kind, "plain_text" | "mrkdwn") {
        return wrong(at, "must be a valid text object");
    }
    match object["text"].as_str() {
        None => wrong(at, "missing required field: text"),
        Some("") => wrong(&format!("{at}/text"), "must be more than 0 characters"),
        Some(_) => short(object, "text", most, at),
    }
}

/// A text object without markup.
pub(crate) fn plain_text(block: &Value, field: &str, most: usize, at: &str) -> Wrong {
    inside(block, field, at, |object, at| {
        if object["type"] == "mrkdwn" {
            return wrong(&format!("{at}/type"), "must be plain_text");
        }
        text(object, most, at)
    })
}

/// Something to click or fill in.
fn element(element: &Value, at: &str) -> Wrong {
    let Some(kind) = element["type"].as_str().filter(|kind| !kind.is_empty()) else {
        return wrong(at, "missing required field: type");
    };
    if !is_one_of(ELEMENTS, kind) {
        return wrong(&format!("{at}/type"), &format!("unsupported type: {kind}"));
    }
    if kind == "button" {
        plain_text(element, "text", 75, at)?;
        let style = element["style"].as_str().unwrap_or("primary");
        if !matches!(style, "primary" | "danger") {
            let what = "must be a valid enum value: primary or danger";
            return wrong(&format!("{at}/style"), what);
        }
    }
    let most = match kind {
        "checkboxes" | "radio_buttons" => Some(10),
        "overflow" => Some(5),
        "static_select" | "multi_static_select" => Some(100),
        _ => None,
    };
    if let Some(most) = most {
        options(element, most, at)?;
    }
    short(element, "action_id", NAME, at)?;
    short(element, "value", 2000, at)?;
    short(element, "url", 3000, at)
}

/// What can be chosen: between one and the most that the element may have. Long lists
/// of a menu may be in groups instead.
fn options(element: &Value, most: usize, at: &str) -> Wrong {
    if element["option_groups"].is_array() {
        return Ok(());
    }
    let Some(list) = element["options"].as_array() else {
        return wrong(at, "missing required field: options");
    };
    let at = format!("{at}/options");
    counted(list, most, &at)?;
    for (index, option) in list.iter().enumerate() {
        let at = format!("{at}/{index}");
        inside(option, "text", &at, |words, at| text(words, 75, at))?;
        needed(option, "value", &at)?;
        short(option, "value", 150, &at)?;
    }
    Ok(())
}

pub(crate) fn short(object: &Value, field: &str, most: usize, at: &str) -> Wrong {
    let text = object[field].as_str().unwrap_or_default();
    match text.chars().count() > most {
        true => {
            let what = format!("must be less than {} characters", most + 1);
            wrong(&format!("{at}/{field}"), &what)
        }
        false => Ok(()),
    }
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
            Err(trouble) => trouble.refusal().code().to_owned(),
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

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let button = json!({"type": "button", "action_id": "a", "text": words("plain_text", 76)});
        for (block, said) in [
            (
                json!({"type": "sectoin"}),
                "unsupported type: sectoin [json-pointer:/blocks/0/type]",
            ),
            (
                json!({"type": "section", "text": words("mrkdwn", 3001)}),
                "must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
            ),
            (
                json!({"type": "section", "text": words("mrkdwn", 0)}),
                "must be more than 0 characters [json-pointer:/blocks/0/text/text]",
            ),
            (
                json!({"type": "section"}),
                "missing required field: text [json-pointer:/blocks/0]",
            ),
            (
                json!({"type": "actions", "elements": [button]}),
                "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]",
            ),
        ] {
            let Err(Trouble::Explained(Refusal::InvalidBlocks, what)) =
                checked(Some(json!([block])))
            else {
                panic!("{block}");
            };
            assert_eq!(what, said);
        }
    }
}
