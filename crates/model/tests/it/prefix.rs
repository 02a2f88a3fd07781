//! Every request is the previous one plus what was appended.

use butler_model::{CacheLife, EndpointKind, ModelRequest, wire};
use serde_json::{Value, json};

use crate::kit::{assistant, call, result, system, tool, user};

/// The conversation grows by one exchange; every few turns a person joins in.
fn grow(request: &mut ModelRequest, turn: usize) {
    let id = format!("call{turn:05}");
    let reasoning =
        json!({"for": request.model, "reasoning_details": [{"text": "hm", "index": 0}]});
    let arguments = json!({"path": format!("src/{turn}.rs"), "z": 1, "a": [turn]});
    let read = call(&id, "Read", arguments);
    request
        .messages
        .push(assistant(Some("Looking.  "), vec![read], Some(reasoning)).into());
    request
        .messages
        .push(result(&id, &format!("line {turn}\n\"quoted\"")).into());
    if turn.is_multiple_of(7) {
        request.messages.push(user(&format!("and {turn}?")).into());
    }
}

/// The body without cache marks, and without the brackets that close it.
fn prefix(request: &ModelRequest, kind: EndpointKind) -> (String, usize) {
    let body = wire::body(request, kind).to_string();
    let marks = body.matches("\"cache_control\"").count();
    let body = body
        .replace(r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#, "")
        .replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let open = body.strip_suffix("]}").unwrap().to_owned();
    (open, marks)
}

#[test]
fn four_hundred_turns_only_append() {
    // One kind for the whole length, the others long enough to see every shape.
    let kinds = [
        (
            EndpointKind::Openrouter,
            "anthropic/claude-x",
            CacheLife::Short,
            true,
            400,
        ),
        (
            EndpointKind::Openrouter,
            "~anthropic/claude-x-latest",
            CacheLife::Long,
            true,
            40,
        ),
        (
            EndpointKind::Openrouter,
            "moonshotai/kimi-x",
            CacheLife::Short,
            false,
            40,
        ),
        (EndpointKind::Openai, "gpt-x", CacheLife::Short, false, 40),
        (EndpointKind::Generic, "local", CacheLife::Short, false, 40),
    ];
    for (kind, model, cache, marked, turns) in kinds {
        let mut request = ModelRequest::new(model, vec![system("You build."), user("go")]);
        request.tools = [tool("Read"), tool("Edit")].into();
        request.session = Some("t-coder".into());
        request.cache = cache;
        let (mut before, _) = prefix(&request, kind);
        for turn in 1..=turns {
            grow(&mut request, turn);
            let (now, marks) = prefix(&request, kind);
            assert!(now.starts_with(&before), "{kind} {model}, turn {turn}");
            assert!(now.len() > before.len());
            assert_eq!(
                marks,
                if marked { 3 } else { 0 },
                "{kind} {model}, turn {turn}"
            );
            before = now;
        }
    }
}

#[test]
fn marks_stand_on_the_prompt_the_previous_end_and_the_end() {
    let mut request = ModelRequest::new("anthropic/claude-x", vec![system("p"), user("go")]);
    request.cache = CacheLife::Long;
    for turn in 1..=2 {
        grow(&mut request, turn);
    }
    let body = wire::body(&request, EndpointKind::Openrouter);
    let marked: Vec<usize> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .filter(|(_, message)| message.to_string().contains("cache_control"))
        .map(|(place, _)| place)
        .collect();
    assert_eq!(marked, [0, 3, 5]);
    assert_eq!(
        body["messages"][5]["content"][0]["cache_control"],
        json!({"type": "ephemeral", "ttl": "1h"})
    );
    request.cache = CacheLife::Off;
    let once = wire::body(&request, EndpointKind::Openrouter);
    assert!(
        !once.to_string().contains("cache_control"),
        "a single question is not marked"
    );
    assert!(
        matches!(once["messages"][0]["content"], Value::Array(_)),
        "but has the same shape"
    );
}
