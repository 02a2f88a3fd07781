//! A tool as a small model is told of it: what it does, one example, a few words
//! for every argument, and no argument that it can do without. A call with such an
//! argument still works: the tool is the same.

use butler_protocol::ToolSpec;
use serde_json::Value;

/// The most of a result that a small model reads.
pub(crate) const RESULT_BYTES: usize = 8 * 1024;

/// Longer examples cost more than they explain.
const EXAMPLE_BYTES: usize = 280;

/// Arguments, and kinds of hand-over, that are left out: several edits at once,
/// background jobs, and the ceremony of a review, a look back, a memory.
const LEFT_OUT: [(&str, &[&str]); 8] = [
    ("Grep", &["mode", "context", "limit"]),
    ("Glob", &["limit"]),
    ("Edit", &["edits"]),
    ("Bash", &["background"]),
    ("GitDiff", &["commit", "base", "summary"]),
    ("HandOver", &["review_plan", "invariants", "risks", "tests"]),
    ("ProposeMerge", &["well", "friction"]),
    ("ProposeLearnings", &["changes", "prune"]),
];

/// The same tool in fewer words.
#[must_use]
pub fn small_spec(mut spec: ToolSpec) -> ToolSpec {
    let left_out = LEFT_OUT.iter().find(|(tool, _)| *tool == spec.name);
    let left_out = left_out.map_or(&[][..], |(_, fields)| *fields);
    let (what, example) = match spec.description.split_once("Example: ") {
        Some((what, example)) => (what, serde_json::from_str(example).ok()),
        None => (spec.description.as_str(), None),
    };
    let mut short = first_sentence(what).to_owned();
    if let Some(mut example @ Value::Object(_)) = example {
        without(&mut example, left_out);
        let example = example.to_string();
        if example.len() <= EXAMPLE_BYTES {
            short.push_str(&format!(" Example: {example}"));
        }
    }
    spec.description = short;
    if let Some(fields) = spec.parameters.get_mut("properties") {
        without(fields, left_out);
        shorten(fields, left_out);
    }
    spec
}

fn without(fields: &mut Value, left_out: &[&str]) {
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|name, _| !left_out.contains(&name.as_str()));
    }
}

/// Each field in its first sentence.
fn shorten(fields: &mut Value, left_out: &[&str]) {
    for field in fields
        .as_object_mut()
        .into_iter()
        .flat_map(|all| all.values_mut())
    {
        if let Some(Value::String(words)) = field.get_mut("description") {
            *words = first_sentence(words).to_owned();
        }
        if let Some(choices) = field.get_mut("enum").and_then(Value::as_array_mut) {
            choices.retain(|choice| !choice.as_str().is_some_and(|name| left_out.contains(&name)));
        }
        if let Some(inner) = field
            .get_mut("items")
            .and_then(|items| items.get_mut("properties"))
        {
            shorten(inner, left_out);
        }
    }
}

fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    text.find(". ").map_or(text, |end| &text[..=end])
}

#[cfg(test)]
mod tests {
    use butler_protocol::Role;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_small_spec_keeps_what_it_does_and_how() {
        let spec = ToolSpec {
            name: "Edit".into(),
            description:
                "Replaces text. Not for new files (Write). Example: {\"path\": \"a\", \"edits\": []}"
                    .into(),
            parameters: json!({"type": "object", "properties": {
                "path": {"type": "string", "description": "The file. From the root."},
                "old": {"type": "string"}, "edits": {"type": "array"}}, "required": ["path"]}),
        };
        let small = small_spec(spec);
        assert_eq!(
            small.description,
            "Replaces text. Example: {\"path\":\"a\"}"
        );
        let fields = &small.parameters["properties"];
        assert_eq!(fields["path"]["description"], "The file.");
        assert!(fields.get("edits").is_none(), "one edit per call");
        assert_eq!(small.parameters["required"], json!(["path"]));
    }

    /// What is left out is there in the whole, and nobody needs it.
    #[test]
    fn what_is_left_out_exists_and_is_not_required() {
        for (tool, fields) in LEFT_OUT {
            let all = Role::ALL.into_iter().flat_map(|role| {
                let mut specs = crate::tools::chat_specs(Some(role));
                specs.extend(butler_tools::Registry::native().offered(&[tool]));
                specs
            });
            let specs: Vec<ToolSpec> = all.filter(|spec| spec.name == tool).collect();
            for field in fields {
                let known = |spec: &ToolSpec| {
                    let kinds = spec.parameters["properties"]["kind"]["enum"].as_array();
                    let kind = kinds.is_some_and(|kinds| kinds.contains(&json!(field)));
                    kind || spec.parameters["properties"][*field].is_object()
                };
                assert!(specs.iter().any(known), "{tool} has no {field}");
                for spec in &specs {
                    let required = spec.parameters["required"].as_array();
                    let needed = required.is_some_and(|all| all.contains(&json!(field)));
                    assert!(!needed, "{tool} needs {field}");
                }
            }
        }
    }
}
