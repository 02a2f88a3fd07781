//! Quirks of real endpoints. Each fixture is an answer as such a server sends it.

use butler_model::{CacheLife, EndpointKind, ErrorClass, ModelRequest, PriceBook, wire};
use butler_protocol::{Image, ModelMessage, ModelReply, Secret, Usd};
use serde_json::{Value, json};

use crate::kit::{
    Canned, Server, ask, assistant, call, canned, json_body, question, result, stream, system, user,
};

fn calls(reply: &ModelReply) -> Vec<(&str, &Value)> {
    reply
        .calls
        .iter()
        .map(|call| (call.name.as_str(), &call.arguments))
        .collect()
}

async fn answered(kind: EndpointKind, model: &str, answer: Canned) -> ModelReply {
    let server = Server::start(vec![answer]).await;
    let mut config = server.config(kind);
    config.prices = PriceBook::free();
    let client = butler_model::ModelClient::new(config).unwrap();
    let reply = ask(&client, &question(model)).await.unwrap();
    assert_eq!(server.asked().len(), 1);
    assert_eq!(
        reply.model, model,
        "the id that was asked for, not the one that answered"
    );
    reply
}

#[tokio::test]
async fn openrouter_with_reasoning_and_a_doubled_finish() {
    let fixture = stream(include_str!("fixtures/openrouter_kimi.sse"));
    let reply = answered(EndpointKind::Openrouter, "moonshotai/kimi-k2.5", fixture).await;
    assert_eq!(
        calls(&reply),
        [("add", &json!({"a": 2, "b": 3}))],
        "once, though the end comes twice"
    );
    assert_eq!(reply.text, None);
    assert_eq!(reply.cost, Usd::from_nanos(228_760));
    assert_eq!((reply.usage.input, reply.usage.cached_input), (129, 100));
    assert_eq!((reply.usage.output, reply.usage.reasoning), (86, 51));
    let block = json!({"type": "reasoning.text", "text": "Two plus three.", "format": "unknown", "index": 0});
    assert_eq!(
        reply.reasoning.unwrap()["reasoning_details"],
        json!([block])
    );
}

#[tokio::test]
async fn openrouter_fails_in_the_middle_of_a_stream() {
    let server = Server::start(vec![
        stream(include_str!("fixtures/openrouter_mid_stream_error.sse")),
        stream(include_str!("fixtures/openrouter_kimi.sse")),
    ])
    .await;
    let client = server.client(EndpointKind::Openrouter);
    let reply = ask(&client, &question("m")).await.unwrap();
    assert_eq!(
        (reply.text.as_deref(), reply.calls.len()),
        (None, 1),
        "the partial text is gone"
    );
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn claude_through_openrouter_with_signed_reasoning_and_cache_counts() {
    let fixture = stream(include_str!("fixtures/openrouter_claude.sse"));
    let model = "anthropic/claude-haiku-4.5";
    let reply = answered(EndpointKind::Openrouter, model, fixture).await;
    assert_eq!(
        calls(&reply),
        [
            ("add", &json!({"a": 2, "b": 3})),
            ("read_file", &json!({"path": "a"}))
        ],
        "interleaved fragments"
    );
    assert_eq!(
        (reply.usage.cached_input, reply.usage.cache_write),
        (5000, 900)
    );
    assert_eq!(
        reply.cost,
        Usd::from_nanos(11_285_000),
        "the fee and the provider's own bill"
    );

    // The blocks go back as they came, late signature included, to this model only.
    let blocks = json!([{"type": "reasoning.text", "text": "I add them.", "signature": "c2lnbmVk",
                         "id": null, "format": "anthropic-claude-v1", "index": 0}]);
    let history = |model: &str| {
        let said = assistant(
            Some("I'll do it."),
            vec![call("c1", "add", json!({}))],
            reply.reasoning.clone(),
        );
        let messages = vec![user("hi"), said, result("c1", "5")];
        wire::body(
            &ModelRequest::new(model, messages),
            EndpointKind::Openrouter,
        )
    };
    assert_eq!(history(model)["messages"][1]["reasoning_details"], blocks);
    let switched = history("moonshotai/kimi-k2.6");
    assert_eq!(switched["messages"][1].get("reasoning_details"), None);
    assert_eq!(switched["messages"][1].get("reasoning"), None);
}

#[tokio::test]
async fn a_refused_signature_is_asked_again_once_without_reasoning() {
    let refusal = json!({"error": {"code": 400, "message": "Provider returned error", "metadata": {
        "raw": "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1: Invalid signature in thinking block\"}}",
        "provider_name": "Anthropic"}}});
    let server = Server::start(vec![
        json_body(400, refusal),
        stream(include_str!("fixtures/openrouter_claude.sse")),
    ])
    .await;
    let client = server.client(EndpointKind::Openrouter);
    let kept = json!({"for": "anthropic/x", "reasoning_details": [{"signature": "bad"}]});
    let mut request = question("anthropic/x");
    request
        .messages
        .push(assistant(Some("so"), vec![], Some(kept)).into());
    request.messages.push(user("go on").into());
    ask(&client, &request).await.unwrap();
    let bodies: Vec<String> = server
        .asked()
        .iter()
        .map(|asked| asked.body.to_string())
        .collect();
    assert!(
        bodies[0].contains("signature") && !bodies[1].contains("signature"),
        "{bodies:?}"
    );
    assert_eq!(bodies.len(), 2);
}

#[tokio::test]
async fn openai_counts_in_a_chunk_without_choices() {
    let reply = answered(
        EndpointKind::Openai,
        "gpt-x",
        stream(include_str!("fixtures/openai.sse")),
    )
    .await;
    assert_eq!(calls(&reply), [("add", &json!({"a": 2, "b": 3}))]);
    assert_eq!(
        (
            reply.usage.input,
            reply.usage.cached_input,
            reply.usage.reasoning
        ),
        (100, 64, 8)
    );
}

#[tokio::test]
async fn llama_cpp_streams_and_says_500_to_what_can_never_pass() {
    let reply = answered(
        EndpointKind::Generic,
        "any",
        stream(include_str!("fixtures/llama_cpp.sse")),
    )
    .await;
    assert_eq!(calls(&reply), [("add", &json!({"a": 2, "b": 3}))]);
    assert_eq!((reply.usage.input, reply.usage.cached_input), (490, 480));

    let cases = [
        (
            500,
            r#"{"error":{"code":500,"message":"Failed to parse tool call arguments as JSON: [json.exception.parse_error.101]","type":"server_error"}}"#,
            ErrorClass::Rejected,
            1,
        ),
        (
            503,
            r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#,
            ErrorClass::Overloaded,
            6,
        ),
        (
            400,
            r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"request (20031 tokens) exceeds the available context size (2048 tokens)","n_prompt_tokens":20031,"n_ctx":2048}}"#,
            ErrorClass::ContextTooLong,
            1,
        ),
    ];
    for (status, body, class, requests) in cases {
        let server = Server::start(vec![json_body(status, body)]).await;
        let error = ask(&server.client(EndpointKind::Generic), &question("m"))
            .await
            .unwrap_err();
        assert_eq!(
            (error.class(), server.asked().len()),
            (class, requests),
            "{error}"
        );
    }
}

#[tokio::test]
async fn llama_cpp_python_counts_nothing_and_cannot_stand_null_content() {
    let fixture = stream(include_str!("fixtures/llama_cpp_python.sse"));
    let reply = answered(EndpointKind::Generic, "local", fixture).await;
    assert_eq!(reply.text.as_deref(), Some("Five."));
    assert!(
        reply.usage.input > 0 && reply.usage.output == 2,
        "{:?}",
        reply.usage
    );
    assert_eq!(reply.cost, Usd::ZERO);

    let history = vec![
        system("p"),
        user("hi"),
        assistant(None, vec![call("c", "add", json!({}))], None),
        result("c", "5"),
    ];
    let mut request = ModelRequest::new("local", history);
    request.cache = CacheLife::Long;
    let generic = wire::body(&request, EndpointKind::Generic);
    assert_eq!(generic["messages"][2]["content"], "");
    assert_eq!(generic["messages"][0]["content"], "p", "plain strings");
    assert_eq!(
        wire::body(&request, EndpointKind::Openrouter)["messages"][2]["content"],
        Value::Null
    );

    let cases = [
        (500, "Internal Server Error", ErrorClass::Overloaded),
        (404, r#"{"detail":"Not Found"}"#, ErrorClass::Rejected),
        (
            500,
            r#"{"error":{"message":"[{'type': 'missing', 'msg': 'Field required'}] in /usr/lib/python3/site-packages/llama_cpp/server/app.py","type":"internal_server_error","param":null,"code":null}}"#,
            ErrorClass::Rejected,
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 2048 tokens","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            ErrorClass::ContextTooLong,
        ),
    ];
    for (status, body, class) in cases {
        let server = Server::start(vec![canned(status, "text/plain", body)]).await;
        let error = ask(&server.client(EndpointKind::Generic), &question("m"))
            .await
            .unwrap_err();
        assert_eq!(error.class(), class, "{error}");
        assert!(!error.to_string().contains("site-packages"), "{error}");
    }
}

#[tokio::test]
async fn ollama_gives_every_call_the_same_index() {
    let reply = answered(
        EndpointKind::Generic,
        "qwen",
        stream(include_str!("fixtures/ollama.sse")),
    )
    .await;
    assert_eq!(
        calls(&reply),
        [
            ("add", &json!({"a": 2, "b": 3})),
            ("read_file", &json!({"path": "a"}))
        ]
    );
}

#[tokio::test]
async fn vllm_thinks_aloud_and_writes_its_call_as_text() {
    let reply = answered(
        EndpointKind::Generic,
        "deepseek",
        stream(include_str!("fixtures/vllm.sse")),
    )
    .await;
    assert_eq!(calls(&reply), [("add", &json!({"a": 2, "b": 3}))]);
    assert_eq!(reply.text, None);
    assert_eq!(reply.reasoning.unwrap()["reasoning_content"], "2+3 is 5");
}

#[tokio::test]
async fn a_buffered_answer_may_be_an_error_with_status_200() {
    let kimi = json!({"id": "gen", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "five", "tool_calls": null}}]});
    let server = Server::start(vec![
        json_body(200, format!("\n\n   \n{}", json!({"error": {"code": 502, "message": "no"}}))),
        json_body(200, json!({"choices": [{"error": {"code": 503, "message": "x"}, "finish_reason": "error", "message": {"content": "par"}}]})),
        json_body(200, format!("   \n  {kimi}")),
    ])
    .await;
    let mut request = question("m");
    request.stream = false;
    let reply = ask(&server.client(EndpointKind::Openrouter), &request)
        .await
        .unwrap();
    assert_eq!(
        (reply.text.as_deref(), server.asked().len()),
        (Some("five"), 3)
    );
}

#[tokio::test]
async fn errors_are_sorted_by_what_they_say() {
    let quota = json!({"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}});
    let moderated = json!({"error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"], "flagged_input": "x"}}});
    let hidden = json!({"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": "prompt is too long: 210000 tokens > 200000 maximum", "provider_name": "Anthropic"}}});
    let gone = json!({"error": {"code": 404, "message": "No endpoints found", "availability": {"code": "model_not_found", "retryable": false, "fallback_models": ["a/b"]}}});
    let cases = [
        (429, quota, ErrorClass::NoCredit, "quota"),
        (403, moderated, ErrorClass::Filtered, "flagged"),
        (
            403,
            json!({"error": {"code": 403, "message": "Key limit exceeded"}}),
            ErrorClass::Forbidden,
            "Key limit",
        ),
        (400, hidden, ErrorClass::ContextTooLong, "210000"),
        (
            413,
            json!({"error": {"message": "too big"}}),
            ErrorClass::ContextTooLong,
            "too big",
        ),
        (404, gone, ErrorClass::Rejected, "a/b"),
        (
            422,
            json!({"error": "schema"}),
            ErrorClass::Rejected,
            "schema",
        ),
        (
            401,
            json!({"error": {"message": "No auth"}}),
            ErrorClass::Auth,
            "No auth",
        ),
        (
            402,
            json!({"error": {"message": "Insufficient credits"}}),
            ErrorClass::NoCredit,
            "credits",
        ),
    ];
    for (status, body, class, words) in cases {
        let server = Server::start(vec![json_body(status, body)]).await;
        let error = ask(&server.client(EndpointKind::Openrouter), &question("m"))
            .await
            .unwrap_err();
        assert_eq!(error.class(), class, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(server.asked().len(), 1, "{error}");
    }
}

#[tokio::test]
async fn the_key_goes_to_its_own_host_and_nowhere_else() {
    let key = ["sk-", "or-", "v1-0123456789"].concat();
    let other = Server::start(vec![json_body(200, "{}")]).await;
    let mut away = canned(307, "text/plain", &format!("moved, {key}"));
    away.headers
        .push(("location", format!("{}/chat/completions", other.url)));
    let server = Server::start(vec![away]).await;
    let mut config = server.config(EndpointKind::Openrouter);
    config.endpoint = config.endpoint.with_key(Secret::new(&key));
    config.endpoint.headers = vec![("x-title".into(), "CodeButler".into())];
    let client = butler_model::ModelClient::new(config).unwrap();
    let error = ask(&client, &question("m")).await.unwrap_err();
    assert!(other.asked().is_empty(), "redirects are not followed");
    assert_eq!(
        server.asked()[0].headers["authorization"],
        format!("Bearer {key}")
    );
    assert_eq!(server.asked()[0].headers["x-title"], "CodeButler");
    assert_eq!(server.asked()[0].path, "/v1/chat/completions");
    let seen = format!("{error} {error:?} {client:?} {}", error.advice());
    assert!(!seen.contains(&key) && seen.contains("[key]"), "{seen}");
}

#[test]
fn each_kind_gets_the_fields_it_knows() {
    let mut request = question("anthropic/claude-x");
    request.session = Some("thread-1".into());
    request.user = Some("u1".into());
    request.effort = Some(butler_model::Effort::Medium);
    request.routing = Some(json!({"data_collection": "deny"}));
    request.max_tokens = 1;
    let keys = |kind| {
        let body = wire::body(&request, kind);
        let keys: Vec<String> = body.as_object().unwrap().keys().cloned().collect();
        keys.join(" ")
    };
    assert_eq!(
        keys(EndpointKind::Openrouter),
        "model stream stream_options max_tokens user session_id reasoning provider plugins tools messages"
    );
    assert_eq!(
        keys(EndpointKind::Openai),
        "model stream stream_options max_completion_tokens user prompt_cache_key reasoning_effort tools messages"
    );
    assert_eq!(
        keys(EndpointKind::Generic),
        "model stream stream_options max_tokens tools messages"
    );
    assert_eq!(
        wire::body(&request, EndpointKind::Generic)["max_tokens"],
        16,
        "providers refuse less"
    );
}

#[test]
fn pictures_are_parts_and_invented_tool_names_are_made_harmless() {
    let image = Image {
        media_type: "image/png".into(),
        base64: "aGk=".into(),
    };
    let seen = ModelMessage::User {
        text: "look".into(),
        images: vec![image],
    };
    let odd = assistant(None, vec![call("c", "read file!", json!([]))], None);
    let body = wire::body(
        &ModelRequest::new("m", vec![seen, odd, result("c", "no such tool")]),
        EndpointKind::Openai,
    );
    assert_eq!(
        body["messages"][0]["content"],
        json!([{"type": "text", "text": "look"},
               {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}])
    );
    let function = &body["messages"][1]["tool_calls"][0]["function"];
    assert_eq!(function, &json!({"name": "read_file_", "arguments": "{}"}));
}
