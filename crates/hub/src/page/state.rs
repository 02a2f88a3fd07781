//! Reads a message's form back into what Slack sends: the element that was
//! used, and the state of all fields. Only what stands in the stored blocks can
//! be chosen; a forged option is not an option.

use std::collections::HashMap;

use butler_protocol::MessageTs;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use crate::{
    error::{Refusal, Result},
    page::render::elements::key,
    person_api::Press,
    workspace::pressed::fields::elements,
};

/// Block and action of an element, and its state.
type Used = (String, String, Option<Value>);

/// A form as it came in.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) ts: Option<MessageTs>,
    pub(super) root: Option<MessageTs>,
    /// The element that was used, by its name.
    press: String,
    values: HashMap<String, Vec<String>>,
}

impl Filled {
    pub(super) fn read(body: &[u8]) -> Self {
        let mut filled = Self::default();
        for (name, value) in form_urlencoded::parse(body) {
            match &*name {
                "ts" => filled.ts = value.parse().ok(),
                "root" => filled.root = value.parse().ok(),
                "press" => filled.press = value.into_owned(),
                _ => filled
                    .values
                    .entry(name.into_owned())
                    .or_default()
                    .push(value.replace("\r\n", "\n")),
            }
        }
        filled
    }

    /// The name of the element that was used.
    pub(super) fn pressed(&self) -> &str {
        &self.press
    }

    /// The state of all fields of these blocks, as `state.values`.
    pub(super) fn state(&self, blocks: &Value) -> Value {
        self.read_against(blocks).0
    }

    /// What the person did, as an action on these blocks.
    pub(super) fn press(&self, blocks: &Value) -> Result<Press> {
        let (state, used) = self.read_against(blocks);
        let (block_id, action_id, value) = used.ok_or(Refusal::UnknownAction)?;
        let fields = match value {
            Some(Value::Object(mut fields)) => {
                fields.remove("type");
                fields
            }
            _ => Map::new(),
        };
        Ok(Press {
            sha256: None,
            action_id,
            block_id: Some(block_id),
            fields,
            state: Some(state),
        })
    }

    /// The state of all fields, and the element that was used with its own.
    fn read_against(&self, blocks: &Value) -> (Value, Option<Used>) {
        let mut state = Map::new();
        let mut used = None;
        for (block, element) in elements(blocks) {
            let id = block["block_id"].as_str().unwrap_or_default();
            let action = element["action_id"].as_str().unwrap_or_default();
            let name = key(id, action);
            let given = self.values.get(&name).map_or(&[][..], Vec::as_slice);
            let value = state_of(element, given);
            if name == self.press {
                used = Some((id.to_owned(), action.to_owned(), value.clone()));
            }
            if let Some(value) = value {
                let entry = state.entry(id.to_owned()).or_insert_with(|| json!({}));
                entry[action] = value;
            }
        }
        (Value::Object(state), used)
    }
}

/// The state of one element in Slack's shape; buttons have none.
fn state_of(element: &Value, given: &[String]) -> Option<Value> {
    let kind = element["type"].as_str()?;
    let first = given.first().filter(|value| !value.is_empty());
    let (field, value) = match kind {
        "checkboxes" | "multi_static_select" => {
            let chosen: Vec<Value> = given
                .iter()
                .filter_map(|one| option(element, one))
                .collect();
            ("selected_options", json!(chosen))
        }
        "radio_buttons" | "static_select" | "overflow" => (
            "selected_option",
            json!(first.and_then(|one| option(element, one))),
        ),
        "users_select" => ("selected_user", json!(first)),
        "datepicker" => ("selected_date", json!(first)),
        "timepicker" => ("selected_time", json!(first)),
        "plain_text_input" | "number_input" | "email_text_input" | "url_text_input" => {
            ("value", json!(first))
        }
        _ => return None,
    };
    Some(json!({"type": kind, field: value}))
}

/// The option with this value, as the message has it.
fn option(element: &Value, value: &str) -> Option<Value> {
    let groups = element["option_groups"].as_array().into_iter().flatten();
    let grouped = groups
        .filter_map(|group| group["options"].as_array())
        .flatten();
    let options = element["options"].as_array().into_iter().flatten();
    options
        .chain(grouped)
        .find(|option| option["value"] == value)
        .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks() -> Value {
        json!([
            {"type": "actions", "block_id": "b1", "elements": [
                {"type": "checkboxes", "action_id": "tick", "options": [
                    {"text": {"type": "plain_text", "text": "A"}, "value": "a"},
                    {"text": {"type": "plain_text", "text": "B"}, "value": "b"}]},
                {"type": "button", "action_id": "go", "value": "v",
                 "text": {"type": "plain_text", "text": "Go"}}]},
            {"type": "input", "block_id": "b2", "label": {"type": "plain_text", "text": "Why"},
             "element": {"type": "plain_text_input", "action_id": "why"}},
        ])
    }

    fn pressed(pairs: &[(&str, &str)]) -> Result<Press> {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(pairs)
            .finish();
        Filled::read(body.as_bytes()).press(&blocks())
    }

    #[test]
    fn a_button_carries_the_state_of_all_fields() {
        let press = pressed(&[
            (r#"["b1","tick"]"#, "a"),
            (r#"["b1","tick"]"#, "forged"),
            (r#"["b2","why"]"#, "two\r\nlines"),
            ("press", r#"["b1","go"]"#),
        ])
        .unwrap();
        assert_eq!(
            (press.action_id.as_str(), press.block_id.as_deref()),
            ("go", Some("b1"))
        );
        let state = press.state.unwrap();
        let ticked = state["b1"]["tick"]["selected_options"].as_array().unwrap();
        assert_eq!(ticked.len(), 1);
        assert_eq!(ticked[0]["value"], "a");
        assert_eq!(
            state["b2"]["why"],
            json!({"type": "plain_text_input", "value": "two\nlines"})
        );
    }

    #[test]
    fn a_checkbox_is_an_action_with_its_options() {
        let press = pressed(&[(r#"["b1","tick"]"#, "b"), ("press", r#"["b1","tick"]"#)]).unwrap();
        assert_eq!(press.fields["selected_options"][0]["value"], "b");
        let cleared = pressed(&[("press", r#"["b1","tick"]"#)]).unwrap();
        assert_eq!(cleared.fields["selected_options"], json!([]));
    }

    #[test]
    fn an_element_that_is_not_there_cannot_be_used() {
        assert!(pressed(&[("press", r#"["b1","other"]"#)]).is_err());
        assert!(pressed(&[]).is_err());
    }
}
