//! One server: started at its first use, started again after it died, compared
//! with what a person accepted, and called.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use butler_protocol::{ServerState, visible_line};
use butler_sandbox::Sandbox;
use rmcp::{
    model::{
        CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
        ClientRequest, ErrorCode, ErrorData, ListToolsRequest, PaginatedRequestParams,
        ServerResult,
    },
    service::{PeerRequestOptions, ServiceError},
};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use crate::{
    Accepted, Answer, Reach, ToolInfo,
    start::{Running, start},
};

/// Pages and tools of one listing.
const PAGES: usize = 200;
const TOOLS: usize = 1_000;
/// A pause before the next start that is waited for; a longer one is told instead.
const SHORT: Duration = Duration::from_secs(5);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(60);

/// What a server is.
pub struct ServerSpec {
    /// As its configuration calls it.
    pub name: String,
    pub reach: Reach,
    pub times: Times,
    /// What a person accepted; without it nothing is compared.
    pub accepted: Option<Accepted>,
}

/// How long a server may take.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Until a program says anything: it may have to be downloaded.
    pub first_byte: Duration,
    /// From then until it is ready.
    pub start: Duration,
    /// Until a call is answered or makes progress.
    pub call: Duration,
    /// A call in all.
    pub total: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(120),
            start: Duration::from_secs(30),
            call: Duration::from_secs(30),
            total: Duration::from_secs(600),
        }
    }
}

/// Why a server gave no answer. Displays as what a model or a person reads.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// It could not be started.
    #[error("the MCP server `{server}` could not be started: {why}")]
    Start { server: String, why: String },
    /// It failed before and is given a pause.
    #[error("the MCP server `{server}` failed and is started again in {seconds} s; {why}")]
    Paused {
        server: String,
        /// How long still.
        seconds: u64,
        why: String,
    },
    /// It is not what a person accepted.
    #[error(
        "the MCP server `{server}` was stopped: it describes itself otherwise than what was accepted. \
         A person has to look at it: `codebutler mcp accept {server}`\n{diff}"
    )]
    Changed { server: String, diff: String },
    /// It ended in the middle of a call.
    #[error(
        "the MCP server `{server}` ended before it answered; whether the call had an effect is \
         unknown and it was not repeated; {why}"
    )]
    Died { server: String, why: String },
    /// It did not answer in time.
    #[error("the MCP server `{server}` did not answer within {seconds} s; the call was cancelled")]
    TimedOut {
        server: String,
        /// The time it had.
        seconds: u64,
    },
    /// Somebody stopped the call.
    #[error("stopped")]
    Stopped,
    /// It answered that it cannot.
    #[error("the MCP server `{server}` refused: {why}")]
    Refused { server: String, why: String },
}

/// A server, shared by all who call it.
pub struct Server {
    spec: ServerSpec,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Option<Arc<Running>>,
    failures: u32,
    /// When it may be started again, and how it failed.
    paused: Option<(Instant, String)>,
    /// What is different from what was accepted.
    changed: Option<String>,
    /// What went wrong last.
    error: Option<String>,
}

impl Server {
    /// A server that is not started yet.
    pub fn new(spec: ServerSpec) -> Self {
        Self {
            spec,
            state: Mutex::default(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// What it does, and what went wrong last. Waits for nobody.
    pub fn standing(&self) -> (ServerState, Option<String>) {
        // Held only while it starts or ends.
        let Ok(state) = self.state.try_lock() else {
            return (ServerState::Starting, None);
        };
        let running = state.running.as_ref().is_some_and(|one| !one.is_gone());
        let does = match &state.paused {
            _ if state.changed.is_some() => ServerState::Changed,
            _ if running => ServerState::Running,
            Some(_) => ServerState::Failed,
            None => ServerState::Resting,
        };
        (does, state.error.clone())
    }

    /// How long a call may take, its start included.
    pub fn patience(&self) -> Duration {
        let times = &self.spec.times;
        SHORT + 2 * (times.first_byte + times.start) + times.total
    }

    /// Version and tools as they are now.
    /// Fails when it cannot be started or does not say.
    pub async fn listing(&self, sandbox: Option<&Arc<Sandbox>>) -> Result<Accepted, McpError> {
        let running = self.running(sandbox).await?;
        match list(&running, &self.spec.times).await {
            Ok(listing) => Ok(listing),
            Err(error) => Err(self.failed(&running, error).await),
        }
    }

    /// Calls a tool. Its progress goes to `progress` in lines.
    /// Errors: whatever is not an answer of the tool.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        sandbox: Option<&Arc<Sandbox>>,
        cancel: &CancellationToken,
        progress: Option<mpsc::Sender<String>>,
    ) -> Result<Answer, McpError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let running = tokio::select! {
            running = self.running(sandbox) => running?,
            () = cancel.cancelled() => return Err(McpError::Stopped),
        };
        if running.handler().take_changed() {
            self.look_again(&running).await?;
        }
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::with_timeout(self.spec.times.call)
            .reset_timeout_on_progress()
            .with_max_total_timeout(self.spec.times.total);
        let sent = running.peer().send_request_with_option(request, options);
        let handle = match sent.await {
            Ok(handle) => handle,
            Err(error) => return Err(self.failed(&running, error).await),
        };
        let token = handle.progress_token.clone();
        let _following = progress.map(|lines| running.handler().follow(token, lines));
        let (peer, id) = (running.peer().clone(), handle.id.clone());
        let answer = tokio::select! {
            answer = handle.await_response() => answer,
            () = cancel.cancelled() => {
                let params = CancelledNotificationParam::new(Some(id), Some("stopped".to_owned()));
                let notice = CancelledNotification::new(params);
                let told = peer.send_notification(notice.into());
                let _ = tokio::time::timeout(Duration::from_secs(1), told).await;
                return Err(McpError::Stopped);
            }
        };
        match answer {
            Ok(result) => {
                self.state.lock().await.failures = 0;
                self.answer(&result)
            }
            Err(error) => Err(self.failed(&running, error).await),
        }
    }

    /// Asks for something that changes nothing.
    pub(crate) async fn ask(
        &self,
        request: ClientRequest,
        sandbox: Option<&Arc<Sandbox>>,
        cancel: &CancellationToken,
    ) -> Result<Value, McpError> {
        let asking = async {
            let running = self.running(sandbox).await?;
            if running.handler().take_changed() {
                self.look_again(&running).await?;
            }
            let options = PeerRequestOptions::with_timeout(self.spec.times.call);
            let sent = running.peer().send_request_with_option(request, options);
            let answer = match sent.await {
                Ok(handle) => handle.await_response().await,
                Err(error) => Err(error),
            };
            match answer {
                Ok(result) => Ok(serde_json::to_value(&result).unwrap_or_default()),
                Err(error) => Err(self.failed(&running, error).await),
            }
        };
        tokio::select! {
            answer = asking => answer,
            () = cancel.cancelled() => Err(McpError::Stopped),
        }
    }

    /// Ends it, if it runs.
    pub async fn end(&self) {
        let running = self.state.lock().await.running.take();
        if let Some(running) = running {
            running.end().await;
        }
    }

    fn answer(&self, result: &ServerResult) -> Result<Answer, McpError> {
        let result = serde_json::to_value(result).unwrap_or_default();
        match result["resultType"].as_str() {
            None | Some("complete") => Ok(Answer::of(&result)),
            Some(_) => {
                let why = "it asks back, and a tool gets no answers".to_owned();
                let server = self.spec.name.clone();
                Err(McpError::Refused { server, why })
            }
        }
    }

    /// The running server; started if it is not.
    async fn running(&self, sandbox: Option<&Arc<Sandbox>>) -> Result<Arc<Running>, McpError> {
        let mut state = self.state.lock().await;
        if let Some(diff) = &state.changed {
            return Err(self.changed(diff));
        }
        if let Some(running) = state.running.take() {
            if !running.is_gone() {
                state.running = Some(Arc::clone(&running));
                return Ok(running);
            }
            let why = running.end().await;
            state.fails(why);
        }
        if let Some((until, why)) = &state.paused {
            let left = until.saturating_duration_since(Instant::now());
            if left > SHORT {
                return Err(McpError::Paused {
                    server: self.spec.name.clone(),
                    seconds: left.as_secs(),
                    why: why.clone(),
                });
            }
            tokio::time::sleep(left).await;
        }
        let started = self.start(sandbox).await;
        match started {
            Ok((running, None)) => {
                let running = Arc::new(running);
                state.running = Some(Arc::clone(&running));
                Ok(running)
            }
            Ok((running, Some(diff))) => {
                running.end().await;
                let error = self.changed(&diff);
                state.error = Some(error.to_string());
                state.changed = Some(diff);
                Err(error)
            }
            Err(why) => {
                state.fails(why.clone());
                let server = self.spec.name.clone();
                Err(McpError::Start { server, why })
            }
        }
    }

    /// Starts it; what is different from what was accepted.
    async fn start(
        &self,
        sandbox: Option<&Arc<Sandbox>>,
    ) -> Result<(Running, Option<String>), String> {
        let running = start(&self.spec.reach, &self.spec.times, sandbox).await?;
        let Some(accepted) = &self.spec.accepted else {
            return Ok((running, None));
        };
        match list(&running, &self.spec.times).await {
            Ok(now) => Ok((running, accepted.changed_to(&now))),
            Err(error) => {
                let how = running.end().await;
                Err(format!("its tools cannot be listed: {error}; {how}"))
            }
        }
    }

    /// Stops a server that is no longer what was accepted.
    async fn look_again(&self, running: &Arc<Running>) -> Result<(), McpError> {
        let Some(accepted) = &self.spec.accepted else {
            return Ok(());
        };
        let now = match list(running, &self.spec.times).await {
            Ok(now) => now,
            Err(error) => return Err(self.failed(running, error).await),
        };
        let Some(diff) = accepted.changed_to(&now) else {
            return Ok(());
        };
        let error = self.changed(&diff);
        let mut state = self.state.lock().await;
        state.error = Some(error.to_string());
        state.changed = Some(diff);
        state.running = None;
        running.end().await;
        Err(error)
    }

    async fn failed(&self, running: &Arc<Running>, error: ServiceError) -> McpError {
        let server = self.spec.name.clone();
        match error {
            ServiceError::McpError(error) => McpError::Refused {
                server,
                why: visible_line(&error.message).chars().take(2_000).collect(),
            },
            ServiceError::Timeout { timeout } => {
                let error = McpError::TimedOut {
                    server,
                    seconds: timeout.as_secs(),
                };
                self.state.lock().await.error = Some(error.to_string());
                error
            }
            other => {
                let mut state = self.state.lock().await;
                let current = state.running.as_ref();
                let mut why = other.to_string();
                // Several calls lose it at once; one of them ends it.
                if current.is_some_and(|current| Arc::ptr_eq(current, running)) {
                    state.running = None;
                    why = running.end().await;
                    state.fails(why.clone());
                }
                McpError::Died { server, why }
            }
        }
    }

    fn changed(&self, diff: &str) -> McpError {
        let (server, diff) = (self.spec.name.clone(), diff.chars().take(4_000).collect());
        McpError::Changed { server, diff }
    }
}

impl State {
    fn fails(&mut self, why: String) {
        self.error = Some(why.clone());
        let pause = Duration::from_secs(1 << self.failures.min(6)).min(LONGEST);
        self.failures += 1;
        self.paused = Some((Instant::now() + pause, why));
    }
}

/// All tools, page by page.
async fn list(running: &Running, times: &Times) -> Result<Accepted, ServiceError> {
    let (mut tools, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let request = ClientRequest::ListToolsRequest(ListToolsRequest {
            params: Some(params),
            ..ListToolsRequest::default()
        });
        let options = PeerRequestOptions::with_timeout(times.call);
        let sent = running.peer().send_request_with_option(request, options);
        let page = sent.await?.await_response().await?;
        let page = serde_json::to_value(&page).unwrap_or_default();
        let entries = page["tools"].as_array();
        tools.extend(entries.into_iter().flatten().filter_map(ToolInfo::of));
        let next = page["nextCursor"].as_str().map(str::to_owned);
        if next.is_none() {
            return Ok(Accepted {
                resources: running.has_resources(),
                ..Accepted::new(running.version(), tools)
            });
        }
        if next == cursor || tools.len() > TOOLS {
            break;
        }
        cursor = next;
    }
    let why = "its list of tools does not end";
    let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, why, None);
    Err(ServiceError::McpError(error))
}
