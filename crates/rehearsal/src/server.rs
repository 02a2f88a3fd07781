//! The server around a scenario.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderValue, Response, header},
    routing::{get, post},
};
use butler_model::wire::Chat;
use butler_protocol::{ModelMessage, Role};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    OffScript, Played, PlayedCall, Scenario,
    answer::{Answer, Part, answer},
    history::History,
    script::ScriptPrice,
};

/// A conversation with many pictures is still smaller than this.
pub(crate) const LARGEST_REQUEST: usize = 64 << 20;

/// The tool that asks people and waits.
const ASK: &str = "AskUser";

/// A server that could not be started.
#[derive(Debug, thiserror::Error)]
#[error("rehearsal cannot listen on {address}")]
pub struct RehearsalError {
    pub address: SocketAddr,
    pub source: io::Error,
}

/// A server at work. It ends when its token is cancelled or it is dropped.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

impl Serving {
    pub(crate) async fn start(
        listen: SocketAddr,
        cancel: CancellationToken,
        router: Router,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let ended = cancel.clone();
        let task = tokio::spawn(async move {
            let serving = axum::serve(listener, router)
                .with_graceful_shutdown(async move { ended.cancelled().await });
            if let Err(error) = serving.await {
                tracing::error!(%error, "rehearsal server ended");
            }
        });
        Ok(Self {
            address,
            cancel,
            task,
        })
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) async fn stop(mut self) {
        self.cancel.cancel();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// A running rehearsal. It ends when its token is cancelled or it is dropped.
#[derive(Debug)]
pub struct Rehearsal {
    serving: Serving,
    stage: Arc<Stage>,
}

/// What all requests share.
#[derive(Debug)]
struct Stage {
    scenarios: Vec<Scenario>,
    strict: bool,
    cancel: CancellationToken,
    /// How often the fault of a step was played at a place of a conversation.
    faults: Mutex<BTreeMap<(usize, Role, usize, u64), u32>>,
    given: Mutex<BTreeSet<(usize, Role, usize)>>,
}

impl Rehearsal {
    /// Starts to play `scenario`. In strict mode a request that is off the
    /// script is refused with what came and what was expected.
    /// Fails when it cannot listen there.
    pub async fn start(
        listen: SocketAddr,
        scenario: Scenario,
        strict: bool,
        cancel: CancellationToken,
    ) -> Result<Self, RehearsalError> {
        Self::start_all(listen, vec![scenario], strict, cancel).await
    }

    /// Plays several stories side by side: each conversation belongs to the one
    /// whose words its first message holds. With a single story, all belong to it.
    /// Fails when the address cannot be used.
    pub async fn start_all(
        listen: SocketAddr,
        scenarios: Vec<Scenario>,
        strict: bool,
        cancel: CancellationToken,
    ) -> Result<Self, RehearsalError> {
        let cancel = cancel.child_token();
        let stage = Arc::new(Stage {
            scenarios,
            strict,
            cancel: cancel.clone(),
            faults: Mutex::default(),
            given: Mutex::default(),
        });
        let serving = Serving::start(listen, cancel, router(Arc::clone(&stage))).await;
        let serving = serving.map_err(|source| RehearsalError {
            address: listen,
            source,
        })?;
        Ok(Self { serving, stage })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.serving.address
    }

    /// The base address for a model client.
    pub fn base_url(&self) -> String {
        self.serving.base_url()
    }

    /// The steps that were never given, in words: what a test of a whole story
    /// wants to be empty. Branches (steps with `when`) are not counted.
    pub fn left_over(&self) -> Vec<String> {
        let given = &self.stage.given;
        let given = given.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = Vec::new();
        for (story, scenario) in self.stage.scenarios.iter().enumerate() {
            for (role, steps) in &scenario.roles {
                for (place, ready) in steps.iter().enumerate() {
                    if ready.when.is_none() && !given.contains(&(story, *role, place)) {
                        left.push(format!("{role}: {}", ready.name()));
                    }
                }
            }
        }
        left
    }

    /// Ends it and waits until it has ended.
    pub async fn stop(self) {
        self.serving.stop().await;
    }
}

fn router(stage: Arc<Stage>) -> Router {
    Router::new()
        .route("/v1/models", get(models))
        .route("/v1/chat/completions", post(complete))
        .layer(axum::extract::DefaultBodyLimit::max(LARGEST_REQUEST))
        .with_state(stage)
}

async fn models(State(stage): State<Arc<Stage>>) -> Json<Value> {
    let Some(scenario) = stage.scenarios.first() else {
        return Json(json!({"object": "list", "data": []}));
    };
    let price = scenario.price();
    let per_token = |dollars: f64| format!("{:.12}", dollars / 1e6);
    // Each role a second time, so that a change of model can be rehearsed too.
    let names = ["rehearsal", "second"].into_iter();
    let models: Vec<Value> = names
        .flat_map(|name| Role::ALL.map(|role| (name, role)))
        .map(|(name, role)| {
            json!({
                "id": format!("{name}/{role}"),
                "object": "model",
                "name": format!("Rehearsal of “{}”: {}", scenario.title(), role.title()),
                "context_length": scenario.script.context,
                "pricing": {"prompt": per_token(price.input), "completion": per_token(price.output)},
                "supported_parameters": ["tools", "tool_choice", "max_tokens"],
                "architecture": scenario.script.blind.contains(&role)
                    .then(|| json!({"input_modalities": ["text"]})),
            })
        })
        .collect();
    Json(json!({"object": "list", "data": models}))
}

async fn complete(State(stage): State<Arc<Stage>>, body: Bytes) -> Response<Body> {
    let answer = match serde_json::from_slice::<Value>(&body) {
        Ok(body) => stage.answer(&body),
        Err(error) => Answer::refusal(400, "invalid_request", &format!("no JSON: {error}")),
    };
    respond(answer, &stage.cancel)
}

impl Stage {
    fn answer(&self, body: &Value) -> Answer {
        let chat = match Chat::read(body) {
            Ok(chat) => chat,
            Err(error) => return Answer::refusal(400, "invalid_request", &error.to_string()),
        };
        let word = chat.model.rsplit('/').next().unwrap_or_default();
        let Ok(role) = word.parse::<Role>() else {
            let message = format!("there is no model `{}`: use rehearsal/<role>", chat.model);
            return Answer::refusal(404, "not_found", &message);
        };
        let history = History::new(&chat.messages, !chat.tools.is_empty());
        let place = history.place();
        let Some((story, scenario)) = self.story(history) else {
            let words = history.notes().map(str::to_owned);
            let played = Played::text(role, words.unwrap_or_else(|| self.programme()));
            let usage = usage(ScriptPrice::default(), &chat, &played);
            return answer(&played, &chat, &usage);
        };
        let shown = |message: &ModelMessage| matches!(message, ModelMessage::User { images, .. } if !images.is_empty());
        if scenario.script.blind.contains(&role) && chat.messages.iter().any(shown) {
            tracing::error!(%role, "a picture for a model that does not see");
            return Answer::refusal(404, "not_found", "no endpoint supports this input");
        }
        let spent = |step: usize| self.is_spent((story, role, step, place));
        let played = match scenario.play(role, &chat, &spent) {
            Ok(played) => played,
            Err(off) if self.strict => {
                tracing::error!(%off, "rehearsal");
                return Answer::refusal(400, "off_script", &off.to_string());
            }
            Err(off) => {
                tracing::debug!(%off, "rehearsal");
                self.astray(&off, &chat, history)
            }
        };
        self.note(story, role, &played, place);
        answer(&played, &chat, &usage(scenario.price(), &chat, &played))
    }

    /// What people get when the script has no answer: a text. When that was not
    /// sent to anybody, because work is still owed, it is asked as a question.
    fn astray(&self, off: &OffScript, chat: &Chat, history: History<'_>) -> Played {
        let mut text = off.friendly();
        if self.scenarios.len() > 1 {
            text = format!("{text} {}", self.programme());
        }
        let in_vain = history.ends_in_text() && history.people_now().next().is_none();
        let asks = chat.tools.iter().any(|tool| tool.name == ASK);
        let mut played = Played::text(off.role, text);
        if in_vain && asks {
            let question = played.say.take();
            played.calls.push(PlayedCall {
                tool: ASK.to_owned(),
                arguments: json!({"question": question}),
            });
        }
        played
    }

    /// Which story a conversation belongs to: the one whose words are complete
    /// first, because later ones may be in a list of what else there is.
    fn story(&self, history: History<'_>) -> Option<(usize, &Scenario)> {
        if let [only] = self.scenarios.as_slice() {
            return Some((0, only));
        }
        let heard: String = history.users().map(str::to_lowercase).collect();
        let stories = self.scenarios.iter().enumerate();
        let asked = stories.filter_map(|(number, scenario)| {
            Some((scenario.asked_at(&heard)?, (number, scenario)))
        });
        let first = asked.min_by_key(|(place, _)| *place);
        first.map(|(_, story)| story)
    }

    /// What can be asked for here, and how to ask for anything else.
    fn programme(&self) -> String {
        let requests = self.scenarios.iter().map(Scenario::request);
        let requests: String = requests.map(|one| format!("- {one}\n")).collect();
        format!(
            "The model here is scripted and knows these stories by heart:\n\n{requests}\nStart one of them in the channel, word for word. For anything else connect a real model: `codebutler init` in your own repository asks for an OpenRouter key or a local endpoint (Ollama, llama.cpp), then `codebutler up`."
        )
    }

    fn is_spent(&self, key: (usize, Role, usize, u64)) -> bool {
        let (story, role, step, _) = key;
        let steps = self.scenarios[story].roles.get(&role);
        let ready = steps.and_then(|steps| steps.get(step));
        let fault = ready.and_then(|ready| ready.step.fault.as_ref());
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let played = faults.get(&key).copied().unwrap_or(0);
        fault.is_some_and(|fault| played >= fault.times.max(1))
    }

    fn note(&self, story: usize, role: Role, played: &Played, place: u64) {
        let Some(step) = played.step else {
            return;
        };
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.insert((story, role, step));
        if played.fault.is_some() {
            let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
            *faults.entry((story, role, step, place)).or_default() += 1;
        }
    }
}

/// What a provider would count, at the price of the story.
fn usage(price: ScriptPrice, chat: &Chat, played: &Played) -> Value {
    let heard = serde_json::to_string(&chat.messages).map_or(0, |text| text.len());
    let offered = serde_json::to_string(&chat.tools).map_or(0, |text| text.len());
    let counted = played.usage.unwrap_or_default();
    let (input, output) = match played.usage {
        Some(usage) => (usage.input, usage.output),
        None => (
            (heard + offered).div_ceil(4) as u64,
            played.bytes().div_ceil(4) as u64,
        ),
    };
    let listed = (input as f64 * price.input + output as f64 * price.output) / 1e6;
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "cost": counted.cost.unwrap_or(listed),
        "prompt_tokens_details": {"cached_tokens": counted.cached},
    })
}

pub(crate) fn content_type(streams: bool) -> HeaderValue {
    HeaderValue::from_static(match streams {
        true => "text/event-stream",
        false => "application/json",
    })
}

/// Carries an answer out. Waits end when the server does.
pub(crate) fn respond(answer: Answer, cancel: &CancellationToken) -> Response<Body> {
    let cancel = cancel.clone();
    let parts = stream::unfold(answer.parts.into_iter(), move |mut parts| {
        let cancel = cancel.clone();
        async move {
            loop {
                match parts.next()? {
                    Part::Bytes(bytes) => return Some((Ok(Bytes::from(bytes)), parts)),
                    Part::Wait(millis) => tokio::select! {
                        () = cancel.cancelled() => return None,
                        () = tokio::time::sleep(Duration::from_millis(millis)) => {}
                    },
                    Part::Stall => {
                        cancel.cancelled().await;
                        return None;
                    }
                    Part::Break => return Some((Err(io::Error::other("broken off")), parts)),
                }
            }
        }
    });
    let mut response = Response::new(Body::from_stream(parts));
    *response.status_mut() = axum::http::StatusCode::from_u16(answer.status).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, content_type(answer.streams));
    if let Some(millis) = answer.retry_after_ms {
        headers.insert("retry-after-ms", HeaderValue::from(millis));
    }
    response
}
