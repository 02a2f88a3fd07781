//! Recognises an answer of the history as a step's. Names whose value is known
//! must match it; an unknown name takes its value from the answer, so that a
//! capture survives when its source was cut out of the history.

use regex::Regex;
use serde_json::{Map, Value};

use crate::render::Values;

/// Whether `text` can be `template` filled in.
pub(crate) fn text(template: &str, text: &str, values: &mut Values) -> bool {
    if !template.contains("${") {
        return template == text;
    }
    let Some((pattern, unknown)) = pattern(template, values) else {
        return false;
    };
    let Some(found) = pattern.captures(text) else {
        return false;
    };
    for (place, name) in unknown.iter().enumerate() {
        if let Some(value) = found.get(place + 1) {
            values.insert(name.clone(), value.as_str().to_owned());
        }
    }
    true
}

/// Whether `object` can be `template` with its strings filled in.
pub(crate) fn object(template: &Map<String, Value>, object: &Value, values: &mut Values) -> bool {
    let Some(fields) = object.as_object() else {
        return false;
    };
    template.len() == fields.len()
        && template.iter().all(|(key, ours)| {
            let theirs = fields.get(key);
            theirs.is_some_and(|theirs| value(ours, theirs, values))
        })
}

fn value(ours: &Value, theirs: &Value, values: &mut Values) -> bool {
    match (ours, theirs) {
        (Value::String(ours), Value::String(theirs)) => text(ours, theirs, values),
        (Value::String(ours), Value::Number(theirs)) => match ours.strip_suffix(":number}") {
            Some(name) => text(&format!("{name}}}"), &theirs.to_string(), values),
            None => false,
        },
        (Value::Object(ours), theirs) => object(ours, theirs, values),
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len()
                && ours
                    .iter()
                    .zip(theirs)
                    .all(|(ours, theirs)| value(ours, theirs, values))
        }
        _ => ours == theirs,
    }
}

/// An expression for a template, and the unknown names of its groups.
fn pattern(template: &str, values: &Values) -> Option<(Regex, Vec<String>)> {
    let mut source = String::from("(?s)^");
    let mut unknown = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            source.push_str(&regex::escape(&format!("{}{{", &rest[..at])));
            rest = &rest[at + 2..];
            continue;
        }
        let Some(length) = rest[at..].find('}') else {
            break;
        };
        let name = &rest[at + 2..at + length];
        source.push_str(&regex::escape(&rest[..at]));
        match values.get(name) {
            Some(value) => source.push_str(&regex::escape(value)),
            None => {
                source.push_str("(.+?)");
                unknown.push(name.to_owned());
            }
        }
        rest = &rest[at + length + 1..];
    }
    source.push_str(&regex::escape(rest));
    source.push('$');
    Some((Regex::new(&source).ok()?, unknown))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn known_values_must_match_and_unknown_ones_are_learned() {
        let mut values = Values::from([("file".to_owned(), "a.rs".to_owned())]);
        let template = json!({"path": "${file}", "pr": "${pr:number}", "t": "see ${url}.", "n": 1});
        let template = template.as_object().unwrap();
        let answer = json!({"path": "a.rs", "pr": 7, "t": "see http://x/1.", "n": 1});
        assert!(object(template, &answer, &mut values));
        assert_eq!(
            (values["pr"].as_str(), values["url"].as_str()),
            ("7", "http://x/1")
        );
        let other = json!({"path": "b.rs", "pr": 7, "t": "see http://x/1.", "n": 1});
        assert!(!object(template, &other, &mut values));
        assert!(!object(template, &json!({"path": "a.rs"}), &mut values));
    }

    #[test]
    fn a_literal_stays_a_literal() {
        let mut values = Values::new();
        assert!(text("$${x} (a+b)", "${x} (a+b)", &mut values));
        assert!(!text("$${x}", "$y", &mut values));
        assert!(values.is_empty());
    }
}
