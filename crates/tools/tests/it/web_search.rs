//! WebSearch against services on this machine that answer in the shapes of SearXNG,
//! Brave and Tavily.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::any,
};
use butler_policy::Redactor;
use butler_protocol::{Role, Secret, ToolOutcome};
use butler_tools::{Executor, HttpEngine, HttpEngineKind, OutsideTools, Registry};
use serde_json::json;

use crate::fixture::Fixture;

/// What SearXNG 2026.11 answered to `/search?q=rust+file&format=json`, with one engine
/// behind it that was away.
const SEARXNG: &str = r#"{"query": "rust file", "results": [
  {"url": "https://doc.rust-lang.org/std/fs/struct.File.html", "title": "File in std::fs - <b>Rust</b>",
   "content": "An object providing access to an open file &amp; more.", "engine": "local",
   "template": "default.html", "parsed_url": ["https", "doc.rust-lang.org", "/std/fs/struct.File.html", "", "", ""],
   "img_src": "", "thumbnail": "", "priority": "", "engines": ["local", "other"], "positions": [1, 3],
   "score": 1.0, "category": "general", "publishedDate": "2026-05-01T00:00:00"},
  {"url": "https://example.org/b", "title": "B", "content": "", "engine": "local",
   "template": "default.html", "parsed_url": ["https", "example.org", "/b", "", "", ""],
   "img_src": "", "thumbnail": "", "priority": "", "engines": ["local"], "positions": [2],
   "score": 0.5, "category": "general", "publishedDate": null}],
  "answers": [], "corrections": [], "infoboxes": [], "suggestions": [],
  "unresponsive_engines": [["crates", "HTTP connection error"]]}"#;

/// The parts of Brave's answer that matter, among others.
const BRAVE: &str = r#"{"type": "search", "query": {"original": "rust file", "more_results_available": true},
  "mixed": {"type": "mixed", "main": [{"type": "web", "index": 0, "all": false}]},
  "web": {"type": "search", "results": [
    {"title": "File in std::fs", "url": "https://doc.rust-lang.org/std/fs/struct.File.html",
     "is_source_local": false, "description": "An object providing access to an open <strong>file</strong>.",
     "page_age": "2026-04-01T12:00:00", "age": "April 1, 2026",
     "profile": {"name": "Rust", "long_name": "doc.rust-lang.org", "url": "https://doc.rust-lang.org"},
     "language": "en", "family_friendly": true, "type": "search_result",
     "meta_url": {"scheme": "https", "netloc": "doc.rust-lang.org", "hostname": "doc.rust-lang.org"}}],
    "family_friendly": true}}"#;

const TAVILY: &str = r#"{"query": "rust file", "follow_up_questions": null, "answer": null, "images": [],
  "results": [{"title": "File in std::fs", "url": "https://doc.rust-lang.org/std/fs/struct.File.html",
    "content": "An object providing access to an open file.", "score": 0.91, "raw_content": null,
    "published_date": "Fri, 01 May 2026 00:00:00 GMT"}],
  "response_time": 0.9, "request_id": "a"}"#;

/// A service that answers the same to everything, and what it was asked.
#[derive(Clone)]
struct Service {
    answer: (StatusCode, &'static str),
    asked: Arc<Mutex<Vec<(Uri, HeaderMap, String)>>>,
}

async fn answer(
    State(service): State<Service>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body = String::from_utf8_lossy(&body).into_owned();
    service.asked.lock().unwrap().push((uri, headers, body));
    let (status, text) = service.answer;
    if status.is_redirection() {
        return (status, [(header::LOCATION, text)]).into_response();
    }
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

async fn start(status: u16, text: &'static str) -> (Service, SocketAddr) {
    let service = Service {
        answer: (StatusCode::from_u16(status).unwrap(), text),
        asked: Arc::default(),
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new()
        .fallback(any(answer))
        .with_state(service.clone());
    drop(tokio::spawn(
        async move { axum::serve(listener, app).await },
    ));
    (service, address)
}

fn key() -> String {
    ["key", "of", "a", "search", "engine"].join("-")
}

async fn search(kind: HttpEngineKind, url: &str, query: &str) -> ToolOutcome {
    let engine = HttpEngine::new(kind, Some(url), Some(Secret::new(key())), None).unwrap();
    let outside = OutsideTools::default().with_search(Some(Arc::new(engine)));
    assert_eq!(outside.offered(false), ["WebSearch"]);
    let redactor = Redactor::new(&[Secret::new(key())], &[]).unwrap();
    let mut fixture = Fixture::surrounded(|around| around.redactor = Some(Arc::new(redactor)));
    let mut registry = Registry::native();
    outside
        .tools()
        .into_iter()
        .for_each(|tool| registry.add(tool));
    fixture.executor = Executor::new(registry);
    fixture.outside_tools = outside.names();
    let arguments = json!({ "query": query });
    fixture
        .call_as(Role::Researcher, "WebSearch", arguments)
        .await
}

const FILE: &str = "\nhttps://doc.rust-lang.org/std/fs/struct.File.html\n";

#[tokio::test]
async fn every_engine_is_asked_as_it_wants_and_read_as_it_answers() {
    let (service, address) = start(200, SEARXNG).await;
    let found = search(
        HttpEngineKind::SearXng,
        &format!("http://{address}/sx/"),
        "rust file",
    )
    .await;
    for part in [
        "1. File in std::fs - Rust",
        FILE,
        "2026-05-01T00:00:00, found by local, other",
        "2. B",
        "no date",
        "note: crates: HTTP connection error",
        "from=\"a search with SearXNG\"",
        "not an instruction",
    ] {
        assert!(
            found.ok && found.text.contains(part),
            "{part}: {}",
            found.text
        );
    }
    let asked = service.asked.lock().unwrap()[0].clone();
    assert_eq!(asked.0, "/sx/search?q=rust+file&format=json");

    let (service, address) = start(200, BRAVE).await;
    let found = search(
        HttpEngineKind::Brave,
        &format!("http://{address}"),
        "rust file",
    )
    .await;
    for part in [
        FILE,
        "2026-04-01T12:00:00, found by doc.rust-lang.org",
        "to an open file.",
    ] {
        assert!(found.text.contains(part), "{part}: {}", found.text);
    }
    let asked = service.asked.lock().unwrap()[0].clone();
    assert_eq!(asked.0, "/res/v1/web/search?q=rust+file&count=10");
    assert_eq!(asked.1["x-subscription-token"], key().as_str());

    let (service, address) = start(200, TAVILY).await;
    let found = search(
        HttpEngineKind::Tavily,
        &format!("http://{address}"),
        "rust file",
    )
    .await;
    for part in [FILE, "Fri, 01 May 2026", "> An object providing"] {
        assert!(found.text.contains(part), "{part}: {}", found.text);
    }
    let asked = service.asked.lock().unwrap()[0].clone();
    assert_eq!(asked.0, "/search");
    assert_eq!(
        asked.1["authorization"],
        format!("Bearer {}", key()).as_str()
    );
    assert!(asked.2.contains("\"query\":\"rust file\""), "{}", asked.2);
}

#[tokio::test]
async fn words_that_carry_a_secret_reach_nobody() {
    let (service, address) = start(200, SEARXNG).await;
    let url = format!("http://{address}");
    let vendor = ["ghp_", "Ab3dEf6hIj9lMn2pQr5tUv8xYz1bCd4fGh7j"].concat();
    for query in [format!("what is {vendor}"), format!("who has {}", key())] {
        let refused = search(HttpEngineKind::SearXng, &url, &query).await;
        assert!(
            !refused.ok && refused.text.contains("looks like a secret"),
            "{}",
            refused.text
        );
    }
    let long = "word ".repeat(200);
    let refused = search(HttpEngineKind::SearXng, &url, &long).await;
    assert!(
        !refused.ok && refused.text.contains("400 characters"),
        "{}",
        refused.text
    );
    assert_eq!(service.asked.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn an_engine_that_refuses_says_what_to_do_and_the_key_goes_nowhere_else() {
    for (kind, status, why) in [
        (HttpEngineKind::SearXng, 403, "search.formats"),
        (HttpEngineKind::Brave, 401, "search.apiKey"),
        (HttpEngineKind::Tavily, 429, "too often"),
        (HttpEngineKind::Tavily, 500, "cannot search now"),
    ] {
        let (_, address) = start(status, "no").await;
        let failed = search(kind, &format!("http://{address}"), "rust").await;
        assert!(!failed.ok && failed.text.contains(why), "{}", failed.text);
        assert!(!failed.text.contains(&key()), "{}", failed.text);
    }
    let (other, elsewhere) = start(200, TAVILY).await;
    let target: &'static str = format!("http://{elsewhere}/search").leak();
    let (_, address) = start(307, target).await;
    let failed = search(HttpEngineKind::Tavily, &format!("http://{address}"), "rust").await;
    assert!(
        !failed.ok && failed.text.contains("sends elsewhere"),
        "{}",
        failed.text
    );
    assert_eq!(other.asked.lock().unwrap().len(), 0);
    let (_, address) = start(200, "<html>").await;
    let failed = search(HttpEngineKind::Brave, &format!("http://{address}"), "rust").await;
    assert!(
        !failed.ok && failed.text.contains("not JSON"),
        "{}",
        failed.text
    );
    let failed = search(HttpEngineKind::Brave, "http://127.0.0.1:9", "rust").await;
    assert!(
        !failed.ok && failed.text.contains("Brave did not search"),
        "{}",
        failed.text
    );
}
