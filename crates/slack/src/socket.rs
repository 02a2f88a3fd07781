//! Socket Mode, kept alive. [`Socket`] is the reader's end; a keeper task owns
//! the connections, one link task owns each WebSocket.
//!
//! ```text
//! reader ── Socket ──(acks)──▶ keeper ──(frames)──▶ link ── WebSocket
//!              ◀──(envelopes)──       ◀──(reports)──
//! ```
//!
//! Promises: before a refresh ends the old connection the next one is open; an
//! envelope that was acknowledged here is never given out again, also when the
//! acknowledgement was lost with its connection; every pause is jittered.

mod dial;
mod keeper;
mod link;

use std::{fmt, sync::Arc, sync::OnceLock};

use butler_protocol::{Epoch, Secret, Speaks};
use futures_util::future::BoxFuture;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::{Envelope, EnvelopeId, SharedEpoch, SlackError, Workspace};

/// Why a socket is over for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// We were told to stop.
    Cancelled,
    /// A newer process speaks for this role.
    Displaced,
    /// Socket Mode was switched off in the app's settings.
    Disabled,
    /// The token is not accepted; Slack's name of the error.
    Refused(String),
    /// This process and the hub cannot work together; which of the two to update.
    TooOld(String),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Cancelled => f.write_str("stopped"),
            Ended::Displaced => f.write_str("another process speaks for this role now"),
            Ended::Disabled => f.write_str("Socket Mode is switched off for this app"),
            Ended::Refused(code) if code == "missing_scope" => {
                f.write_str("the app-level token lacks the scope connections:write")
            }
            Ended::TooOld(words) => f.write_str(words),
            Ended::Refused(code) => write!(f, "the app-level token is not accepted ({code})"),
        }
    }
}

/// Whether a workspace is heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hearing {
    /// No connection is open, and another is tried.
    Reconnecting {
        /// Why the last try led to nothing.
        why: Option<String>,
        /// How many did, in a row.
        tries: u32,
    },
    /// A connection is open.
    Connected {
        /// Connections of the same app that are not ours: each of them takes events.
        others: u32,
    },
    /// It is over.
    Ended(Ended),
}

/// How this process stands among those of its role, as the hub says at each hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// It does what only one of them does.
    pub first: bool,
    /// There are others.
    pub shared: bool,
}

impl Default for Standing {
    /// Alone, as with a hub that knows one process per role.
    fn default() -> Self {
        Self {
            first: true,
            shared: false,
        }
    }
}

/// The receiving end of a workspace.
#[derive(Debug)]
pub struct Socket {
    envelopes: mpsc::Receiver<Envelope>,
    acks: mpsc::Sender<EnvelopeId>,
    epoch: SharedEpoch,
    gaps: watch::Receiver<u64>,
    hearing: watch::Receiver<Hearing>,
    standing: watch::Receiver<Standing>,
    ended: Arc<OnceLock<Ended>>,
    keeper: JoinHandle<()>,
}

impl Socket {
    /// Connects to the workspace at `base` and returns after its first `hello`,
    /// however long that takes. From then on it reconnects by itself until
    /// `cancel`, or until there is no use in trying.
    /// Errors: [`SlackError::Ended`] when the token is refused or `cancel` comes first;
    /// [`SlackError::Address`] when `base` cannot be used.
    pub fn open(
        base: impl Into<Workspace>,
        app_token: Secret,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Self, SlackError>> {
        Self::open_as(None, base, app_token, cancel)
    }

    /// As [`Socket::open`], for one of several processes of a role: a hub gives each of
    /// them threads of its own.
    pub fn open_as(
        process: Option<String>,
        base: impl Into<Workspace>,
        app_token: Secret,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Self, SlackError>> {
        let workspace = base.into();
        Box::pin(async move {
            let socket = Self::start_as(process, &workspace, app_token, cancel)?;
            let mut hearing = socket.hearing();
            let settled = |hearing: &Hearing| !matches!(hearing, Hearing::Reconnecting { .. });
            // The keeper says why it ends before it does.
            let _ = hearing.wait_for(settled).await;
            match socket.ended() {
                Some(_) => Err(SlackError::Ended(socket.close().await)),
                None => Ok(socket),
            }
        })
    }

    /// As [`Socket::open`], and returns at once: [`Socket::hearing`] says how it goes.
    /// Fails when the address or the file of certificates cannot be used.
    pub fn start(
        workspace: &Workspace,
        app_token: Secret,
        cancel: CancellationToken,
    ) -> Result<Self, SlackError> {
        Self::start_as(None, workspace, app_token, cancel)
    }

    fn start_as(
        process: Option<String>,
        workspace: &Workspace,
        app_token: Secret,
        cancel: CancellationToken,
    ) -> Result<Self, SlackError> {
        let (given_out, envelopes) = mpsc::channel(64);
        let (acks, acked) = mpsc::channel(256);
        let epoch = SharedEpoch::default();
        let ended = Arc::new(OnceLock::new());
        let (gap, gaps) = watch::channel(0);
        let begin = Hearing::Reconnecting {
            why: None,
            tries: 0,
        };
        let (heard, hearing) = watch::channel(begin);
        let (stands, standing) = watch::channel(Standing::default());
        let keeper = keeper::start(keeper::Ends {
            trust: Arc::new(workspace.tls()?),
            workspace: workspace.clone(),
            process,
            app_token,
            given_out,
            acked,
            epoch: epoch.clone(),
            gaps: gap,
            hearing: heard,
            standing: stands,
            ended: Arc::clone(&ended),
            cancel,
        })?;
        Ok(Self {
            envelopes,
            acks,
            epoch,
            gaps,
            hearing,
            standing,
            ended,
            keeper,
        })
    }

    /// How this process stands among those of its role, now and from now on.
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.clone()
    }

    /// Whether the workspace is heard, now and from now on.
    pub fn hearing(&self) -> watch::Receiver<Hearing> {
        self.hearing.clone()
    }

    /// The next envelope; `None` when the socket has ended for good, see
    /// [`Socket::ended`]. Safe to drop between two calls.
    pub async fn next(&mut self) -> Option<Envelope> {
        self.envelopes.recv().await
    }

    /// Acknowledges an envelope. Call it once what it says is on disk.
    /// Fails when the socket has ended; the envelope will be delivered again.
    pub async fn ack(&self, id: &EnvelopeId) -> Result<(), SlackError> {
        self.acks
            .send(id.clone())
            .await
            .map_err(|_| SlackError::Ended(self.ended.get().cloned().unwrap_or(Ended::Cancelled)))
    }

    /// A handle that acknowledges, for tasks that do not own the socket.
    pub fn acker(&self) -> Acker {
        Acker(self.acks.clone())
    }

    /// The epoch that the hub gave this process; zero with real Slack.
    pub fn epoch(&self) -> Epoch {
        self.epoch.get()
    }

    /// The epoch to give to [`crate::Web`] and [`crate::Control`], so that they
    /// speak for this connection.
    pub fn shared_epoch(&self) -> SharedEpoch {
        self.epoch.clone()
    }

    /// Counts the times that something may have gone unheard: a connection came
    /// up while no other was open, the first one included, or one ended.
    pub fn gaps(&self) -> watch::Receiver<u64> {
        self.gaps.clone()
    }

    /// Hangs up, waits until every connection is closed, and says why it ended.
    pub async fn close(self) -> Ended {
        let Self {
            envelopes,
            acks,
            ended,
            keeper,
            ..
        } = self;
        // Without a reader there is nothing to keep open.
        drop((envelopes, acks));
        // A panic of the keeper was already reported by the runtime.
        let _ = keeper.await;
        ended.get().cloned().unwrap_or(Ended::Cancelled)
    }

    /// Why it ended, once it has.
    pub fn ended(&self) -> Option<Ended> {
        self.ended.get().cloned()
    }
}

/// Acknowledges envelopes on behalf of a [`Socket`].
#[derive(Debug, Clone)]
pub struct Acker(mpsc::Sender<EnvelopeId>);

impl Acker {
    /// As [`Socket::ack`]; false when the socket has ended.
    pub async fn ack(&self, id: &EnvelopeId) -> bool {
        self.0.send(id.clone()).await.is_ok()
    }
}

/// How this build introduces itself to a hub.
fn this_build() -> Speaks {
    Speaks::this_build(env!("CARGO_PKG_VERSION"))
}

/// TLS needs a provider once per process; whoever comes first sets it.
pub(crate) fn install_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
