//! What every handler shares.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use butler_policy::Redactor;
use butler_protocol::{Sha256Hex, Speaks};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    agent_api::live_log::LiveLog,
    budget::limits::Pace,
    error::Result,
    hub::{Operation, OwnersStore, Ownership, cut_off::CutOff},
    identity::{self, Identity},
    log::{
        Notice,
        acks::{AckQueue, Acks},
        listeners::Listeners,
        socket_mode::{Tickets, options::Options, sharing::Sharing},
    },
    metrics::{counters::Counters, traces::Traces},
    page::Welcome,
    presence::Presence,
    relay::{Relay, hearing::SlackStatus},
    store::{Db, Store, Tx},
    views::company::Beside,
    workspace::Rules,
};

/// The hub's insides.
pub(crate) struct App {
    pub(crate) store: Store,
    pub(crate) notices: broadcast::Sender<Arc<Notice>>,
    pub(crate) redactor: Redactor,
    pub(crate) rules: Rules,
    pub(crate) sockets: Sockets,
    pub(crate) presence: Presence,
    pub(crate) test_hooks: bool,
    pub(crate) version: String,
    pub(crate) welcome: Welcome,
    pub(crate) reached: Reached,
    /// Real Slack, when it is behind us.
    pub(crate) relay: Option<Arc<Relay>>,
    pub(crate) cancel: CancellationToken,
    /// What people watch the team by.
    pub(crate) watched: Watched,
    /// Tokens of this machine's agents that were looked up; they never change owner.
    /// People and other machines can be sent away, so theirs are looked up each time.
    pub(crate) known: Mutex<HashMap<Sha256Hex, Identity>>,
    /// Whether this hub does what only one of a store may do.
    pub(crate) ownership: Ownership,
    /// What the operator set.
    pub(crate) operation: Operation,
}

/// What connections and calls of apps share.
pub(crate) struct Sockets {
    /// Who hears what.
    pub(crate) listeners: Arc<Listeners>,
    /// What was acknowledged.
    pub(crate) acks: Acks,
    /// What lets a connection in, once.
    pub(crate) tickets: Tickets,
    /// Which connection of an app takes which event.
    pub(crate) sharing: Sharing,
    /// Who waits for the options of a menu.
    pub(crate) options: Options,
    /// How often each token has called lately.
    pub(crate) calls: Pace<Sha256Hex>,
    /// Whether the hub is out of reach of the store that it shares, which ends them.
    pub(crate) cut_off: CutOff,
}

impl Sockets {
    /// With the queue of what is acknowledged, for whoever writes it down.
    pub(super) fn new() -> (Self, AckQueue) {
        let (acks, queue) = Acks::new();
        let sockets = Self {
            listeners: Arc::default(),
            acks,
            tickets: Tickets::default(),
            sharing: Sharing::default(),
            options: Options::default(),
            calls: Pace::default(),
            cut_off: CutOff::new(),
        };
        (sockets, queue)
    }
}

/// How this hub is reached.
pub(crate) struct Reached {
    pub(crate) address: SocketAddr,
    /// A name of this machine that only our own pages know.
    pub(crate) own_name: String,
    /// Whether only this machine reaches it.
    pub(crate) only_here: bool,
    /// The page's address as people reach it, where that is not this machine.
    pub(crate) public_url: Option<Url>,
    /// Whether the hub itself encrypts.
    pub(crate) encrypted: bool,
}

impl Reached {
    /// The beginning of addresses for whoever reached us by this name, as in
    /// `https://team.example`. The public address may be encrypted by somebody else.
    pub(crate) fn base(&self, host: Option<&str>) -> String {
        let host = host.map_or_else(|| self.address.to_string(), str::to_owned);
        let public = self.public_url.as_ref().filter(|url| {
            let port = url.port().map(|port| format!(":{port}"));
            let name = url.host_str().unwrap_or_default();
            host == format!("{name}{}", port.unwrap_or_default())
        });
        let scheme = public.map_or(self.scheme(), Url::scheme);
        format!("{scheme}://{host}")
    }

    /// By which this hub itself is spoken to.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.encrypted { "https" } else { "http" }
    }
}

/// What people watch the team by.
pub(crate) struct Watched {
    /// The newest log lines of every process.
    pub(crate) live_log: Arc<LiveLog>,
    /// What is counted for `/metrics`.
    pub(crate) counters: Counters,
    /// Where spans of threads go.
    pub(crate) traces: Traces,
}

impl App {
    /// How this hub introduces itself to agents.
    pub(crate) fn speaks(&self) -> Speaks {
        Speaks::this_build(&self.version)
    }

    /// What is known of agents and limits beside the store.
    pub(crate) fn beside(&self) -> Beside {
        Beside {
            online: self.presence.online(),
            known: self.presence.facts.known(self.store.now_ms()),
            usual: self.rules.caps.clone(),
            limits: self.rules.limits.clone(),
            refused: self.watched.counters.refusals(),
            version: self.version.clone(),
        }
    }

    /// Looks something up in the store.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Db) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.store.read(look).await
    }

    /// Changes the store; see [`Store::write`].
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.store.write(work).await
    }

    /// Changes it in the name of the owner; see [`OwnersStore::write`].
    pub(crate) async fn write_as_owner<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.as_owner().write(work).await
    }

    /// The store, for what is done in the name of the owner.
    pub(crate) fn as_owner(&self) -> OwnersStore<'_> {
        OwnersStore::new(&self.store, &self.ownership)
    }

    /// How it stands with Slack, when it is behind us.
    pub(crate) fn slack(&self) -> Option<SlackStatus> {
        let relay = self.relay.as_ref()?;
        let now = self.store.now_ms();
        Some(match self.ownership.is_owner() {
            true => relay.status(now),
            false => SlackStatus::heard_by_another(now),
        })
    }

    /// Whom a token belongs to.
    pub(crate) async fn identify(&self, token: &str) -> Result<Option<Identity>> {
        let hash = Sha256Hex::of(token);
        let remembered = self
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&hash)
            .cloned();
        if remembered.is_some() {
            return Ok(remembered);
        }
        let token = token.to_owned();
        let found = self
            .store
            .read(move |db| identity::of_token(db, &token))
            .await?;
        if let Some(identity @ (Identity::Bot(agent) | Identity::App(agent))) = &found
            && agent.machine.is_none()
        {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(hash, identity.clone());
        }
        Ok(found)
    }
}
