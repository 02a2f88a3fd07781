//! An endpoint for voice, as OpenAI and OpenRouter have it: recordings to text. What it
//! says, how it bills and when it refuses is set by the test.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Multipart, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

/// What endpoints take by their documentation.
const LARGEST: usize = 25 << 20;
const ENDINGS: [&str; 9] = [
    "flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm",
];

/// The stand-in; it ends with this value.
pub struct MediaStandIn {
    base: String,
    shared: Arc<Mutex<Inside>>,
    serving: JoinHandle<()>,
}

struct Inside {
    says: String,
    usage: Value,
    refusal: Option<(u16, Value)>,
    /// Whether it takes its time.
    slow: watch::Sender<bool>,
    asked: Vec<(String, usize)>,
}

impl MediaStandIn {
    /// The key that it wants.
    pub const KEY: &'static str = "media-key";

    /// Serves on a free port. It answers with `says`, billed by the second.
    ///
    /// # Panics
    /// When there is no port.
    pub async fn start(says: &str) -> Self {
        let shared = Arc::new(Mutex::new(Inside {
            says: says.to_owned(),
            usage: json!({"type": "duration", "seconds": 60.0}),
            refusal: None,
            slow: watch::Sender::new(false),
            asked: Vec::new(),
        }));
        let router = Router::new()
            .route("/v1/audio/transcriptions", post(transcribe))
            .layer(DefaultBodyLimit::max(2 * LARGEST))
            .with_state(Arc::clone(&shared));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!(
            "http://{}/v1",
            listener.local_addr().expect("its own address")
        );
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self {
            base,
            shared,
            serving,
        }
    }

    /// Its address, as a configuration has it.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base
    }

    /// How the next answers are billed: `usage` as the endpoint sends it.
    pub fn bill(&self, usage: Value) {
        lock(&self.shared).usage = usage;
    }

    /// What it hears in the next recordings.
    pub fn says(&self, words: &str) {
        words.clone_into(&mut lock(&self.shared).says);
    }

    /// Whether the next answers wait until this is said to be over.
    pub fn slow(&self, slow: bool) {
        lock(&self.shared).slow.send_replace(slow);
    }

    /// The next answers are this error.
    pub fn refuse(&self, status: u16, message: &str) {
        lock(&self.shared).refusal = Some((status, json!({"error": {"message": message}})));
    }

    /// Who was asked about how many bytes, oldest first.
    #[must_use]
    pub fn asked(&self) -> Vec<(String, usize)> {
        lock(&self.shared).asked.clone()
    }
}

impl Drop for MediaStandIn {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn lock(shared: &Mutex<Inside>) -> MutexGuard<'_, Inside> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).expect("a status of HTTP")
}

fn no(status: u16, message: &str) -> Response {
    let body = json!({"error": {"message": message, "type": "invalid_request_error"}});
    (code(status), Json(body)).into_response()
}

async fn transcribe(
    State(shared): State<Arc<Mutex<Inside>>>,
    headers: HeaderMap,
    mut form: Multipart,
) -> Response {
    let key = format!("Bearer {}", MediaStandIn::KEY);
    if headers
        .get("authorization")
        .is_none_or(|given| given != key.as_str())
    {
        return no(401, "Incorrect API key provided");
    }
    let (mut model, mut format, mut file) = (String::new(), String::new(), None);
    while let Some(field) = form.next_field().await.expect("a form") {
        let name = field.name().unwrap_or_default().to_owned();
        let file_name = field.file_name().map(str::to_owned);
        let bytes = field.bytes().await.expect("a whole form");
        let text = || String::from_utf8_lossy(&bytes).into_owned();
        match name.as_str() {
            "model" => model = text(),
            "response_format" => format = text(),
            "file" => file = file_name.map(|name| (name, bytes.len())),
            other => return no(400, &format!("Unrecognized request argument: {other}")),
        }
    }
    let Some((name, size)) = file else {
        return no(400, "you must provide a file with a name");
    };
    // The name decides what it is, not its bytes.
    let ending = name.rsplit_once('.').map_or("", |(_, end)| end);
    if !ENDINGS.contains(&ending) {
        return no(
            400,
            &format!("Invalid file format. Supported formats: {ENDINGS:?}"),
        );
    }
    if size > LARGEST {
        return no(413, "Maximum content size limit (26214400) exceeded");
    }
    if model.is_empty() || format != "json" {
        return no(400, "model and response_format json are needed");
    }
    let mut slow = {
        let mut inside = lock(&shared);
        inside.asked.push((model, size));
        inside.slow.subscribe()
    };
    if slow.wait_for(|slow| !slow).await.is_err() {
        return no(503, "gone");
    }
    let inside = lock(&shared);
    if let Some((status, body)) = &inside.refusal {
        return (code(*status), Json(body.clone())).into_response();
    }
    Json(json!({"text": inside.says, "usage": inside.usage})).into_response()
}
