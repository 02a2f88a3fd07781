//! Captures and `${name}`.

use std::collections::BTreeMap;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use crate::{Source, history::History};

/// Named values.
pub(crate) type Values = BTreeMap<String, String>;

/// A capture, ready to look.
#[derive(Debug, Clone)]
pub(crate) struct Catch {
    pub(crate) name: String,
    pub(crate) from: Source,
    pub(crate) regex: Regex,
}

impl Catch {
    /// The newest match.
    pub(crate) fn find(&self, history: History<'_>) -> Option<String> {
        let newest = |text: &str| -> Option<String> {
            let found = self.regex.captures_iter(text).last()?;
            let value = found.get(1).or_else(|| found.get(0))?;
            Some(value.as_str().to_owned())
        };
        match self.from {
            Source::ToolResult => history.results().rev().find_map(newest),
            Source::User => history.users().rev().find_map(newest),
            Source::Person => history.people().rev().find_map(newest),
        }
    }
}

/// Replaces `${name}`; `$${` stands for itself.
/// Errors: the name that has no value.
pub(crate) fn fill(text: &str, values: &Values) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            filled.push_str(&rest[..at]);
            filled.push('{');
            rest = &rest[at + 2..];
            continue;
        }
        let Some(length) = rest[at..].find('}') else {
            break;
        };
        let name = &rest[at + 2..at + length];
        filled.push_str(&rest[..at]);
        filled.push_str(values.get(name).ok_or_else(|| name.to_owned())?);
        rest = &rest[at + length + 1..];
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Fills every string of some arguments.
pub(crate) fn fill_arguments(
    arguments: &Map<String, Value>,
    values: &Values,
) -> Result<Value, String> {
    let filled = arguments
        .iter()
        .map(|(key, value)| Ok((key.clone(), fill_value(value, values)?)));
    Ok(Value::Object(filled.collect::<Result<_, String>>()?))
}

fn fill_value(value: &Value, values: &Values) -> Result<Value, String> {
    match value {
        Value::String(text) => match number_name(text) {
            Some(name) => {
                let found = values.get(name).ok_or_else(|| name.to_owned())?;
                let number = found.parse::<serde_json::Number>();
                Ok(number.map_or_else(|_| Value::from(found.clone()), Value::Number))
            }
            None => fill(text, values).map(Value::String),
        },
        Value::Array(items) => items.iter().map(|item| fill_value(item, values)).collect(),
        Value::Object(fields) => fill_arguments(fields, values),
        other => Ok(other.clone()),
    }
}

/// The name in `${name:number}`, when that is the whole text.
fn number_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix(":number}")?;
    (!name.contains(['{', '}'])).then_some(name)
}

/// The names that a text uses.
pub(crate) fn names_in(text: &str) -> Vec<String> {
    let pattern = Regex::new(r"(\$?)\$\{([^}]*)\}").ok();
    let found = pattern
        .iter()
        .flat_map(|pattern| pattern.captures_iter(text));
    found
        .filter(|found: &Captures<'_>| found[1].is_empty())
        .map(|found| found[2].trim_end_matches(":number").to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values() -> Values {
        [("pr", "12"), ("file", "src/a.rs")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    }

    #[test]
    fn names_are_replaced_in_all_strings() {
        let arguments = json!({
            "path": "${file}", "n": "${pr:number}", "deep": [{"t": "PR ${pr} of ${file}"}],
            "literal": "$${file}", "open": "${file", "plain": 3,
        });
        assert_eq!(
            fill_arguments(arguments.as_object().unwrap(), &values()).unwrap(),
            json!({
                "path": "src/a.rs", "n": 12, "deep": [{"t": "PR 12 of src/a.rs"}],
                "literal": "${file}", "open": "${file", "plain": 3,
            })
        );
    }

    #[test]
    fn a_missing_name_is_an_error() {
        assert_eq!(fill("a ${nothing}", &values()), Err("nothing".into()));
        assert_eq!(names_in("${a} $${b} ${c:number}"), ["a", "c"]);
    }
}
