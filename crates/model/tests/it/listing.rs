//! Model lists of different servers, and the copy on disk.

use std::time::Duration;

use butler_model::{EndpointKind, ErrorClass, read_models};
use butler_protocol::{TokenUsage, Usd};
use jiff::Timestamp;
use serde_json::json;

use crate::kit::{Server, json_body};

#[test]
fn lists_differ_and_what_is_missing_stays_unknown() {
    let openrouter = read_models(&json!({"data": [
        {"id": "anthropic/claude-x", "canonical_slug": "anthropic/claude-x-2026", "context_length": 1_000_000,
         "top_provider": {"context_length": 200_000, "max_completion_tokens": 64_000},
         "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003",
                     "input_cache_write": "0.00000375", "request": "0.001",
                     "overrides": [{"min_prompt_tokens": 200_000, "prompt": "0.000006", "completion": "0.0000225"}]},
         "architecture": {"input_modalities": ["text", "image"]},
         "supported_parameters": ["tools", "reasoning"], "expiration_date": null},
        {"id": "openrouter/auto", "pricing": {"prompt": "-1", "completion": "-1"}},
        {"name": "no id"},
    ]}));
    assert_eq!(openrouter.len(), 2);
    let claude = &openrouter[0];
    assert_eq!(
        (claude.context, claude.max_output),
        (Some(200_000), Some(64_000)),
        "the smallest window"
    );
    assert_eq!((claude.tools, claude.vision), (Some(true), Some(true)));
    let price = claude.price.as_ref().unwrap();
    let usage = |input, cached_input, cache_write, output| TokenUsage {
        input,
        cached_input,
        cache_write,
        output,
        reasoning: 0,
    };
    let micros = |micros: i64| Usd::from_nanos(micros * 1000);
    assert_eq!(
        price.of(&usage(100_000, 80_000, 10_000, 1000)),
        micros(30_000 + 24_000 + 37_500 + 15_000 + 1000)
    );
    assert_eq!(
        price.of(&usage(200_000, 0, 0, 0)),
        micros(1_200_000 + 1000),
        "long prompts"
    );
    assert_eq!(openrouter[1].price, None, "a negative price means unknown");

    let llama =
        read_models(&json!({"models": [], "data": [{"id": "smol", "meta": {"n_ctx": 2048}}]}));
    assert_eq!((llama[0].context, &llama[0].price), (Some(2048), &None));
    let vllm = read_models(&json!({"data": [{"id": "q", "max_model_len": 32768}]}));
    assert_eq!(vllm[0].context, Some(32_768));
    for nothing in [json!(null), json!({"data": 3}), json!([1, "x"])] {
        assert!(read_models(&nothing).is_empty());
    }
}

#[tokio::test]
async fn a_kept_list_saves_the_question_and_survives_an_outage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models.json");
    let list =
        json!({"data": [{"id": "m", "pricing": {"prompt": "0.000001", "completion": "0.000002"}}]});
    let server = Server::start(vec![json_body(200, list), json_body(503, "down")]).await;
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let at = |seconds: i64| {
        start
            .checked_add(jiff::SignedDuration::from_secs(seconds))
            .unwrap()
    };
    let hour = Duration::from_secs(3600);

    let first = server.client(EndpointKind::Openrouter);
    let fetched = first.models_kept(&path, at(0), hour).await.unwrap();
    assert_eq!((fetched.models.len(), server.asked().len()), (1, 1));

    let second = server.client(EndpointKind::Openrouter);
    assert_eq!(
        second.models_kept(&path, at(60), hour).await.unwrap(),
        fetched
    );
    assert_eq!(
        server.asked().len(),
        1,
        "no question while the copy is fresh"
    );
    assert_eq!(
        second.reserve_price("m").output,
        Usd::from_cents(200),
        "its prices are known"
    );

    let third = server.client(EndpointKind::Openrouter);
    assert_eq!(
        third.models_kept(&path, at(7200), hour).await.unwrap(),
        fetched,
        "better old than none"
    );
    assert_eq!(server.asked().len(), 2);
    let elsewhere = folder.path().join("none.json");
    let error = third
        .models_kept(&elsewhere, at(0), hour)
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::Overloaded);
}
