//! Starts a server and speaks with it: the handshake first, and the newer era with
//! servers that refuse it.

use std::{
    collections::HashMap,
    os::unix::net::UnixStream as StdStream,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use butler_protocol::{Secret, visible};
use butler_sandbox::{Command, Exit, Profile, Sandbox, SandboxError};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::{
    RoleClient,
    model::{ErrorCode, ProtocolVersion},
    service::{
        ClientInitializeError, ClientLifecycleMode, Peer, RunningService,
        serve_client_with_lifecycle,
    },
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::{net::UnixStream, sync::watch};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    Times,
    bounded::Bounded,
    handler::Handler,
    link::{Fault, Link},
};

/// How long a server that was told the end may take to go by itself.
const GOOD_BYE: Duration = Duration::from_secs(2);
/// How long its end may take when it is killed.
const KILLED: Duration = Duration::from_secs(12);
/// Lines of its standard error that are worth telling.
const LAST_LINES: usize = 6;

/// Where a server is.
pub enum Reach {
    /// A program, which runs confined by this profile.
    Program {
        /// With everything that it is given.
        command: Command,
        /// What it may see, change and connect to.
        profile: Box<Profile>,
    },
    /// An address, by streamable HTTP.
    Address {
        /// The client; it must not follow redirects, which would carry the headers along.
        client: reqwest::Client,
        url: String,
        /// Sent with every request, there and nowhere else.
        headers: Vec<(String, Secret)>,
    },
}

/// A server that answers.
pub(crate) struct Running {
    service: RunningService<RoleClient, Handler>,
    process: Mutex<Option<Process>>,
    fault: Fault,
}

/// The program of a server. Whoever drops it ends it.
struct Process {
    ended: AbortOnDropHandle<Result<Exit, SandboxError>>,
    cancel: CancellationToken,
}

impl Running {
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(crate) fn handler(&self) -> &Handler {
        self.service.service()
    }

    /// Whether it does not answer any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// The version that a program names. An address changes it when it likes.
    pub(crate) fn version(&self) -> String {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let info = process.as_ref().and_then(|_| self.peer().peer_info());
        let own = info.and_then(|info| info.server_info.clone());
        own.map(|own| format!("{} {}", own.name, own.version))
            .unwrap_or_default()
    }

    /// Whether it says that it has texts to read.
    pub(crate) fn has_resources(&self) -> bool {
        let info = self.peer().peer_info();
        info.is_some_and(|info| info.capabilities.resources.is_some())
    }

    /// Ends it: the end of the talk first, the kernel after two seconds. What it
    /// left behind in words.
    pub(crate) async fn end(&self) -> String {
        self.service.cancellation_token().cancel();
        let process = self
            .process
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let how = match process {
            Some(process) => process.end().await,
            None => "the connection is closed".to_owned(),
        };
        match self.fault.get() {
            Some(fault) => format!("{}; {how}", visible(&fault)),
            None => how,
        }
    }
}

impl Process {
    async fn end(mut self) -> String {
        let ended = match tokio::time::timeout(GOOD_BYE, &mut self.ended).await {
            Ok(ended) => Ok(ended),
            Err(_) => {
                self.cancel.cancel();
                tokio::time::timeout(KILLED, &mut self.ended).await
            }
        };
        match ended {
            Ok(Ok(Ok(exit))) => last_words(&exit),
            Ok(Ok(Err(error))) => chain(&error),
            Ok(Err(_)) | Err(_) => "its end was not seen".to_owned(),
        }
    }
}

/// How a program ended, with the last lines that it wrote beside the talk.
fn last_words(exit: &Exit) -> String {
    let how = match (exit.code, exit.signal) {
        (Some(code), _) => format!("it ended with code {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    };
    let text = String::from_utf8_lossy(&exit.output);
    let lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    let mut last: Vec<String> = lines
        .take(LAST_LINES)
        .map(|line| visible(&line.chars().take(300).collect::<String>()).into_owned())
        .collect();
    if last.is_empty() {
        return how;
    }
    last.reverse();
    format!("{how}, after writing:\n{}", last.join("\n"))
}

/// Starts a server, in whichever era it lives.
pub(crate) async fn start(
    reach: &Reach,
    times: &Times,
    sandbox: Option<&Arc<Sandbox>>,
) -> Result<Running, String> {
    let old = ClientLifecycleMode::Initialize;
    match attempt(reach, times, sandbox, old).await {
        // After a refused handshake a fresh start: some count the refusal as the era.
        Err(Failed::OtherEra) => {}
        Err(Failed::For(why)) => return Err(why),
        Ok(running) => return Ok(running),
    }
    let new = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    let started = attempt(reach, times, sandbox, new).await;
    started.map_err(|failed| match failed {
        Failed::OtherEra => "it refuses both ways to begin a talk".to_owned(),
        Failed::For(why) => why,
    })
}

enum Failed {
    /// It does not know this way to begin.
    OtherEra,
    For(String),
}

async fn attempt(
    reach: &Reach,
    times: &Times,
    sandbox: Option<&Arc<Sandbox>>,
    mode: ClientLifecycleMode,
) -> Result<Running, Failed> {
    match reach {
        Reach::Program { command, profile } => {
            let sandbox = sandbox.ok_or_else(|| {
                Failed::For("programs cannot be confined here, so none is started".to_owned())
            })?;
            program(command, profile, sandbox, times, mode).await
        }
        Reach::Address {
            client,
            url,
            headers,
        } => address(client, url, headers, times, mode).await,
    }
}

async fn program(
    command: &Command,
    profile: &Profile,
    sandbox: &Arc<Sandbox>,
    times: &Times,
    mode: ClientLifecycleMode,
) -> Result<Running, Failed> {
    let io = |error: std::io::Error| Failed::For(error.to_string());
    let (ours, theirs) = StdStream::pair().map_err(io)?;
    ours.set_nonblocking(true).map_err(io)?;
    let cancel = CancellationToken::new();
    let serving = {
        let (sandbox, command) = (Arc::clone(sandbox), command.clone());
        let (profile, cancel) = (profile.clone(), cancel.clone());
        async move {
            sandbox
                .serve(&command, &profile, &cancel, theirs.into())
                .await
        }
    };
    let process = Process {
        ended: AbortOnDropHandle::new(tokio::spawn(serving)),
        cancel,
    };
    let fault = Fault::default();
    let stream = UnixStream::from_std(ours).map_err(io)?;
    let (link, first) = Link::new(stream, fault.clone());
    let begun = tokio::select! {
        begun = serve_client_with_lifecycle(Handler::default(), link, mode) => begun.map_err(failed),
        why = too_late(first, times) => Err(Failed::For(why)),
    };
    match begun {
        Ok(service) => Ok(Running {
            service,
            process: Mutex::new(Some(process)),
            fault,
        }),
        Err(Failed::OtherEra) => {
            process.end().await;
            Err(Failed::OtherEra)
        }
        Err(Failed::For(why)) => {
            let how = process.end().await;
            let why = fault.get().unwrap_or(why);
            Err(Failed::For(format!("{why}; {how}")))
        }
    }
}

/// Returns when a server took too long. A first start may have to download it, so
/// its time counts from the first byte.
async fn too_late(mut first: watch::Receiver<bool>, times: &Times) -> String {
    let heard = first.wait_for(|heard| *heard);
    if tokio::time::timeout(times.first_byte, heard).await.is_err() {
        return format!("it said nothing for {} s", times.first_byte.as_secs());
    }
    tokio::time::sleep(times.start).await;
    format!("it was not ready after {} s", times.start.as_secs())
}

async fn address(
    client: &reqwest::Client,
    url: &str,
    headers: &[(String, Secret)],
    times: &Times,
    mode: ClientLifecycleMode,
) -> Result<Running, Failed> {
    let mut sent = HashMap::new();
    for (name, value) in headers {
        let bad = || Failed::For(format!("the header `{name}` cannot be sent"));
        let key = HeaderName::try_from(name).map_err(|_| bad())?;
        let mut value = HeaderValue::try_from(value.expose()).map_err(|_| bad())?;
        value.set_sensitive(true);
        sent.insert(key, value);
    }
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(sent)
        // A repeat by itself could do twice what was asked once.
        .reinit_on_expired_session(false);
    let fault = Fault::default();
    let bounded = Bounded {
        client: client.clone(),
        fault: fault.clone(),
    };
    let transport = StreamableHttpClientTransport::with_client(bounded, config);
    let begun = serve_client_with_lifecycle(Handler::default(), transport, mode);
    match tokio::time::timeout(times.start, begun).await {
        Ok(Ok(service)) => Ok(Running {
            service,
            process: Mutex::new(None),
            fault,
        }),
        Ok(Err(error)) => Err(match (failed(error), fault.get()) {
            (Failed::For(_), Some(why)) => Failed::For(visible(&why).into_owned()),
            (failed, _) => failed,
        }),
        Err(_) => {
            let seconds = times.start.as_secs();
            Err(Failed::For(format!("it was not ready after {seconds} s")))
        }
    }
}

fn failed(error: ClientInitializeError) -> Failed {
    const ERA: [ErrorCode; 2] = [
        ErrorCode::METHOD_NOT_FOUND,
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
    ];
    match error {
        ClientInitializeError::JsonRpcError(error) if ERA.contains(&error.code) => Failed::OtherEra,
        error => Failed::For(chain(&error)),
    }
}

/// An error with its causes, in a line that ends.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let next_text = next.to_string();
        if !text.contains(&next_text) {
            text = format!("{text}: {next_text}");
        }
        cause = next.source();
    }
    let text: String = text.chars().take(600).collect();
    visible(&text).into_owned()
}
