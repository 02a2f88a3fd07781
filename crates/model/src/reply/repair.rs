//! Tool arguments as a model sent them, to an object that can be stored.
//!
//! What cannot be read becomes an empty object plus a problem for the model:
//! broken arguments in the history would be a 400 (or a 500) on every later turn.

use serde_json::{Map, Value};

use crate::reply::lenient_json::{self, Unread};

/// What became of a call's arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arguments {
    /// An object, as sent or repaired.
    Read(Value),
    /// They end in the middle.
    Cut,
    /// They cannot be read; the text is for the model.
    Wrong(String),
}

/// Reads arguments, repairing what can be repaired without guessing.
pub(crate) fn repair_arguments(raw: &str) -> Arguments {
    let text = strip_fence(raw.trim());
    if text.is_empty() || text == "null" {
        return Arguments::Read(Value::Object(Map::new()));
    }
    match serde_json::from_str(text) {
        Ok(Value::String(inner)) => match serde_json::from_str(inner.trim()) {
            Ok(object @ Value::Object(_)) => Arguments::Read(object),
            _ => not_an_object("a string"),
        },
        Ok(value) => object_only(value),
        Err(_) => lenient_object(text),
    }
}

fn lenient_object(text: &str) -> Arguments {
    match lenient_json::read(text) {
        Ok((value, rest)) if rest_is_harmless(&value, rest) => object_only(value),
        Ok(_) => Arguments::Wrong(
            "the arguments hold more than one object; send one call for each".to_owned(),
        ),
        Err(Unread::Cut) => Arguments::Cut,
        Err(Unread::At(place)) => Arguments::Wrong(format!(
            "the arguments are not valid JSON (from character {}: `{}`); send the call again with one JSON object",
            text[..place].chars().count() + 1,
            text[place..].chars().take(24).collect::<String>(),
        )),
    }
}

/// Markup or words after the object are dropped; so is the same object again.
/// Another object is not: which one was meant?
fn rest_is_harmless(value: &Value, rest: &str) -> bool {
    let rest = rest.trim();
    if !rest.contains('{') {
        return true;
    }
    matches!(lenient_json::read(rest), Ok((again, after)) if again == *value && !after.contains('{'))
}

fn object_only(value: Value) -> Arguments {
    match value {
        Value::Object(_) => Arguments::Read(value),
        Value::Array(_) => not_an_object("a list"),
        _ => not_an_object("a single value"),
    }
}

fn not_an_object(what: &str) -> Arguments {
    Arguments::Wrong(format!(
        "the arguments are {what}; send one JSON object with the tool's fields"
    ))
}

/// The inside of a Markdown code fence, when the whole text is one.
pub(crate) fn strip_fence(text: &str) -> &str {
    let inner = text
        .strip_prefix("```")
        .and_then(|rest| rest.trim_end().strip_suffix("```"))
        .and_then(|inner| inner.split_once('\n'));
    match inner {
        Some((language, body)) if language.trim().chars().all(char::is_alphanumeric) => body.trim(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_models_get_wrong_is_repaired() {
        let path = json!({"path": "a"});
        let cases = [
            ("", json!({})),
            ("  null ", json!({})),
            ("{}", json!({})),
            (r#"{"path":"a"}"#, path.clone()),
            (r#""{\"path\":\"a\"}""#, path.clone()),
            ("```json\n{\"path\":\"a\"}\n```", path.clone()),
            (r#"{"path":"a",}"#, path.clone()),
            (r"{'path': 'a'}", path.clone()),
            (r#"{path: "a"}"#, path.clone()),
            (r#"{"path":"a"}</tool_call>"#, path.clone()),
            (r#"{"path":"a"}{"path":"a"}"#, path),
            (
                "{\"text\":\"two\nlines\tand a tab\"}",
                json!({"text": "two\nlines\tand a tab"}),
            ),
            (
                r#"{"all": True, "none": None, "n": [1, -2.5,]}"#,
                json!({"all": true, "none": null, "n": [1, -2.5]}),
            ),
            (
                r#"{"s": "q\"\\\/\u00e9\ud83d\ude00",}"#,
                json!({"s": "q\"\\/é😀"}),
            ),
        ];
        for (raw, expected) in cases {
            assert_eq!(repair_arguments(raw), Arguments::Read(expected), "{raw}");
        }
    }

    #[test]
    fn what_is_missing_is_not_guessed() {
        for cut in [
            r#"{"path":"a"#,
            r#"{"path":"a","#,
            r#"{"path":"#,
            r#"{"command":"rm -rf build"#,
            "{",
            r#"{"a":[1,2"#,
            r#"{"n": 12"#,
        ] {
            assert_eq!(repair_arguments(cut), Arguments::Cut, "{cut}");
        }
        for wrong in [
            "[1]",
            "7",
            "\"x\"",
            "{]}",
            r#"{"a" 1}"#,
            r#"{"a":1}{"a":2}"#,
            "path = a",
        ] {
            assert!(
                matches!(repair_arguments(wrong), Arguments::Wrong(_)),
                "{wrong}: {:?}",
                repair_arguments(wrong)
            );
        }
    }

    #[test]
    fn a_deep_nest_does_not_overflow_the_stack() {
        let deep = "[".repeat(100_000);
        assert!(matches!(
            repair_arguments(&format!("{{a:{deep}")),
            Arguments::Wrong(_)
        ));
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((".{0,4}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn valid_json_reads_alike_in_both_readers(value in json_value()) {
            let text = format!("{value} ");
            let (read, rest) = lenient_json::read(&text).unwrap();
            prop_assert_eq!(read, value);
            prop_assert_eq!(rest.trim(), "");
        }

        #[test]
        fn a_cut_object_is_never_read(fields in prop::collection::vec(("[a-z]{1,4}", ".{0,6}"), 1..4), cut in any::<prop::sample::Index>()) {
            let object = Value::Object(fields.into_iter().map(|(k, v)| (k, Value::from(v))).collect());
            let text = object.to_string();
            let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
            let cut = &text[..ends[cut.index(ends.len())]];
            prop_assert!(!matches!(repair_arguments(cut), Arguments::Read(_)), "{}", cut);
        }

        #[test]
        fn no_text_panics(text in ".{0,60}") {
            let _ = repair_arguments(&text);
        }
    }
}
