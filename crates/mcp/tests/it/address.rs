//! Servers at an address, by streamable HTTP.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect, Response},
    routing::post,
};
use butler_mcp::{McpError, Reach, Server, ServerSpec, Times};
use butler_protocol::Secret;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

/// A method, and the header that came with it.
type Seen = (String, Option<String>);

#[derive(Clone, Default)]
struct Place {
    modern: bool,
    /// What came.
    seen: Arc<Mutex<Vec<Seen>>>,
}

async fn answer(
    State(place): State<Place>,
    headers: HeaderMap,
    Json(message): Json<Value>,
) -> Response {
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    let key = headers.get("x-key").and_then(|key| key.to_str().ok());
    place
        .seen
        .lock()
        .unwrap()
        .push((method.clone(), key.map(str::to_owned)));
    if message.get("id").is_none() {
        return StatusCode::ACCEPTED.into_response();
    }
    let info = json!({"name": "far", "version": "1"});
    let result = match (method.as_str(), place.modern) {
        ("initialize", true) => {
            let error = json!({"code": -32022, "message": "unsupported protocol version"});
            return Json(json!({"jsonrpc": "2.0", "id": message["id"], "error": error}))
                .into_response();
        }
        ("initialize", false) => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info
        }),
        ("server/discover", true) => json!({
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": info,
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private"
        }),
        ("tools/list", _) => {
            json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})
        }
        ("tools/call", _) if message["params"]["arguments"]["word"] == "sleep" => {
            tokio::time::sleep(Duration::from_secs(60)).await;
            json!({})
        }
        ("tools/call", _) => {
            let text = message["params"]["arguments"]["word"].clone();
            json!({"content": [{"type": "text", "text": text}]})
        }
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
}

/// Serves until the test ends.
async fn serve(place: Place) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let moved = move || async move { Redirect::temporary(&format!("http://{address}/mcp")) };
    let router = Router::new()
        .route("/mcp", post(answer))
        .route("/moved", post(moved))
        .with_state(place);
    drop(tokio::spawn(
        async move { axum::serve(listener, router).await },
    ));
    address
}

fn server(url: String) -> Server {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(butler_tls::plain())
        .redirect(reqwest::redirect::Policy::none());
    Server::new(ServerSpec {
        name: "far".into(),
        reach: Reach::Address {
            client: client.build().unwrap(),
            url,
            headers: vec![("x-key".into(), Secret::new("only there"))],
        },
        times: Times {
            start: Duration::from_secs(10),
            call: Duration::from_secs(2),
            ..Times::default()
        },
        accepted: None,
    })
}

async fn say(server: &Server, word: &str) -> Result<String, McpError> {
    let arguments = Map::from_iter([("word".to_owned(), word.into())]);
    let cancel = CancellationToken::new();
    let answer = server.call("echo", arguments, None, &cancel, None);
    answer.await.map(|answer| answer.text)
}

#[tokio::test]
async fn both_eras_are_spoken_and_the_headers_go_along() {
    for modern in [false, true] {
        let place = Place {
            modern,
            ..Place::default()
        };
        let address = serve(place.clone()).await;
        let server = server(format!("http://{address}/mcp"));
        let listing = server.listing(None).await.unwrap();
        assert_eq!(listing.tools.len(), 1);
        // An address says another version when it likes.
        assert_eq!(listing.version, "");
        assert_eq!(say(&server, "hello").await.unwrap(), "hello");
        server.end().await;
        let seen = place.seen.lock().unwrap();
        assert!(
            seen.iter()
                .all(|(_, key)| key.as_deref() == Some("only there")),
            "{seen:?}"
        );
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_silence_is_told() {
    let place = Place::default();
    let address = serve(place.clone()).await;
    let moved = server(format!("http://{address}/moved"));
    assert!(matches!(
        say(&moved, "x").await,
        Err(McpError::Start { .. })
    ));
    assert_eq!(place.seen.lock().unwrap().len(), 0);
    let silent = server(format!("http://{address}/mcp"));
    let error = say(&silent, "sleep").await.unwrap_err();
    assert!(matches!(error, McpError::TimedOut { .. }), "{error}");
    let nobody = server("http://127.0.0.1:9/mcp".to_owned());
    let error = say(&nobody, "x").await.unwrap_err().to_string();
    assert!(error.contains("could not be started"), "{error}");
    assert!(!error.contains("only there"), "{error}");
}
