//! The fitness probes, against a server that sees, cuts or refuses.

use axum::{Json, Router, routing::post};
use butler_model::{ClientConfig, Endpoint, EndpointKind, ModelClient, WindowFitness};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A server with a window of so many bytes that silently cuts the front, and
/// that does what the end of the prompt asks for.
async fn client(window: usize, tools: bool) -> ModelClient {
    let handler = move |Json(body): Json<Value>| async move {
        let text = body["messages"][0]["content"].as_str().unwrap();
        let seen = &text[text.len().saturating_sub(window)..];
        let after = |mark: &str| {
            let (_, rest) = seen.split_once(mark)?;
            rest.split(|c: char| !c.is_ascii_alphabetic()).next()
        };
        let message = match (after("with the word "), after("The code word is ")) {
            (Some(word), _) if tools => json!({"content": null, "tool_calls": [
                {"id": "x", "function": {"name": "Note", "arguments": {"word": word}}}]}),
            (_, Some(word)) => json!({"content": format!("It is {word}.")}),
            _ => json!({"content": "I would call a tool, if I knew how."}),
        };
        Json(json!({"choices": [{"message": message, "finish_reason": "stop"}]}))
    };
    let router = Router::new().route("/chat/completions", post(handler));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    ModelClient::new(ClientConfig::new(Endpoint::new(EndpointKind::Generic, url))).unwrap()
}

#[tokio::test]
async fn a_model_that_calls_tools_is_told_from_one_that_talks() {
    let none = CancellationToken::new();
    let fit = client(100_000, true)
        .await
        .probe_tools("m", 0x1234, &none)
        .await
        .unwrap();
    assert!(fit.calls_tools && fit.gives_arguments, "{fit:?}");
    let unfit = client(100_000, false)
        .await
        .probe_tools("m", 0x1234, &none)
        .await
        .unwrap();
    assert!(!unfit.calls_tools && unfit.instead.is_some(), "{unfit:?}");
}

#[tokio::test]
async fn a_window_that_is_cut_silently_is_found() {
    let none = CancellationToken::new();
    let client = client(10_000, true).await;
    assert_eq!(
        client.probe_window("m", 1_000, 7, &none).await.unwrap(),
        WindowFitness::Whole
    );
    assert_eq!(
        client.probe_window("m", 8_000, 7, &none).await.unwrap(),
        WindowFitness::Blind
    );
}
