//! What stands in the fields of a message or a view, in the shape of Slack's
//! `state.values`: what people chose, and what the app filled in where they did not.

use serde_json::{Map, Value, json};

/// Every element of the blocks that can be used, with its block.
pub(crate) fn elements(blocks: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    blocks.as_array().into_iter().flatten().flat_map(|block| {
        let inside = block["elements"].as_array().into_iter().flatten();
        inside
            .chain([&block["accessory"], &block["element"]])
            .filter(|element| element["action_id"].is_string())
            .map(move |element| (block, element))
    })
}

/// The fields of an action that a person's hand can set.
pub(crate) const SET_BY_HAND: &str = "\
    value selected_option selected_options selected_user selected_users selected_channel \
    selected_channels selected_conversation selected_conversations selected_date \
    selected_time selected_date_time rich_text_value";

/// Where an element of this kind keeps what was chosen, and what it begins with. Buttons
/// and menus keep nothing.
fn kept(kind: &str) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        "plain_text_input" | "email_text_input" | "url_text_input" | "number_input" => {
            ("value", "initial_value")
        }
        "rich_text_input" => ("rich_text_value", "initial_value"),
        "static_select" | "external_select" | "radio_buttons" => {
            ("selected_option", "initial_option")
        }
        "multi_static_select" | "multi_external_select" | "checkboxes" => {
            ("selected_options", "initial_options")
        }
        "users_select" => ("selected_user", "initial_user"),
        "multi_users_select" => ("selected_users", "initial_users"),
        "channels_select" => ("selected_channel", "initial_channel"),
        "multi_channels_select" => ("selected_channels", "initial_channels"),
        "conversations_select" => ("selected_conversation", "initial_conversation"),
        "multi_conversations_select" => ("selected_conversations", "initial_conversations"),
        "datepicker" => ("selected_date", "initial_date"),
        "timepicker" => ("selected_time", "initial_time"),
        "datetimepicker" => ("selected_date_time", "initial_date_time"),
        "file_input" => ("files", "initial_files"),
        _ => return None,
    })
}

/// The state of all fields: what is known of them, and else what they begin with.
pub(crate) fn state(blocks: &Value, known: Option<&Value>) -> Value {
    let mut values = Map::new();
    for (block, element) in elements(blocks) {
        let (id, action) = (word(block, "block_id"), word(element, "action_id"));
        let kind = word(element, "type");
        let Some((field, initial)) = kept(kind) else {
            continue;
        };
        let mut begins = element[initial].clone();
        let several = field.ends_with('s') && begins.is_null();
        if several {
            begins = json!([]);
        }
        let entry = values.entry(id).or_insert_with(|| json!({}));
        entry[action] = json!({"type": kind, field: begins});
    }
    // What was said of a field counts, also of one that the blocks do not have.
    for (id, fields) in known.and_then(Value::as_object).into_iter().flatten() {
        let entry = values.entry(id).or_insert_with(|| json!({}));
        for (action, value) in fields.as_object().into_iter().flatten() {
            entry[action] = value.clone();
        }
    }
    Value::Object(values)
}

/// The state after this element was used.
pub(crate) fn used(state: &mut Value, element: &Value) {
    let kind = word(element, "type");
    if let Some((field, _)) = kept(kind)
        && let Some(chosen) = element.get(field)
    {
        let (id, action) = (word(element, "block_id"), word(element, "action_id"));
        state[id][action] = json!({"type": kind, field: chosen});
    }
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_what_people_chose_and_else_what_they_begin_with() {
        let option = json!({"text": {"type": "plain_text", "text": "One"}, "value": "1"});
        let blocks = json!([
            {"type": "input", "block_id": "a", "element":
                {"type": "plain_text_input", "action_id": "x", "initial_value": "so far"}},
            {"type": "actions", "block_id": "b", "elements": [
                {"type": "button", "action_id": "go"},
                {"type": "static_select", "action_id": "y", "options": [option]},
                {"type": "checkboxes", "action_id": "z", "options": [option]}]},
        ]);
        let mut all = state(&blocks, None);
        assert_eq!(all["a"]["x"]["value"], "so far");
        assert_eq!(
            all["b"],
            json!({"y": {"type": "static_select", "selected_option": null},
                "z": {"type": "checkboxes", "selected_options": []}})
        );
        let pressed = json!({"type": "static_select", "block_id": "b", "action_id": "y",
            "selected_option": option});
        used(&mut all, &pressed);
        assert_eq!(all["b"]["y"]["selected_option"]["value"], "1");
        let known = json!({"a": {"x": {"type": "plain_text_input", "value": "typed"}}});
        assert_eq!(state(&blocks, Some(&known))["a"]["x"]["value"], "typed");
    }
}
