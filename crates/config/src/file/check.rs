//! Compares a file with its schema and reports everything at once.
//!
//! The typed reader stops at its first surprise and quotes the value it
//! stumbled over. This walk does neither. What it lets through, the typed
//! reader accepts; a property test holds the two together.

use std::path::Path;

use butler_protocol::nearest;
use serde_json::Value;

use crate::file::{
    document::{Document, Field, Kind, Node},
    format,
    path::KeyPath,
    problem::Problem,
};

/// What a file is measured against.
pub(crate) struct Measure<'a> {
    /// The schema of this file.
    pub schema: &'a Value,
    /// The schema of the machine config, when this is a repo's: keys of it that
    /// turn up here are not unknown but forbidden.
    pub machine: Option<&'a Value>,
}

/// Every problem of a document, in the order of its lines.
pub(crate) fn check(document: &Document, measure: &Measure<'_>) -> Vec<Problem> {
    let mut walk = Walk {
        measure,
        file: &document.file,
        problems: Vec::new(),
    };
    walk.value(&document.root, measure.schema, &KeyPath::root());
    walk.problems
}

struct Walk<'a> {
    measure: &'a Measure<'a>,
    file: &'a Path,
    problems: Vec<Problem>,
}

impl<'a> Walk<'a> {
    fn report(&mut self, line: usize, path: &KeyPath, what: impl Into<String>, remedy: String) {
        let problem = Problem::with_file(self.file, what, remedy);
        self.problems.push(problem.at(line, path.as_str()));
    }

    fn value(&mut self, node: &Node, schema: &'a Value, path: &KeyPath) {
        // What an unset variable would have said is not known; it was reported.
        if matches!(node.kind, Kind::Unset) {
            return;
        }
        let schema = resolve(self.measure.schema, schema);
        if let Some(choices) = words(schema) {
            self.word(node, &choices, path);
            return;
        }
        if let Some(alternatives) = schema["anyOf"].as_array() {
            let kind = |one| &resolve(self.measure.schema, one)["type"];
            let fits = alternatives.iter().find(|one| admits(kind(one), node));
            if let Some(chosen) = fits.or(alternatives.first()) {
                self.value(node, chosen, path);
            }
            return;
        }
        if !admits(&schema["type"], node) {
            let expected = kinds(&schema["type"]);
            let what = format!("expected {expected}, found {}", kind_of(node));
            self.report(node.line, path, what, format!("Write {expected} here"));
            return;
        }
        match &node.kind {
            Kind::Map(fields) => self.object(node, fields, schema, path),
            Kind::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(item, &schema["items"], &path.index(index));
                }
            }
            Kind::Number(number) => {
                if let Some(bound) = format::out_of_range(number, schema) {
                    self.report(node.line, path, "out of range", format!("Write {bound}"));
                }
            }
            Kind::Text(text) => {
                if let Some((what, remedy)) = format::malformed(text, schema) {
                    self.report(node.line, path, what, remedy);
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Unset => {}
        }
    }

    fn word(&mut self, node: &Node, choices: &[&str], path: &KeyPath) {
        let list = choices.join(", ");
        match &node.kind {
            Kind::Text(text) if choices.contains(&text.as_str()) => {}
            Kind::Text(text) => {
                let remedy = match nearest(text, choices.iter().copied(), 1).first() {
                    Some(near) => format!("Did you mean \"{near}\"? Possible are: {list}"),
                    None => format!("Possible are: {list}"),
                };
                self.report(node.line, path, "not one of the possible values", remedy);
            }
            _ => {
                let what = format!("expected a string, found {}", kind_of(node));
                self.report(node.line, path, what, format!("Possible are: {list}"));
            }
        }
    }

    fn object(&mut self, node: &Node, fields: &[Field], schema: &'a Value, path: &KeyPath) {
        for (index, field) in fields.iter().enumerate() {
            let here = path.key(&field.key);
            if fields[..index].iter().any(|other| other.key == field.key) {
                let remedy = "Keep one of the two".to_owned();
                self.report(field.line, &here, "this key stands here twice", remedy);
                continue;
            }
            let known = &schema["properties"][&field.key];
            let other = &schema["additionalProperties"];
            if known.is_object() {
                self.value(&field.value, known, &here);
            } else if other.is_object() {
                self.value(&field.value, other, &here);
            } else if other == &Value::Bool(false) {
                self.unknown(field, schema, &here);
            }
        }
        let required = schema["required"].as_array().into_iter().flatten();
        for key in required.filter_map(Value::as_str) {
            if node.get(key).is_none() {
                let here = path.key(key);
                let remedy = format!("Add \"{key}\"");
                self.report(node.line, &here, "this key is missing", remedy);
            }
        }
    }

    fn unknown(&mut self, field: &Field, schema: &'a Value, path: &KeyPath) {
        let machine = self.measure.machine;
        if machine.is_some_and(|schema| has(schema, path) || MACHINE_WORDS.contains(&&*field.key)) {
            let what = "a repository may not say this, only the machine it runs on";
            let remedy = "Move it to ~/.codebutler/config.json".to_owned();
            self.report(field.line, path, what, remedy);
            return;
        }
        let known = || schema["properties"].as_object().into_iter().flatten();
        let names = known().map(|(name, _)| name.as_str());
        let remedy = match nearest(&field.key, names, 1).first() {
            Some(near) => format!("Did you mean \"{near}\"?"),
            None => {
                let names: Vec<_> = known().map(|(name, _)| name.as_str()).collect();
                format!("Remove it; known here are: {}", names.join(", "))
            }
        };
        self.report(field.line, path, "unknown key", remedy);
    }
}

/// Words that are the machine's wherever in a repo's file they turn up.
const MACHINE_WORDS: [&str; 5] = ["apiKey", "baseUrl", "endpoints", "approvers", "consents"];

/// Follows references into the schema's definitions.
pub(crate) fn resolve<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    // Definitions of our own types are not circular; the bound is for readers.
    for _ in 0..8 {
        let Some(name) = schema["$ref"].as_str() else {
            break;
        };
        schema = &root["$defs"][name.rsplit('/').next().unwrap_or(name)];
    }
    schema
}

/// Whether the schema knows this path, lists and free names aside.
fn has(schema: &Value, path: &KeyPath) -> bool {
    let mut here = schema;
    for key in path.as_str().split('.') {
        here = &resolve(schema, here)["properties"][key];
    }
    here.is_object()
}

/// The words of an enumeration.
pub(crate) fn words(schema: &Value) -> Option<Vec<&str>> {
    if let Some(plain) = schema["enum"].as_array() {
        return plain.iter().map(Value::as_str).collect();
    }
    let documented = schema["oneOf"].as_array()?.iter();
    documented.map(|one| one["const"].as_str()).collect()
}

fn admits(types: &Value, node: &Node) -> bool {
    let admit = |name: &str| match (&node.kind, name) {
        (Kind::Null, "null")
        | (Kind::Bool(_), "boolean")
        | (Kind::Number(_), "number")
        | (Kind::Text(_), "string")
        | (Kind::List(_), "array")
        | (Kind::Map(_), "object") => true,
        (Kind::Number(number), "integer") => number.is_i64() || number.is_u64(),
        _ => false,
    };
    match types {
        Value::String(name) => admit(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(admit),
        // A schema without a type (a free value) admits everything.
        _ => true,
    }
}

/// The admitted kinds in words; that null is possible is not worth a word.
fn kinds(types: &Value) -> String {
    let words = |name: &str| match name {
        "boolean" => "true or false",
        "number" => "a number",
        "integer" => "a whole number",
        "string" => "a string",
        "array" => "a list",
        "object" => "an object",
        _ => "null",
    };
    match types {
        Value::String(name) => words(name).to_owned(),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str);
            let names: Vec<_> = names.filter(|name| *name != "null").map(words).collect();
            names.join(" or ")
        }
        _ => "a value".to_owned(),
    }
}

fn kind_of(node: &Node) -> &'static str {
    match &node.kind {
        Kind::Null => "null",
        Kind::Bool(_) => "true or false",
        Kind::Number(number) if number.is_f64() => "a fraction",
        Kind::Number(_) => "a number",
        Kind::Text(_) | Kind::Unset => "a string",
        Kind::List(_) => "a list",
        Kind::Map(_) => "an object",
    }
}
