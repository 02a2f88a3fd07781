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
    error::Trouble,
    hub::together::Ownership,
    identity::{self, Identity},
    log::{
        acks::{AckQueue, Acks},
        listeners::Listeners,
        notice::Notice,
        socket_mode::{Tickets, options::Options, sharing::Sharing},
    },
    metrics::{counters::Counters, traces::Traces},
    page::Welcome,
    presence::Presence,
    relay::{Relay, hearing::SlackStatus},
    store::Store,
    views::company::Beside,
    workspace::decide::Rules,
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
    /// Tokens of agents that were looked up; they never change owner. People can be
    /// sent away, so theirs are looked up each time.
    pub(crate) known: Mutex<HashMap<Sha256Hex, Identity>>,
    /// Whether this hub does what only one of a store may do.
    pub(crate) ownership: Ownership,
}

/// What connections of Socket Mode share.
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
        };
        (sockets, queue)
    }
}

/// How this hub is reached.
pub(crate) struct Reached {
    pub(crate) address: SocketAddr,
    /// A name of this machine that only our own pages know.
    pub(crate) own_name: String,
    /// The page's address as people reach it, where that is not this machine.
    pub(crate) public_url: Option<Url>,
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
            known: self.presence.facts.known(),
            usual: self.rules.caps.clone(),
            version: self.version.clone(),
        }
    }

    /// How it stands with Slack, when it is behind us.
    pub(crate) fn slack(&self) -> Option<SlackStatus> {
        let relay = self.relay.as_ref()?;
        Some(relay.status(self.store.now_ms()))
    }

    /// Whom a token belongs to.
    pub(crate) async fn identify(&self, token: &str) -> Result<Option<Identity>, Trouble> {
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
        if let Some(identity @ (Identity::Bot(_) | Identity::App(_))) = &found {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(hash, identity.clone());
        }
        Ok(found)
    }
}
