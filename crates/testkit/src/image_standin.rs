//! Endpoints that make pictures: OpenAI's images interface, which local servers speak too,
//! and OpenRouter's chat with pictures in it. Answers with base64, an address or a queue;
//! how it bills and when it refuses is set by the test.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Multipart, Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use data_encoding::BASE64;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

/// The stand-in; it ends with this value.
pub struct ImageStandIn {
    host: String,
    shared: Arc<Mutex<Inside>>,
    serving: JoinHandle<()>,
}

/// How a picture comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// In the answer.
    Base64,
    /// Behind an address on the same host.
    Address,
    /// Behind an address on another host.
    AddressElsewhere,
    /// After so many looks at its queue.
    Queue(u32),
}

struct Inside {
    host: String,
    picture: Vec<u8>,
    answers: Answers,
    usage: Value,
    refusal: Option<(u16, String)>,
    asked: Vec<Value>,
    keys_at_addresses: usize,
}

impl ImageStandIn {
    /// The key that it wants.
    pub const KEY: &'static str = "image-key";

    /// Serves on a free port; every picture is this one.
    ///
    /// # Panics
    /// When there is no port.
    pub async fn start(picture: &[u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let host = format!("http://{}", listener.local_addr().expect("its own address"));
        let shared = Arc::new(Mutex::new(Inside {
            host: host.clone(),
            picture: picture.to_vec(),
            answers: Answers::Base64,
            usage: Value::Null,
            refusal: None,
            asked: Vec::new(),
            keys_at_addresses: 0,
        }));
        let router = Router::new()
            .route("/v1/images/generations", post(generate))
            .route("/v1/images/generations/{id}", get(queue))
            .route("/v1/images/edits", post(edit))
            .route("/v1/chat/completions", post(chat))
            .route("/made/{id}", get(made))
            .layer(DefaultBodyLimit::max(50 << 20))
            .with_state(Arc::clone(&shared));
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self {
            host,
            shared,
            serving,
        }
    }

    /// Its address, as a configuration has it.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.host)
    }

    /// How the next pictures come back, and how they are billed.
    pub fn answer(&self, answers: Answers, usage: Value) {
        let mut inside = lock(&self.shared);
        (inside.answers, inside.usage) = (answers, usage);
    }

    /// The next answers are this error.
    pub fn refuse(&self, status: u16, message: &str) {
        lock(&self.shared).refusal = Some((status, message.to_owned()));
    }

    /// What was asked for, oldest first: the body, or the fields of the form.
    #[must_use]
    pub fn asked(&self) -> Vec<Value> {
        lock(&self.shared).asked.clone()
    }

    /// How often a key was shown where a picture is fetched from.
    #[must_use]
    pub fn keys_at_addresses(&self) -> usize {
        lock(&self.shared).keys_at_addresses
    }
}

impl Drop for ImageStandIn {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

type Shared = State<Arc<Mutex<Inside>>>;

fn lock(shared: &Mutex<Inside>) -> MutexGuard<'_, Inside> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn no(status: u16, message: &str) -> Response {
    let body = json!({"error": {"message": message, "type": "invalid_request_error"}});
    let status = StatusCode::from_u16(status).expect("a status of HTTP");
    (status, Json(body)).into_response()
}

/// Whoever has no key, and whoever asks while it refuses, is told so.
fn refused(inside: &Inside, headers: &HeaderMap) -> Option<Response> {
    let key = format!("Bearer {}", ImageStandIn::KEY);
    if headers
        .get("authorization")
        .is_none_or(|given| given != key.as_str())
    {
        return Some(no(401, "Incorrect API key provided"));
    }
    let (status, message) = inside.refusal.as_ref()?;
    Some(no(*status, message))
}

fn answer(inside: &Inside) -> Response {
    let image = match inside.answers {
        Answers::Base64 => json!({"b64_json": BASE64.encode(&inside.picture)}),
        Answers::Address => json!({"url": format!("{}/made/1.png", inside.host)}),
        Answers::AddressElsewhere => json!({"url": "http://127.0.0.1:9/made/1.png"}),
        Answers::Queue(0) => json!({"b64_json": BASE64.encode(&inside.picture)}),
        Answers::Queue(_) => {
            return Json(json!({"id": "job-1", "status": "queued"})).into_response();
        }
    };
    Json(json!({"created": 1, "data": [image], "usage": inside.usage})).into_response()
}

async fn generate(State(shared): Shared, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    let mut inside = lock(&shared);
    if let Some(no) = refused(&inside, &headers) {
        return no;
    }
    // As image models of OpenAI have it.
    if body.get("response_format").is_some() {
        return no(400, "Unknown parameter: 'response_format'.");
    }
    inside.asked.push(body);
    answer(&inside)
}

async fn queue(State(shared): Shared, headers: HeaderMap, Path(_): Path<String>) -> Response {
    let mut inside = lock(&shared);
    if let Some(no) = refused(&inside, &headers) {
        return no;
    }
    if let Answers::Queue(left) = inside.answers {
        inside.answers = Answers::Queue(left.saturating_sub(1));
    }
    answer(&inside)
}

async fn edit(State(shared): Shared, headers: HeaderMap, mut form: Multipart) -> Response {
    let mut fields = json!({"images": []});
    while let Some(field) = form.next_field().await.expect("a form") {
        let name = field.name().unwrap_or_default().to_owned();
        let file = field.file_name().map(str::to_owned);
        let kind = field.content_type().map(str::to_owned);
        let bytes = field.bytes().await.expect("a whole form");
        match (name.as_str(), file, kind) {
            ("image" | "image[]", Some(file), Some(kind)) => {
                let image = json!({"field": name, "name": file, "type": kind, "size": bytes.len()});
                fields["images"].as_array_mut().expect("a list").push(image);
            }
            ("model" | "prompt" | "size", None, _) => {
                fields[&name] = json!(String::from_utf8_lossy(&bytes));
            }
            _ => return no(400, &format!("Invalid part: {name}")),
        }
    }
    let mut inside = lock(&shared);
    if let Some(no) = refused(&inside, &headers) {
        return no;
    }
    inside.asked.push(fields);
    answer(&inside)
}

async fn chat(State(shared): Shared, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    let mut inside = lock(&shared);
    if let Some((_, message)) = &inside.refusal {
        // The 200 is on its way before OpenRouter knows.
        return Json(json!({"error": {"code": 400, "message": message}})).into_response();
    }
    if let Some(no) = refused(&inside, &headers) {
        return no;
    }
    if body["modalities"] != json!(["image", "text"]) {
        return no(400, "this model needs modalities image and text");
    }
    inside.asked.push(body);
    let url = format!("data:image/png;base64,{}", BASE64.encode(&inside.picture));
    let message = json!({"role": "assistant", "content": "Here it is.", "images":
        [{"type": "image_url", "image_url": {"url": url}}]});
    let answer = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": inside.usage});
    // Blanks keep the connection alive while the model works.
    format!("      \n      \n{answer}").into_response()
}

async fn made(State(shared): Shared, headers: HeaderMap) -> Response {
    let mut inside = lock(&shared);
    inside.keys_at_addresses += usize::from(headers.contains_key("authorization"));
    inside.picture.clone().into_response()
}
