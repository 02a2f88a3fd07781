//! `docs/configuration.md`, made from the schemas, so that it cannot be wrong
//! about a key, its kind or its default.

use std::fmt::Write;

use serde_json::Value;

use crate::{
    file::check::{resolve, words},
    schema::{SchemaName, schema},
};

const INTRODUCTION: &str = "\
# Configuration

Made from the types that read these files; do not edit by hand (`UPDATE_DOCS=1 cargo test -p
butler-config` writes it anew).

Three files: one of the machine, two of the repository. All are JSON in which comments and trailing
commas are allowed. Unknown keys are errors. All problems of all files are reported at once by every
command, and by `codebutler validate`.

Only the machine config may name hosts, keys and approvers, so that a cloned repository cannot
redirect a key. And only there `${NAME}` in a string is filled from the environment; a name that is
not set is an error. In a repository's file `${NAME}` is an error, so that a clone cannot read your
variables. `$${NAME}` stands for the text `${NAME}` itself in all of them. Keys marked *secret* are
never printed. `CODEBUTLER_HOME` moves `~/.codebutler` elsewhere.

The repository's files count as they are on its default branch, never as a thread's branch has
changed them. A push of them reaches a running team at its next activation: before it begins, an
agent fetches the default branch (it waits at most five seconds for the remote). Settings that cannot
be used are told in the thread, and the last ones hold on. Only `slack.channelID`,
`slack.channelName`, `slack.allowedBots` and `redaction` of the hub need a new start. What tightens
holds at once. Whatever loosens, costs or runs something needs a
person's consent on each machine: `prepare`, caps above the shipped ones, `slack.allowedBots`,
`issues`, `research.hosts`, safe
commands, `planGate` off, `knowledge: direct`, `sandbox.acceptWeaker`. Until somebody agreed to
exactly that with `codebutler policy accept`, what was shipped holds in its place; `codebutler
policy` shows what waits.

JSON Schemas for editors are in [schemas](schemas/) and come from `codebutler schema <name>`.
";

/// The whole page.
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    for name in SchemaName::ALL {
        let schema = schema(name);
        let about = schema["description"].as_str().unwrap_or_default();
        let _ = write!(page, "\n## `{}`\n\n{about}\n\n", name.file());
        page.push_str("| key | kind | default | meaning |\n| --- | --- | --- | --- |\n");
        rows(schema, schema, "", &mut page);
    }
    page
}

/// The rows of an object's keys, those of nested objects right after their own.
fn rows(root: &Value, object: &Value, prefix: &str, page: &mut String) {
    for (key, field) in object["properties"].as_object().into_iter().flatten() {
        if key == "$schema" {
            continue;
        }
        let path = format!("{prefix}{key}");
        let kind = kind(root, field);
        let shown = default(field);
        let about = field["description"].as_str().unwrap_or_default();
        let about = about.replace('|', "\\|").replace('\n', " ");
        let _ = writeln!(page, "| `{path}` | {kind} | {shown} | {about} |");
        below(root, resolve(root, field), &path, page);
    }
}

/// The keys inside a field: of an object, of each named entry, of each item.
fn below(root: &Value, field: &Value, path: &str, page: &mut String) {
    if field["properties"].is_object() {
        rows(root, field, &format!("{path}."), page);
        return;
    }
    for (inner, mark) in [("additionalProperties", ".<name>."), ("items", "[].")] {
        let inner = resolve(root, &field[inner]);
        if inner["properties"].is_object() {
            rows(root, inner, &format!("{path}{mark}"), page);
        }
    }
}

fn kind(root: &Value, field: &Value) -> String {
    let secret = field["x-secret"] == Value::Bool(true);
    let target = resolve(root, field);
    if let Some(words) = words(target) {
        let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
        return words.join(" or ");
    }
    let plain = match &target["type"] {
        Value::Array(kinds) => kinds[0].as_str().unwrap_or_default(),
        kind => kind.as_str().unwrap_or_default(),
    };
    let word = match plain {
        "object" if target["additionalProperties"].is_object() => {
            let each = kind(root, &target["additionalProperties"]);
            format!("{} by name", plural(&each))
        }
        "array" => format!("list of {}", plural(&kind(root, &target["items"]))),
        "integer" => "whole number".to_owned(),
        "boolean" => "true or false".to_owned(),
        other => other.to_owned(),
    };
    let mark = if secret { ", *secret*" } else { "" };
    format!("{word}{mark}")
}

fn plural(kind: &str) -> String {
    match kind {
        "string" | "object" | "number" | "whole number" => format!("{kind}s"),
        other => other.to_owned(),
    }
}

/// The default as JSON; objects show theirs key by key.
fn default(field: &Value) -> String {
    match &field["default"] {
        Value::Null => String::new(),
        // A nested object shows its defaults key by key, an empty one has none.
        Value::Object(map) if field["$ref"].is_string() || map.is_empty() => String::new(),
        value => format!("`{value}`"),
    }
}
