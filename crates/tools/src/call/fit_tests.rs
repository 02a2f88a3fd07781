use serde_json::json;

use super::*;

fn fit(schema: &Value, arguments: &Value) -> Result<Value, Vec<String>> {
    super::fit(schema, arguments, &|_, given| given)
}

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
            "`path` must be a string, not an array",
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
        assert_eq!(
            fit(&schema(), &given),
            Err(vec![expected.to_owned()]),
            "{given}"
        );
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
    assert!(unknown.unwrap_err()[0].contains("must be one of"));
}

#[test]
fn an_object_is_described_to_who_sent_something_else() {
    let wrong = fit(&schema(), &json!({"path": "a", "edits": ["x"]})).unwrap_err();
    assert_eq!(
        wrong,
        ["`edits[0]` must be an object with `old` and `new`, not a string"]
    );
}

#[test]
fn everything_that_is_wrong_is_named_at_once() {
    let given = json!({"limit": 0, "mode": "all", "edits": [{"old": "x"}, 3]});
    let problems = fit(&schema(), &given).unwrap_err();
    for named in [
        "`path`",
        "`limit`",
        "`mode`",
        "`edits[0].new`",
        "`edits[1]`",
    ] {
        assert!(
            problems.iter().any(|one| one.contains(named)),
            "{named}: {problems:?}"
        );
    }
}

#[test]
fn lists_and_choices_are_taken_in_the_shapes_that_models_send() {
    let schema = json!({"properties": {
        "steps": {"type": "array", "items": {"type": "string"}},
        "done": {"type": "boolean"},
        "kind": {"type": "string", "enum": ["ready_for_review", "answer"]},
        "text": {"type": "string"}
    }});
    for (given, expected) in [
        (
            json!({"steps": "- one\n- two"}),
            json!({"steps": ["one", "two"]}),
        ),
        (
            json!({"steps": "1. one\n2. two"}),
            json!({"steps": ["one", "two"]}),
        ),
        (
            json!({"steps": "one\ntwo"}),
            json!({"steps": ["one", "two"]}),
        ),
        (
            json!({"steps": "a.py, b.py"}),
            json!({"steps": ["a.py", "b.py"]}),
        ),
        (
            json!({"steps": "first this, then that"}),
            json!({"steps": ["first this, then that"]}),
        ),
        (json!({"steps": "[\"one\"]"}), json!({"steps": ["one"]})),
        (json!({"steps": ""}), json!({"steps": []})),
        (json!({"done": "yes"}), json!({"done": true})),
        (json!({"done": 0}), json!({"done": false})),
        (
            json!({"kind": "Ready for review"}),
            json!({"kind": "ready_for_review"}),
        ),
        (json!({"text": ["a", "b"]}), json!({"text": "a\nb"})),
        (json!({"arguments": {"text": "a"}}), json!({"text": "a"})),
    ] {
        assert_eq!(fit(&schema, &given), Ok(expected), "{given}");
    }
}

#[test]
fn numbers_and_objects_of_servers_pass_as_they_are() {
    let schema = json!({"type": "object", "properties": {
        "far": {"type": "number"}, "free": {"type": "object"}, "any": {}
    }, "additionalProperties": true});
    let given = json!({"far": 1.5, "free": {"a": [1]}, "any": [true], "more": 7});
    assert_eq!(fit(&schema, &given), Ok(given.clone()));
    let written = fit(&schema, &json!({"far": " 2.5 "}));
    assert_eq!(written, Ok(json!({"far": 2.5})));
    assert!(fit(&schema, &json!({"far": "wide"})).is_err());
}
