//! What models are told about the tools, checked without a model.

use butler_policy::{Judgement, default_tools};
use butler_protocol::Role;
use butler_tools::Registry;
use serde_json::Value;

use crate::fixture::{Fixture, call};

/// Words that some providers refuse in a schema.
const REFUSED: [&str; 10] = [
    "$ref", "$defs", "oneOf", "anyOf", "allOf", "nullable", "format", "const", "$schema", "title",
];

fn keys(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                // Names of fields are not words of the schema.
                if key == "properties" {
                    for field in value.as_object().unwrap().values() {
                        keys(field, into);
                    }
                } else {
                    into.push(key.clone());
                    keys(value, into);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, into)),
        _ => {}
    }
}

#[test]
fn schemas_are_flat_small_and_explained() {
    let registry = Registry::native();
    for name in registry.names() {
        let spec = registry.get(name).unwrap().spec();
        let words = spec.description.split_whitespace().count();
        assert!(words <= 120, "{name}: {words} words");
        assert!(
            spec.description.contains("Example: {"),
            "{name} has no example"
        );
        let mut found = Vec::new();
        keys(&spec.parameters, &mut found);
        for refused in REFUSED {
            assert!(!found.iter().any(|key| key == refused), "{name}: {refused}");
        }
        assert_eq!(spec.parameters["type"], "object", "{name}");
        let fields = spec.parameters["properties"].as_object().unwrap();
        assert!(fields.len() <= 6, "{name} has {} fields", fields.len());
        for (field, schema) in fields {
            assert!(schema["type"].is_string(), "{name}.{field}: {schema}");
            assert!(
                schema["description"].is_string(),
                "{name}.{field} is not explained"
            );
        }
        let again = registry.get(name).unwrap().spec();
        assert_eq!(again.parameters.to_string(), spec.parameters.to_string());
    }
}

/// The example in each description is a call that its tool takes.
#[test]
fn examples_validate() {
    let fixture = Fixture::new();
    let registry = fixture.executor.registry();
    for name in registry.names() {
        let spec = registry.get(name).unwrap().spec();
        let example = spec.description.split("Example: ").nth(1).unwrap();
        let arguments: Value =
            serde_json::from_str(example).unwrap_or_else(|e| panic!("{name}: {e}"));
        for field in arguments.as_object().unwrap().keys() {
            assert!(
                spec.parameters["properties"][field].is_object(),
                "{name}: {field}"
            );
        }
        let role = Role::ALL
            .into_iter()
            .find(|role| butler_policy::right(*role, name) != butler_policy::Right::No)
            .unwrap_or_else(|| panic!("no role may use {name}"));
        let judged = fixture.judge(role, &call(name, arguments));
        assert!(matches!(judged, Judgement::Run(_)), "{name}: {judged:?}");
    }
}

#[test]
fn offers_keep_the_asked_order_and_leave_out_what_is_unknown() {
    let registry = Registry::native();
    let offered = registry.offered(default_tools(Role::Coder));
    let names: Vec<&str> = offered.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Read",
            "Grep",
            "Glob",
            "Write",
            "Edit",
            "Bash",
            "RunChecks",
            "Checklist"
        ]
    );
    assert_eq!(registry.nearest("read_file"), ["Read"]);
    assert_eq!(registry.nearest("run_checks"), ["RunChecks"]);
}
