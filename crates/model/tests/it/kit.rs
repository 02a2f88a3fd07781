//! A server that answers from a list, and notes what it was asked.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode},
};
use butler_model::{
    ClientConfig, Endpoint, EndpointKind, ModelClient, ModelError, ModelRequest, Pace,
};
use butler_protocol::{CallId, ModelMessage, ModelReply, ToolCall, ToolSpec};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// One answer of the server.
#[derive(Clone)]
pub(crate) struct Canned {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

pub(crate) fn stream(body: &str) -> Canned {
    canned(200, "text/event-stream", body)
}

pub(crate) fn json_body(status: u16, body: impl std::fmt::Display) -> Canned {
    canned(status, "application/json", &format!("{body}"))
}

pub(crate) fn canned(status: u16, kind: &str, body: &str) -> Canned {
    Canned {
        status,
        headers: vec![("content-type", kind.to_owned())],
        body: body.to_owned(),
    }
}

/// What the server was asked.
#[derive(Clone)]
pub(crate) struct Asked {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
}

#[derive(Clone, Default)]
struct Answers {
    answers: Arc<Mutex<VecDeque<Canned>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// The server; it ends with the test's runtime.
pub(crate) struct Server {
    pub url: String,
    server: Answers,
}

impl Server {
    /// Answers in order; the last answer is repeated.
    pub(crate) async fn start(answers: Vec<Canned>) -> Self {
        let server = Answers::default();
        server.answers.lock().unwrap().extend(answers);
        let router = Router::new().fallback(answer).with_state(server.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, server }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.server.asked.lock().unwrap().clone()
    }

    pub(crate) fn config(&self, kind: EndpointKind) -> ClientConfig {
        let mut config = ClientConfig::new(Endpoint::new(kind, self.url.parse().unwrap()));
        config.retry.pace = Pace::new(|_| std::future::ready(()), || 0.0);
        config
    }

    pub(crate) fn client(&self, kind: EndpointKind) -> ModelClient {
        ModelClient::new(self.config(kind)).unwrap()
    }
}

async fn answer(State(server): State<Answers>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    server.asked.lock().unwrap().push(Asked {
        path: parts.uri.path().to_owned(),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    });
    let mut answers = server.answers.lock().unwrap();
    let next = if answers.len() > 1 {
        answers.pop_front()
    } else {
        answers.front().cloned()
    };
    let next = next.unwrap();
    let mut response = Response::new(Body::from(next.body));
    *response.status_mut() = StatusCode::from_u16(next.status).unwrap();
    for (name, value) in next.headers {
        let name = HeaderName::from_static(name);
        response
            .headers_mut()
            .insert(name, HeaderValue::try_from(value).unwrap());
    }
    response
}

/// Asks once.
pub(crate) async fn ask(
    client: &ModelClient,
    request: &ModelRequest,
) -> Result<ModelReply, ModelError> {
    client
        .complete(request, &CancellationToken::new(), None)
        .await
}

pub(crate) fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("{name} something"),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    }
}

pub(crate) fn user(text: &str) -> ModelMessage {
    ModelMessage::User {
        text: text.into(),
        images: Vec::new(),
    }
}

pub(crate) fn system(text: &str) -> ModelMessage {
    ModelMessage::System { text: text.into() }
}

pub(crate) fn result(id: &str, text: &str) -> ModelMessage {
    ModelMessage::Tool {
        call: CallId::new(id),
        text: text.into(),
    }
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: CallId::new(id),
        name: name.into(),
        arguments,
        problem: None,
    }
}

pub(crate) fn assistant(
    text: Option<&str>,
    calls: Vec<ToolCall>,
    reasoning: Option<Value>,
) -> ModelMessage {
    ModelMessage::Assistant {
        text: text.map(str::to_owned),
        calls,
        reasoning,
    }
}

/// A question with the tools that the fixtures call.
pub(crate) fn question(model: &str) -> ModelRequest {
    let mut request = ModelRequest::new(model, vec![system("be brief"), user("add 2 and 3")]);
    request.tools = [tool("add"), tool("read_file")].into();
    request
}
