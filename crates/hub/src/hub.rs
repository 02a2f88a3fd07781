//! What a hub needs to know, and a hub that runs.

mod address;
pub(crate) mod app;
pub(crate) mod cut_off;
mod lock;
mod ready;
mod router;
mod start;
pub(crate) mod together;
mod upkeep;

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use butler_policy::Redactor;
use butler_protocol::{Clock, LogLine, Secret, Standing, UserId};
use butler_slack::Webhook;
use butler_tls::Fingerprint;
use tokio::task::JoinHandle;
use url::Url;

use crate::{
    Caps, Limits, RelayConfig, Retention,
    agent_api::live_log::LiveLog,
    serve::tls::HubTls,
    store::{StoreThreads, system_clock},
};

pub(crate) use app::App;
pub use lock::runs_in;
pub(crate) use together::{OwnersStore, Ownership};

/// What a hub needs to know.
#[derive(Debug, Clone)]
pub struct HubConfig {
    /// Where to listen; when the port is taken the next free one is used, unless `reach.exact`.
    pub listen: SocketAddr,
    /// Where the store lives.
    pub data_dir: PathBuf,
    /// A database for more than one hub (`postgres://…`), in place of a file there.
    pub database: Option<Secret>,
    /// The last gate.
    pub redactor: Redactor,
    /// How much may be spent.
    pub caps: Caps,
    /// Who may approve commands and merges; empty means everybody.
    pub approvers: Vec<UserId>,
    /// The rights of people and of Slack's user groups, by id; `*` is everybody else.
    pub people: BTreeMap<String, Standing>,
    /// Whether tests may shake connections.
    pub test_hooks: bool,
    /// Shown on the page and told to agents.
    pub version: String,
    /// How others reach it.
    pub reach: Reach,
    /// Services that are told something, or that tell.
    pub outside: Outside,
    /// Real Slack; without it the hub is the workspace itself.
    pub relay: Option<RelayConfig>,
    /// What an operator sets beside all that.
    pub operation: Operation,
    /// What time it is.
    pub clock: Clock,
}

/// How others reach a hub.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// The page's address as people reach it, where that is not this machine.
    pub public_url: Option<Url>,
    /// The certificate; without one nothing is encrypted.
    pub tls: Option<HubTls>,
    /// Consent to listen where other machines can reach it, without a certificate.
    pub anywhere: bool,
    /// Whether another port will not do when this one is taken.
    pub exact: bool,
}

/// Services besides Slack and the model; none of them has to be there.
#[derive(Debug, Clone, Default)]
pub struct Outside {
    /// Is told what newly waits for somebody.
    pub webhook: Option<Webhook>,
    /// A collector of traces, where threads are to be followed from message to merge.
    pub traces: Option<Webhook>,
    /// What the forge signs its webhooks with; without it none is taken.
    pub forge_secret: Option<Secret>,
}

/// What an operator sets, and what holds without a word of theirs.
#[derive(Debug, Clone)]
pub struct Operation {
    /// After so long somebody is told that the role they named is not running.
    pub absent_after: Duration,
    /// How long things are kept as they are.
    pub retention: Retention,
    /// What a repository, a person or a token may use.
    pub limits: Limits,
    /// Who may read the metrics from another machine; without it only this one may.
    pub metrics_token: Option<Secret>,
}

impl Default for Operation {
    fn default() -> Self {
        Self {
            absent_after: Duration::from_secs(30),
            retention: Retention::default(),
            limits: Limits::default(),
            metrics_token: None,
        }
    }
}

impl HubConfig {
    /// A hub on loopback with the usual caps.
    #[must_use]
    pub fn new(listen: SocketAddr, data_dir: PathBuf, redactor: Redactor) -> Self {
        Self {
            listen,
            data_dir,
            database: None,
            redactor,
            caps: Caps::default(),
            approvers: Vec::new(),
            people: BTreeMap::new(),
            test_hooks: false,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            reach: Reach::default(),
            outside: Outside::default(),
            relay: None,
            operation: Operation::default(),
            clock: system_clock(),
        }
    }
}

/// A running hub.
#[derive(Debug)]
pub struct Hub {
    address: SocketAddr,
    fingerprint: Option<Fingerprint>,
    live_log: Arc<LiveLog>,
    server: JoinHandle<()>,
    relay: Option<JoinHandle<()>>,
    /// Posts for later, and words about who is not there.
    later: Vec<JoinHandle<()>>,
    store: StoreThreads,
}

impl Hub {
    /// Where processes of this machine reach it.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What its certificate is known by; nothing when it has none.
    #[must_use]
    pub fn fingerprint(&self) -> Option<&Fingerprint> {
        self.fingerprint.as_ref()
    }

    /// Shows lines of the hub's own log on the page. Secrets are out of them.
    pub fn noter(&self) -> impl Fn(LogLine) + Send + Sync + 'static {
        let log = Arc::clone(&self.live_log);
        move |line| log.add(line)
    }

    #[cfg(test)]
    pub(crate) fn store(&self) -> &crate::store::Store {
        self.store.store()
    }

    /// Waits until it has stopped; cancel the token it was started with first.
    pub async fn wait(self) {
        // A panic of the server was already reported by the runtime.
        let _ = self.server.await;
        for task in self.later {
            let _ = task.await;
        }
        if let Some(relay) = self.relay {
            let _ = relay.await;
        }
        self.store.close().await;
    }
}
