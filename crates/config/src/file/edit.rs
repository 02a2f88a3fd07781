//! Changes one key of a file and leaves everything else, comments included, as
//! the person wrote it.

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

use crate::file::document::options;

/// Why a file could not be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text is not JSON.
    #[error("the file is not valid JSON (line {0})")]
    NotJson(usize),
    /// Something else than an object or list stands where one is needed.
    #[error("the key {0} holds something else already")]
    InTheWay(String),
}

/// What to do with a key.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Give it this value.
    Set(Value),
    /// Append this to its list.
    Push(Value),
    /// Take it out, if it is there.
    Remove,
}

/// Changes the key at the end of `path`; objects on the way are made when missing.
/// Fails when the text is no JSON, or the way is blocked by another kind of value.
pub fn edit(text: &str, path: &[&str], change: &Change) -> Result<String, EditError> {
    let root = CstRootNode::parse(text, &options())
        .map_err(|error| EditError::NotJson(error.line_display()))?;
    let blocked = |depth: usize| EditError::InTheWay(path[..depth].join("."));
    let mut object: CstObject = root.object_value_or_create().ok_or_else(|| blocked(0))?;
    let Some((last, way)) = path.split_last() else {
        return Err(blocked(0));
    };
    for (depth, key) in way.iter().enumerate() {
        object = object
            .object_value_or_create(key)
            .ok_or_else(|| blocked(depth + 1))?;
    }
    match change {
        Change::Set(value) => match object.get(last) {
            Some(field) => field.set_value(input(value)),
            None => {
                object.append(last, input(value));
            }
        },
        Change::Remove => {
            if let Some(field) = object.get(last) {
                field.remove();
            }
        }
        Change::Push(value) => {
            let list = object.array_value_or_create(last);
            list.ok_or_else(|| blocked(path.len()))?
                .append(input(value));
        }
    }
    Ok(root.to_string())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| (key.clone(), input(value)));
            CstInputValue::Object(fields.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::file::document::Document;

    #[test]
    fn comments_and_order_stay_and_missing_objects_are_made() {
        let text = "{\n  // mine\n  \"approvers\": [\"U1\"], // two soon\n}\n";
        let text = edit(text, &["approvers"], &Change::Push(json!("U2"))).unwrap();
        let text = edit(
            &text,
            &["hub", "publicUrl"],
            &Change::Set(json!("https://x")),
        )
        .unwrap();
        assert!(
            text.contains("// mine") && text.contains("// two soon"),
            "{text}"
        );
        let read = Document::parse(Path::new("x"), &text).unwrap();
        let expected = json!({"approvers": ["U1", "U2"], "hub": {"publicUrl": "https://x"}});
        assert_eq!(read.root.to_json(), expected, "{text}");
    }

    #[test]
    fn an_empty_file_becomes_an_object_and_a_blocked_way_is_named() {
        let text = edit("", &["a"], &Change::Set(json!(1))).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            json!({"a": 1})
        );
        let blocked = edit("{\"a\": 1}", &["a", "b"], &Change::Set(json!(1)));
        assert_eq!(blocked, Err(EditError::InTheWay("a".into())));
        assert_eq!(
            edit("{", &["a"], &Change::Set(json!(1))),
            Err(EditError::NotJson(1))
        );
    }

    proptest! {
        #[test]
        fn any_string_reads_back(key in "\\PC{1,8}", value in ".{0,20}") {
            let text = edit("{}", &["x", &key], &Change::Set(json!(value))).unwrap();
            let json: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&json["x"][&key], &json!(value));
        }
    }
}
