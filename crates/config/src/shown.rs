//! Every key of a file with its value and where that comes from, for people.
//! Secrets are never in it.

use std::path::Path;

use serde_json::Value;

use crate::{
    file::{
        check::resolve,
        document::{Document, Node},
        problem::Problems,
    },
    schema::{SchemaName, schema},
};

/// What stands in the place of a secret.
const MASK: &str = "(secret)";

/// One key.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// As in `models.pm.default`.
    pub key: String,
    /// Its value, without secrets.
    pub value: Value,
    /// Where that comes from.
    pub from: Origin,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Somebody wrote it, in this line.
    Line(usize),
    /// The same, and these variables are filled in.
    Variables(usize, Vec<String>),
    /// Nobody wrote anything.
    Default,
}

/// The keys of a file that have a value; those with a default also where the file
/// does not name them.
/// Fails when the text is not JSON.
pub fn shown(name: SchemaName, file: &Path, text: Option<&str>) -> Result<Vec<Shown>, Problems> {
    let document = match text {
        Some(text) => Some(Document::parse(file, text).map_err(|problem| Problems(vec![problem]))?),
        None => None,
    };
    let root = schema(name);
    let mut found = Vec::new();
    let written = document.as_ref().map(|document| &document.root);
    keys(root, root, written, "", &mut found);
    Ok(found)
}

fn keys(root: &Value, object: &Value, node: Option<&Node>, prefix: &str, found: &mut Vec<Shown>) {
    for (key, field) in object["properties"].as_object().into_iter().flatten() {
        if key == "$schema" {
            continue;
        }
        let path = format!("{prefix}{key}");
        let written = node
            .and_then(|node| node.get(key))
            .map(|field| &field.value);
        let target = resolve(root, field);
        let named = resolve(root, &target["additionalProperties"]);
        if target["properties"].is_object() {
            keys(root, target, written, &format!("{path}."), found);
        } else if named["properties"].is_object() {
            for field in written.map(Node::fields).unwrap_or_default() {
                let inner = format!("{path}.{}.", field.key);
                keys(root, named, Some(&field.value), &inner, found);
            }
        } else {
            found.extend(leaf(path, field, written));
        }
    }
}

fn leaf(key: String, field: &Value, written: Option<&Node>) -> Option<Shown> {
    let Some(node) = written else {
        let value = field["default"].clone();
        return (!value.is_null()).then_some(Shown {
            key,
            value,
            from: Origin::Default,
        });
    };
    let value = node.to_json();
    let mut names = Vec::new();
    variables(&value, &mut names);
    let value = match field["x-secret"] == Value::Bool(true) {
        true => masked(value),
        false => value,
    };
    let from = match names.is_empty() {
        true => Origin::Line(node.line),
        false => Origin::Variables(node.line, names),
    };
    Some(Shown { key, value, from })
}

/// A text that only names a variable tells nothing.
fn masked(value: Value) -> Value {
    match value {
        Value::String(text) if is_variable(&text) => Value::String(text),
        Value::Object(map) => {
            let masked = map.into_iter().map(|(key, value)| (key, masked(value)));
            Value::Object(masked.collect())
        }
        _ => Value::String(MASK.to_owned()),
    }
}

fn is_variable(text: &str) -> bool {
    let name = text
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| !name.contains(['$', '{', '}']))
}

/// The names in `${NAME}`; `$${NAME}` is a text.
fn variables(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            for (at, _) in text.match_indices("${") {
                let name = text[at + 2..].split('}').next().unwrap_or_default();
                if !text[..at].ends_with('$') && !names.iter().any(|one| one == name) {
                    names.push(name.to_owned());
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|one| variables(one, names)),
        Value::Object(map) => map.values().for_each(|one| variables(one, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of<'a>(all: &'a [Shown], key: &str) -> &'a Shown {
        let found = all.iter().find(|one| one.key == key);
        found.unwrap_or_else(|| panic!("{key} is not among {all:#?}"))
    }

    #[test]
    fn a_value_says_where_it_comes_from_and_secrets_say_nothing() {
        let key = ["sk", "or", "v1", "abcdef"].join("-");
        let text = format!(
            "{{\n  \"slack\": {{\"botToken\": \"{key}\"}},\n  \"models\": {{\"endpoints\": {{\n    \
             \"main\": {{\"kind\": \"openrouter\", \"baseUrl\": \"https://x/v1\", \"apiKey\": \"${{KEY}}\",\n    \
             \"headers\": {{\"x-team\": \"{key}\"}}}}}}}}\n}}"
        );
        let all = shown(SchemaName::Machine, Path::new("config.json"), Some(&text)).unwrap();
        assert!(!format!("{all:?}").contains(&key));
        assert_eq!(of(&all, "slack.botToken").value, json!(MASK));
        let key = of(&all, "models.endpoints.main.apiKey");
        assert_eq!(key.value, json!("${KEY}"));
        assert_eq!(key.from, Origin::Variables(4, vec!["KEY".to_owned()]));
        let headers = &of(&all, "models.endpoints.main.headers").value;
        assert_eq!(*headers, json!({"x-team": MASK}));
        assert_eq!(of(&all, "hub.listen").from, Origin::Default);
    }

    #[test]
    fn a_file_that_is_not_there_has_its_defaults() {
        let all = shown(SchemaName::Repo, Path::new("config.json"), None).unwrap();
        assert!(all.iter().all(|one| one.from == Origin::Default));
        assert_eq!(of(&all, "limits.maxConcurrentThreads").value, json!(3));
    }
}
