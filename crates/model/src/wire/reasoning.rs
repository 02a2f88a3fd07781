//! Reasoning blocks go back unchanged, whole and in order, to the model that
//! made them, and to no other: a signed block that was altered, or that another
//! model is given, is a 400 on every later turn.
//!
//! The stored value is `{"for": <model>, <field>: <as it came>, …}`; to the
//! other crates it is opaque.

use serde_json::{Map, Value, json};

const OWNER: &str = "for";
const FIELDS: [&str; 3] = ["reasoning_details", "reasoning_content", "reasoning"];

/// What to store of an answer's reasoning, given the fields it had. The signed
/// details win over plain text, which repeats them.
pub fn keep_reasoning(model: &str, fields: &Map<String, Value>) -> Option<Value> {
    let field = FIELDS.into_iter().find(|field| {
        fields.get(*field).is_some_and(|value| match value {
            Value::Array(blocks) => !blocks.is_empty(),
            // DeepSeek wants the field back even when it is empty.
            Value::String(text) => *field == "reasoning_content" || !text.is_empty(),
            _ => false,
        })
    })?;
    let mut kept = Map::new();
    kept.insert(OWNER.into(), json!(model));
    kept.insert(field.into(), fields[field].clone());
    Some(Value::Object(kept))
}

/// Puts kept reasoning into an assistant message for `model`.
pub(super) fn restore(message: &mut Map<String, Value>, kept: &Value, model: &str) {
    if kept.get(OWNER).and_then(Value::as_str) != Some(model) {
        return;
    }
    for field in FIELDS {
        if let Some(value) = kept.get(field) {
            message.insert(field.into(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_returns_to_its_own_model_only() {
        let fields = json!({"reasoning": "x", "reasoning_details": [{"signature": "s", "z": 1}]});
        let kept = keep_reasoning("a/m", fields.as_object().unwrap()).unwrap();
        let mut own = Map::new();
        restore(&mut own, &kept, "a/m");
        assert_eq!(
            Value::Object(own),
            json!({"reasoning_details": [{"signature": "s", "z": 1}]})
        );
        let mut other = Map::new();
        restore(&mut other, &kept, "b/m");
        assert!(other.is_empty());
    }

    #[test]
    fn nothing_is_kept_of_nothing() {
        let keep = |value: Value| keep_reasoning("m", value.as_object().unwrap());
        assert_eq!(
            keep(json!({"reasoning": "", "reasoning_details": []})),
            None
        );
        assert_eq!(keep(json!({"reasoning": null})), None);
        assert!(keep(json!({"reasoning_content": ""})).is_some());
    }
}
