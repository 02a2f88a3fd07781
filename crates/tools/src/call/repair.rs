//! Small, silent repairs of a call: the names other tools use for the same
//! field, and values of the right meaning in the wrong JSON type. What is
//! missing stays missing.

use butler_protocol::ToolCall;
use serde_json::{Map, Number, Value};

/// What models write, and what we call it.
const ALIASES: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("filepath", "path"),
    ("filename", "path"),
    ("file", "path"),
    ("notebook_path", "path"),
    ("old_string", "old"),
    ("old_str", "old"),
    ("old_text", "old"),
    ("new_string", "new"),
    ("new_str", "new"),
    ("new_text", "new"),
    ("replace_all", "all"),
    ("cmd", "command"),
    ("file_text", "content"),
    ("contents", "content"),
    ("text", "content"),
    ("regex", "pattern"),
    ("run_in_background", "background"),
    ("timeout", "timeout_seconds"),
    ("head_limit", "limit"),
    ("output_mode", "mode"),
    ("todos", "steps"),
    ("content", "text"),
    ("title", "text"),
    ("status", "state"),
    ("href", "url"),
    ("q", "query"),
];

/// Words of a choice that other tools use, and ours.
const WORDS: &[(&str, &str)] = &[
    ("todo", "open"),
    ("pending", "open"),
    ("not_started", "open"),
    ("in_progress", "doing"),
    ("completed", "done"),
    ("complete", "done"),
    ("cancelled", "dropped"),
    ("skipped", "dropped"),
    ("files_with_matches", "files"),
    ("content", "lines"),
];

/// Fields that some models add to every call, to say why they make it.
const ASIDES: [&str; 5] = [
    "description",
    "explanation",
    "reason",
    "reasoning",
    "thought",
];

/// The call with aliases of the usual fields resolved, whatever its tool.
pub(crate) fn aliases(call: &ToolCall) -> ToolCall {
    let mut call = call.clone();
    if let Value::Object(map) = &mut call.arguments {
        for (alias, name) in ALIASES.iter().filter(|(_, name)| *name == "path") {
            rename(map, alias, name);
        }
    }
    call
}

/// The arguments as the schema wants them, or what is wrong, naming the field.
pub(crate) fn fit(schema: &Value, arguments: &Value) -> Result<Value, String> {
    let Value::Object(given) = arguments else {
        return Err("the arguments must be a JSON object".to_owned());
    };
    fit_object(schema, given, "").map(Value::Object)
}

/// The fields of a call that its tool does not have. Left out in silence they
/// would answer another question than the model asked.
pub(crate) fn strangers(schema: &Value, arguments: &Value) -> Vec<String> {
    let (Value::Object(given), Some(fields)) = (arguments, schema["properties"].as_object()) else {
        return Vec::new();
    };
    if fields.is_empty() {
        // A tool without a schema takes whatever comes.
        return Vec::new();
    }
    let given = renamed(fields, given);
    let known = |name: &str| fields.contains_key(name) || ASIDES.contains(&name);
    given
        .into_iter()
        .filter(|(name, value)| !known(name) && !value.is_null())
        .map(|(name, _)| name)
        .collect()
}

fn renamed(fields: &Map<String, Value>, given: &Map<String, Value>) -> Map<String, Value> {
    let mut given = given.clone();
    for (alias, name) in ALIASES {
        if fields.contains_key(*name) && !fields.contains_key(*alias) {
            rename(&mut given, alias, name);
        }
    }
    given
}

fn fit_object(
    schema: &Value,
    given: &Map<String, Value>,
    at: &str,
) -> Result<Map<String, Value>, String> {
    let empty = Map::new();
    let fields = schema["properties"].as_object().unwrap_or(&empty);
    let mut given = renamed(fields, given);
    let mut fitted = Map::new();
    for (name, field) in fields {
        let label = format!("{at}{name}");
        match given.remove(name) {
            None | Some(Value::Null) => {
                if is_required(schema, name) {
                    return Err(format!("`{label}` is missing"));
                }
            }
            Some(value) => {
                fitted.insert(name.clone(), fit_value(field, value, &label)?);
            }
        }
    }
    Ok(fitted)
}

fn fit_value(field: &Value, value: Value, label: &str) -> Result<Value, String> {
    let kind = field["type"].as_str().unwrap_or("any");
    let fitted = match (kind, value) {
        ("string", Value::String(text)) => Value::String(text),
        ("string", Value::Number(number)) => Value::String(number.to_string()),
        ("boolean", Value::Bool(flag)) => Value::Bool(flag),
        ("boolean", Value::String(text)) if text.eq_ignore_ascii_case("true") => Value::Bool(true),
        ("boolean", Value::String(text)) if text.eq_ignore_ascii_case("false") => {
            Value::Bool(false)
        }
        ("integer", value) => {
            let number = whole(&value).ok_or_else(|| wrong(label, "a whole number", &value))?;
            let least = field["minimum"].as_i64().unwrap_or(i64::MIN);
            if number < least {
                return Err(format!("`{label}` must be at least {least}, not {number}"));
            }
            Value::Number(Number::from(number))
        }
        ("array", Value::String(text)) => match serde_json::from_str(&text) {
            Ok(Value::Array(items)) => fit_items(field, items, label)?,
            _ => fit_items(field, vec![Value::String(text)], label)?,
        },
        ("array", Value::Array(items)) => fit_items(field, items, label)?,
        ("array", Value::Object(item)) => fit_items(field, vec![Value::Object(item)], label)?,
        ("object", Value::Object(map)) if field.get("properties").is_some() => {
            Value::Object(fit_object(field, &map, &format!("{label}."))?)
        }
        ("any", value) => value,
        ("object", value) => return Err(wrong(label, &object_of(field), &value)),
        (kind, value) => return Err(wrong(label, kind, &value)),
    };
    let fitted = our_word(field, fitted);
    check_choice(field, &fitted, label)?;
    Ok(fitted)
}

fn fit_items(field: &Value, items: Vec<Value>, label: &str) -> Result<Value, String> {
    let item = &field["items"];
    items
        .into_iter()
        .enumerate()
        .map(|(index, value)| fit_value(item, value, &format!("{label}[{index}]")))
        .collect::<Result<Vec<Value>, String>>()
        .map(Value::Array)
}

/// The same choice in our word for it.
fn our_word(field: &Value, value: Value) -> Value {
    let Some(choices) = field["enum"].as_array() else {
        return value;
    };
    let ours = WORDS.iter().find(|(theirs, ours)| {
        value.as_str() == Some(theirs)
            && !choices.contains(&value)
            && choices.iter().any(|choice| choice == ours)
    });
    ours.map_or(value, |(_, ours)| Value::from(*ours))
}

/// What an object is made of, for a model that sent something else.
fn object_of(field: &Value) -> String {
    let Some(fields) = field["properties"].as_object() else {
        return "an object".to_owned();
    };
    let parts: Vec<String> = fields
        .iter()
        .map(|(name, field)| match field["enum"].as_array() {
            Some(choices) => {
                let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
                format!("`{name}` ({})", choices.join(", "))
            }
            None => format!("`{name}`"),
        })
        .collect();
    format!("an object with {}", parts.join(" and "))
}

/// A string enum names its choices when none was hit.
fn check_choice(field: &Value, value: &Value, label: &str) -> Result<(), String> {
    match field["enum"].as_array() {
        Some(choices) if !choices.contains(value) => {
            let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
            Err(format!(
                "`{label}` must be one of {}, not {value}",
                choices.join(", ")
            ))
        }
        _ => Ok(()),
    }
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            number
                .as_f64()
                .filter(|f| f.fract() == 0.0)
                .map(|f| f as i64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn wrong(label: &str, wanted: &str, value: &Value) -> String {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    format!("`{label}` must be {wanted}, not {found}")
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"]
        .as_array()
        .is_some_and(|required| required.iter().any(|field| field == name))
}

/// The field's own name wins when both are there.
fn rename(map: &mut Map<String, Value>, alias: &str, name: &str) {
    if let Some(value) = map.remove(alias)
        && !map.contains_key(name)
    {
        map.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1},
                "all": {"type": "boolean"},
                "mode": {"type": "string", "enum": ["lines", "files"]},
                "edits": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                    "required": ["old", "new"]
                }}
            },
            "required": ["path"]
        })
    }

    #[test]
    fn aliases_and_loose_types_are_repaired_silently() {
        for (given, expected) in [
            (json!({"file_path": "a"}), json!({"path": "a"})),
            (json!({"path": "a", "file_path": "b"}), json!({"path": "a"})),
            (
                json!({"path": "a", "limit": "5", "all": "true"}),
                json!({"path": "a", "limit": 5, "all": true}),
            ),
            (
                json!({"path": "a", "limit": 5.0}),
                json!({"path": "a", "limit": 5}),
            ),
            (
                json!({"path": "a", "limit": null, "why": 1}),
                json!({"path": "a"}),
            ),
            (
                json!({"path": "a", "edits": "[{\"old_string\":\"x\",\"new\":\"y\"}]"}),
                json!({"path": "a", "edits": [{"old": "x", "new": "y"}]}),
            ),
        ] {
            assert_eq!(fit(&schema(), &given), Ok(expected), "{given}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (given, expected) in [
            (json!({}), "`path` is missing"),
            (
                json!({"path": ["a"]}),
                "`path` must be string, not an array",
            ),
            (
                json!({"path": "a", "limit": "x"}),
                "`limit` must be a whole number, not a string",
            ),
            (
                json!({"path": "a", "limit": 0}),
                "`limit` must be at least 1, not 0",
            ),
            (
                json!({"path": "a", "mode": "all"}),
                "`mode` must be one of \"lines\", \"files\", not \"all\"",
            ),
            (
                json!({"path": "a", "edits": [{"old": "x"}]}),
                "`edits[0].new` is missing",
            ),
            (json!([]), "the arguments must be a JSON object"),
        ] {
            assert_eq!(fit(&schema(), &given), Err(expected.to_owned()), "{given}");
        }
    }

    #[test]
    fn words_of_other_tools_mean_the_same() {
        let state = json!({"properties": {"state": {"type": "string",
            "enum": ["open", "doing", "done", "dropped"]}}});
        for (theirs, ours) in [("todo", "open"), ("in_progress", "doing"), ("done", "done")] {
            assert_eq!(
                fit(&state, &json!({"status": theirs})),
                Ok(json!({"state": ours}))
            );
        }
        let unknown = fit(&state, &json!({"state": "files_with_matches"}));
        assert!(unknown.unwrap_err().contains("must be one of"));
    }

    #[test]
    fn an_object_is_described_to_who_sent_something_else() {
        let wrong = fit(&schema(), &json!({"path": "a", "edits": ["x"]})).unwrap_err();
        assert_eq!(
            wrong,
            "`edits[0]` must be an object with `old` and `new`, not a string"
        );
    }

    #[test]
    fn fields_that_a_tool_does_not_have_are_named() {
        let call = json!({"file_path": "a", "from": "x", "description": "why", "limit": null});
        assert_eq!(strangers(&schema(), &call), ["from"]);
        assert!(strangers(&schema(), &json!({"path": "a"})).is_empty());
    }
}
