//! Calls and examples that the texts show are ones that the tools take.

use std::collections::BTreeSet;

use butler_playbook::{Memory, builtin_skills, role_file};
use butler_protocol::{Complexity, Role, Severity, ToolSpec};
use serde_json::Value;

use crate::{
    offered::{for_skill, native},
    spans,
};

/// What a role may be offered, as its model sees it.
fn specs(role: Role) -> Vec<ToolSpec> {
    let names = for_skill(role);
    let chat = butler_agent::chat_specs(Some(role)).into_iter();
    let chat = chat.filter(|spec| names.contains(&spec.name));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    native().offered(&names).into_iter().chain(chat).collect()
}

fn texts() -> Vec<(String, Role, String)> {
    let mut texts: Vec<_> = Role::ALL
        .into_iter()
        .map(|role| (format!("{role}.md"), role, role_file(role).text.to_owned()))
        .collect();
    for skill in builtin_skills() {
        let name = format!("skills/{}.md", skill.name);
        texts.push((name, skill.agent, skill.prompt.text().to_owned()));
    }
    texts
}

#[test]
fn a_call_that_a_text_shows_has_fields_and_values_of_its_tool() {
    let mut calls = 0;
    for (file, role, text) in texts() {
        let specs = specs(role);
        for (tool, field, value) in spans::call_arguments(&text) {
            let spec = specs.iter().find(|spec| spec.name == tool);
            let spec = spec.unwrap_or_else(|| panic!("{file}: {role} has no {tool}"));
            let schema = &spec.parameters["properties"][field];
            assert!(schema.is_object(), "{file}: {tool} has no field {field}");
            let values = schema["enum"].as_array();
            let known = values.is_none_or(|all| all.iter().any(|one| one == value));
            assert!(known || value == "…", "{file}: {tool}({field}: {value})");
            calls += 1;
        }
    }
    assert!(calls >= 15, "only {calls}");
}

/// A code span of one plain word is a field or a value, not decoration.
#[test]
fn every_field_that_a_text_names_exists() {
    let mut known: BTreeSet<String> = BTreeSet::new();
    for word in [Complexity::Simple, Complexity::Medium, Complexity::Complex] {
        known.insert(
            serde_json::to_value(word)
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    for word in [Severity::Low, Severity::Medium, Severity::High] {
        known.insert(
            serde_json::to_value(word)
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    for (file, role, text) in texts() {
        let mut fields = known.clone();
        for spec in specs(role) {
            let properties = spec.parameters["properties"].as_object();
            fields.extend(
                properties
                    .into_iter()
                    .flatten()
                    .map(|(name, _)| name.clone()),
            );
        }
        for span in spans::code(&text) {
            let word = span.len() > 3 && span.bytes().all(|byte| byte.is_ascii_lowercase());
            assert!(!word || fields.contains(span), "{file}: `{span}`");
        }
    }
}

/// The example in the description of each chat tool fits its own schema.
#[test]
fn examples_of_the_chat_tools_validate() {
    let all = Role::ALL
        .into_iter()
        .flat_map(|role| butler_agent::chat_specs(Some(role)));
    for spec in all {
        let Some(example) = spec.description.split("Example: ").nth(1) else {
            // A plan is too long for one; its fields are explained one by one.
            assert_eq!(spec.name, "ProposePlan");
            continue;
        };
        let input: Value = serde_json::from_str(example)
            .unwrap_or_else(|error| panic!("{}: {error}: {example}", spec.name));
        for (field, value) in input.as_object().unwrap() {
            let schema = &spec.parameters["properties"][field];
            assert!(schema.is_object(), "{}: {field}", spec.name);
            assert!(of_type(value, schema), "{}: {field}: {value}", spec.name);
        }
        let required = spec.parameters["required"].as_array();
        for field in required.into_iter().flatten() {
            assert!(
                !input[field.as_str().unwrap()].is_null(),
                "{}: {field}",
                spec.name
            );
        }
    }
}

fn of_type(value: &Value, schema: &Value) -> bool {
    let listed = schema["enum"].as_array();
    let known = listed.is_none_or(|all| all.contains(value));
    known
        && match schema["type"].as_str() {
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("integer" | "number") => value.is_number(),
            Some("array") => value
                .as_array()
                .is_some_and(|items| items.iter().all(|item| of_type(item, &schema["items"]))),
            Some("object") => value.is_object(),
            _ => false,
        }
}

/// The example of a learning is one that the file would keep.
#[test]
fn the_example_of_a_learning_reads_without_a_problem() {
    let text = role_file(Role::Lead).text;
    let start = text.find("- **When:**").unwrap();
    let example = text[start..].split("\n\n").next().unwrap();
    let memory = Memory::parse("x.md", format!("## Learnings\n\n### A title\n{example}\n"));
    assert_eq!(memory.problems(), []);
    assert_eq!(memory.live().count(), 1);
}
