//! One HTTP call, repeated until it is answered. Every call that goes through
//! here is idempotent on the other side, so repeating blindly is right; what is
//! not repeated is an answer that says no.

use std::{
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    time::Duration,
};

use butler_protocol::{Secret, ThreadId};
use futures_util::future::BoxFuture;
use reqwest::{Client, ClientBuilder, RequestBuilder, Response, StatusCode, header::RETRY_AFTER};
use tokio::time::{Instant, sleep, timeout};
use url::{Host, Url};

use crate::{EPOCH_HEADER, SharedEpoch, SlackError, THREAD_HEADER, Workspace};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a call waits for the socket to learn a newer epoch: the hub raises
/// it a moment before its `hello` reaches us.
const EPOCH_GRACE: Duration = Duration::from_secs(5);

/// A client bound to one workspace and one token.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    client: Client,
    root: Url,
    token: Secret,
    epoch: SharedEpoch,
    /// The thread that the caller works in.
    pub(crate) thread: Option<ThreadId>,
    pub(crate) patience: Duration,
}

impl Caller {
    pub(crate) fn new(
        workspace: &Workspace,
        token: Secret,
        epoch: SharedEpoch,
    ) -> Result<Self, SlackError> {
        Ok(Self {
            client: client_for(workspace)?,
            root: as_folder(&workspace.base),
            token,
            epoch,
            thread: None,
            patience: Duration::from_secs(120),
        })
    }

    pub(crate) fn url(&self, path: &str) -> Result<Url, SlackError> {
        self.root.join(path).map_err(|_| SlackError::Address {
            base: self.root.to_string(),
        })
    }

    /// Sends what `build` makes until there is an answer below 500 that is not
    /// "too many requests".
    pub(crate) async fn send(
        &self,
        method: &str,
        build: impl Fn(&Client) -> RequestBuilder + Send + Sync,
    ) -> Result<Response, SlackError> {
        self.send_built(method, &build).await
    }

    /// Of one type, and so compiled once and not for every method.
    fn send_built<'a>(
        &'a self,
        method: &'a str,
        build: &'a (dyn Fn(&Client) -> RequestBuilder + Send + Sync),
    ) -> BoxFuture<'a, Result<Response, SlackError>> {
        Box::pin(async move {
            let give_up = Instant::now() + self.patience;
            let mut pause = FIRST_PAUSE;
            loop {
                let epoch = self.epoch.get();
                let mut request = build(&self.client).bearer_auth(self.token.expose());
                if epoch.0 > 0 {
                    request = request.header(EPOCH_HEADER, epoch.0);
                    if let Some(thread) = &self.thread {
                        request = request.header(THREAD_HEADER, thread.to_string());
                    }
                }
                let outcome = request.send().await;
                let wait = match outcome {
                    Ok(answer) if answer.status() == StatusCode::TOO_MANY_REQUESTS => {
                        asked_to_wait(&answer).unwrap_or(LONGEST_PAUSE)
                    }
                    Ok(answer) if answer.status() == StatusCode::CONFLICT => {
                        // The hub's way to say "stale epoch" on control calls.
                        self.newer_epoch(method, epoch).await?;
                        Duration::ZERO
                    }
                    Ok(answer) if answer.status().is_server_error() => {
                        if Instant::now() + pause > give_up {
                            let status = format_args!("HTTP {}", answer.status());
                            return Err(SlackError::answer(method, &status));
                        }
                        jittered(pause)
                    }
                    Ok(answer) => return Ok(answer),
                    Err(source) => {
                        if Instant::now() + pause > give_up {
                            return Err(SlackError::unreachable(method, source));
                        }
                        jittered(pause)
                    }
                };
                pause = (pause * 2).min(LONGEST_PAUSE);
                sleep(wait).await;
            }
        })
    }

    /// Sends once, with the token, and gives back whatever came.
    pub(crate) async fn send_once(
        &self,
        method: &str,
        build: impl FnOnce(&Client) -> RequestBuilder,
    ) -> Result<Response, SlackError> {
        let request = build(&self.client).bearer_auth(self.token.expose());
        let answer = request.send().await;
        answer.map_err(|source| SlackError::unreachable(method, source))
    }

    /// Sends once, without the token: the address is its own secret.
    pub(crate) async fn send_bare(
        &self,
        method: &str,
        build: impl FnOnce(&Client) -> RequestBuilder,
    ) -> Result<Response, SlackError> {
        let answer = build(&self.client).send().await;
        answer.map_err(|source| SlackError::unreachable(method, source))
    }

    /// Whether the token may be shown to this address: the workspace's own host
    /// and what lies below it, by the same scheme.
    pub(crate) fn trusts(&self, url: &Url) -> bool {
        let below = || {
            let own = self.root.domain()?;
            let host = url.domain()?;
            Some(host.strip_suffix(own)?.ends_with('.') && url.port() == self.root.port())
        };
        let same = url.host() == self.root.host() && url.port() == self.root.port();
        url.scheme() == self.root.scheme() && (same || below() == Some(true))
    }

    /// Waits a moment for a newer epoch; `Ok` when the call may be repeated.
    pub(crate) async fn newer_epoch(
        &self,
        method: &str,
        old: butler_protocol::Epoch,
    ) -> Result<(), SlackError> {
        timeout(EPOCH_GRACE, self.epoch.past(old))
            .await
            .map_err(|_| SlackError::StaleEpoch {
                method: method.to_owned(),
            })
    }

    pub(crate) fn epoch(&self) -> butler_protocol::Epoch {
        self.epoch.get()
    }
}

pub(crate) fn asked_to_wait(answer: &Response) -> Option<Duration> {
    let header = answer.headers().get(RETRY_AFTER)?.to_str().ok()?;
    let seconds: u64 = header.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.min(300)))
}

/// Full jitter: anything between nothing and `pause`.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let millis = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(RandomState::new().hash_one(0u8) % millis.saturating_add(1))
}

fn as_folder(root: &Url) -> Url {
    let mut root = root.clone();
    if !root.path().ends_with('/') {
        root.set_path(&format!("{}/", root.path()));
    }
    root
}

fn client_for(workspace: &Workspace) -> Result<Client, SlackError> {
    let base = workspace.base.to_string();
    let client = builder_for(workspace)?.build();
    client.map_err(|_| SlackError::Address { base })
}

/// Makes clients that never send calls for this machine to a proxy.
pub(crate) fn builder_for(workspace: &Workspace) -> Result<ClientBuilder, SlackError> {
    crate::socket::install_tls();
    let root = &workspace.base;
    if root.host().is_none() {
        let base = root.to_string();
        return Err(SlackError::Address { base });
    }
    let builder = Client::builder()
        .tls_backend_preconfigured(workspace.tls()?)
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(60));
    Ok(if is_loopback(root) {
        builder.no_proxy()
    } else {
        builder
    })
}

pub(crate) fn is_loopback(root: &Url) -> bool {
    match root.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}
