//! Parks each model request as a file and waits for an answer file, so that a
//! person, or any model reached by hand, plays the model through the real
//! product.
//!
//! ```text
//! <dir>/waiting/<role>-<id>.md     a request; gone when it is answered or given up
//! <dir>/answers/<role>-<id>.yaml   write this: plain text, or say/call (see the request)
//! <dir>/answers/<role>-<id>.problem   what was wrong with an answer; correct the .yaml
//! ```
//!
//! The id is made from the request, so an agent that was killed and asks again
//! gets the answer that is already there. `scripts/mailbox.sh` lists and answers.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{Response, header},
    routing::{get, post},
};
use butler_model::wire::Chat;
use butler_protocol::{Role, Sha256Hex};
use futures_util::stream;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    answer::{Answer, Part, answer},
    manual_request,
    server::{self, Serving},
};

/// How often the folder is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// A sign of life for the client's idle timer, every so many looks.
const LOOKS_PER_SIGN: u32 = 25;

/// A mailbox folder that could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ManualModelError {
    /// The folder cannot be used.
    #[error("mailbox folder {path}")]
    Folder { path: PathBuf, source: io::Error },
    /// The port cannot be used.
    #[error("mailbox cannot listen on {address}")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
}

/// An open mailbox. It closes when its token is cancelled or it is dropped.
#[derive(Debug)]
pub struct ManualModel(Serving);

/// Opens a mailbox in `dir`, serving on `listen`.
/// Errors: [`ManualModelError`] naming the folder or the address.
pub async fn manual_model(
    dir: &Path,
    listen: SocketAddr,
    cancel: CancellationToken,
) -> Result<ManualModel, ManualModelError> {
    for folder in ["waiting", "answers"] {
        let path = dir.join(folder);
        let made = tokio::fs::create_dir_all(&path).await;
        made.map_err(|source| ManualModelError::Folder { path, source })?;
    }
    let cancel = cancel.child_token();
    let folder = Arc::new(Folder {
        dir: dir.to_owned(),
        cancel: cancel.clone(),
    });
    let router = Router::new()
        .route("/v1/models", get(models))
        .route("/v1/chat/completions", post(complete))
        .layer(axum::extract::DefaultBodyLimit::max(
            server::LARGEST_REQUEST,
        ))
        .with_state(folder);
    let serving = Serving::start(listen, cancel, router).await;
    let serving = serving.map_err(|source| ManualModelError::Listen {
        address: listen,
        source,
    })?;
    Ok(ManualModel(serving))
}

impl ManualModel {
    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// The base address for a model client.
    pub fn base_url(&self) -> String {
        self.0.base_url()
    }

    /// Closes it and waits until it has closed.
    pub async fn close(self) {
        self.0.stop().await;
    }
}

#[derive(Debug)]
struct Folder {
    dir: PathBuf,
    cancel: CancellationToken,
}

async fn models() -> Json<Value> {
    let models = Role::ALL.map(|role| {
        json!({"id": format!("mailbox/{role}"), "object": "model", "context_length": 200_000,
               "pricing": {"prompt": "0", "completion": "0"}, "supported_parameters": ["tools"]})
    });
    Json(json!({"object": "list", "data": models}))
}

async fn complete(State(folder): State<Arc<Folder>>, body: Bytes) -> Response<Body> {
    let read = serde_json::from_slice::<Value>(&body)
        .map_err(|error| error.to_string())
        .and_then(|body| Chat::read(&body).map_err(|error| error.to_string()));
    let chat = match read {
        Ok(chat) => chat,
        Err(problem) => {
            let refusal = Answer::refusal(400, "invalid_request", &problem);
            return server::respond(refusal, &folder.cancel);
        }
    };
    let parked = match Parked::park(&folder.dir, chat).await {
        Ok(parked) => parked,
        Err(error) => {
            let text = format!("the request cannot be parked: {error}");
            return server::respond(Answer::refusal(503, "mailbox", &text), &folder.cancel);
        }
    };
    let streams = parked.chat.stream;
    let waiting = Waiting::Looking { parked, looks: 0 };
    let cancel = folder.cancel.clone();
    let pieces = stream::unfold(waiting, move |waiting| {
        let cancel = cancel.clone();
        async move { waiting.next(&cancel).await }
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let kind = server::content_type(streams);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// A parked request. Its file goes away with it.
#[derive(Debug)]
struct Parked {
    chat: Chat,
    role: Role,
    waiting: PathBuf,
    answer: PathBuf,
    problem: PathBuf,
}

impl Parked {
    async fn park(dir: &Path, chat: Chat) -> io::Result<Self> {
        let word = chat.model.rsplit('/').next().unwrap_or_default();
        // Any model name may come in; the PM's chair is the one that is always there.
        let role = word.parse::<Role>().unwrap_or(Role::Pm);
        let told = serde_json::to_vec(&(&chat.model, &chat.messages))?;
        let id = format!("{role}-{}", &Sha256Hex::of(told).as_str()[..10]);
        let parked = Self {
            role,
            waiting: dir.join("waiting").join(format!("{id}.md")),
            answer: dir.join("answers").join(format!("{id}.yaml")),
            problem: dir.join("answers").join(format!("{id}.problem")),
            chat,
        };
        let page = manual_request::write_request(&id, &parked.chat);
        // Readers list `*.md`, so a half-written page must not have that name.
        let draft = parked.waiting.with_extension("draft");
        tokio::fs::write(&draft, page).await?;
        tokio::fs::rename(&draft, &parked.waiting).await?;
        Ok(parked)
    }

    /// The answer, when there is one that can be read.
    async fn look(&self) -> Option<crate::Played> {
        let text = tokio::fs::read_to_string(&self.answer).await.ok()?;
        match manual_request::read_answer(self.role, &text) {
            Ok(played) => {
                let _ = tokio::fs::remove_file(&self.problem).await;
                Some(played)
            }
            Err(problem) => {
                let known = tokio::fs::read_to_string(&self.problem).await;
                if known.ok().as_ref() != Some(&problem) {
                    // Whole or not at all: somebody may be watching for it.
                    let draft = self.problem.with_extension("problem.draft");
                    let _ = tokio::fs::write(&draft, &problem).await;
                    let _ = tokio::fs::rename(&draft, &self.problem).await;
                    tracing::warn!(file = %self.answer.display(), problem, "unreadable answer");
                }
                None
            }
        }
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.waiting);
    }
}

/// The body of an answer that is not there yet.
enum Waiting {
    Looking { parked: Parked, looks: u32 },
    Telling { parts: std::vec::IntoIter<Part> },
}

impl Waiting {
    async fn next(self, cancel: &CancellationToken) -> Option<(io::Result<Bytes>, Self)> {
        match self {
            Waiting::Telling { mut parts } => match parts.next()? {
                Part::Bytes(bytes) => Some((Ok(bytes.into()), Waiting::Telling { parts })),
                _ => None,
            },
            Waiting::Looking { parked, mut looks } => loop {
                if let Some(played) = parked.look().await {
                    let usage = json!({"prompt_tokens": 0, "completion_tokens": 0, "cost": 0});
                    let answer = answer(&played, &parked.chat, &usage);
                    // The file goes first, so that nobody answers twice.
                    drop(parked);
                    let parts = answer.parts.into_iter();
                    return Box::pin(Waiting::Telling { parts }.next(cancel)).await;
                }
                looks += 1;
                if looks.is_multiple_of(LOOKS_PER_SIGN) {
                    let sign: &[u8] = if parked.chat.stream {
                        b": waiting\n\n"
                    } else {
                        b" "
                    };
                    let sign = Bytes::from_static(sign);
                    return Some((Ok(sign), Waiting::Looking { parked, looks }));
                }
                tokio::select! {
                    () = cancel.cancelled() => return None,
                    () = tokio::time::sleep(LOOK) => {}
                }
            },
        }
    }
}
