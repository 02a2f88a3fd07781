//! Calls that are answered late, oddly, or not at all.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    extract::Path,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::any,
};
use butler_protocol::{Secret, ThreadId};
use butler_slack::{SharedEpoch, SlackError, Web};
use serde_json::json;
use url::Url;

/// Serves `answer(method, how often it was called before)`.
async fn serve(answer: fn(&str, usize) -> Response) -> (Url, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let router = Router::new().route(
        "/api/{method}",
        any(move |Path(method): Path<String>| async move {
            answer(&method, counter.fetch_add(1, Ordering::SeqCst))
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url.parse().unwrap(), calls)
}

fn web(base: &Url) -> Web {
    Web::new(base, Secret::new("t"), SharedEpoch::default()).unwrap()
}

fn fine() -> Response {
    axum::Json(json!({"ok": true, "x": 1})).into_response()
}

#[tokio::test]
async fn limits_and_failures_are_waited_out() {
    let (base, calls) = serve(|_, before| match before {
        0 => (
            StatusCode::TOO_MANY_REQUESTS,
            [("retry-after", "0")],
            "slow down",
        )
            .into_response(),
        1 => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        _ => fine(),
    })
    .await;
    let answer = web(&base).call("auth.test", json!({})).await.unwrap();
    assert_eq!(answer["x"], 1);
    assert_eq!(calls.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_no_is_not_repeated_and_keeps_its_name() {
    let (base, calls) = serve(|_, _| {
        axum::Json(json!({"ok": false, "error": "channel_not_found"})).into_response()
    })
    .await;
    let error = web(&base)
        .call("chat.postMessage", json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some("channel_not_found"));
    assert!(error.to_string().contains("chat.postMessage"), "{error}");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_is_no_answer_says_so() {
    let (base, _) = serve(|_, _| "<html>log in</html>".into_response()).await;
    let error = web(&base).call("auth.test", json!({})).await.unwrap_err();
    assert!(matches!(error, SlackError::Answer { .. }), "{error}");

    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let base: Url = format!("http://{address}").parse().unwrap();
    let error = web(&base)
        .with_patience(Duration::ZERO)
        .call("auth.test", json!({}))
        .await
        .unwrap_err();
    assert!(matches!(error, SlackError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn pages_are_read_to_the_end_and_a_repeated_root_counts_once() {
    let (base, _) = serve(|_, before| {
        let reply = |n: usize| json!({"ts": format!("1700000000.00000{n}"), "text": n.to_string()});
        let next = ["a", "b", ""][before];
        axum::Json(
            json!({"ok": true, "messages": [reply(0), reply(before + 1)],
            "response_metadata": {"next_cursor": next}}),
        )
        .into_response()
    })
    .await;
    let thread: ThreadId = "C1/1700000000.000000".parse().unwrap();
    let all = web(&base).replies(&thread).await.unwrap();
    let texts: Vec<_> = all.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["0", "1", "2", "3"]);
}

#[test]
fn an_address_without_a_host_is_refused() {
    let base: Url = "data:text/plain,x".parse().unwrap();
    let refused = Web::new(&base, Secret::new("t"), SharedEpoch::default());
    assert!(matches!(refused, Err(SlackError::Address { .. })));
}
