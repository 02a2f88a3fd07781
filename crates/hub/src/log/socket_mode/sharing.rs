//! The connections of one app that is not ours. Slack lets an app have ten and gives each
//! envelope to one of them; so do we. Who leaves gives back what it has not acknowledged.
//! Our own agents have one connection each and share nothing.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    hub::App,
    log::{AgentKey, Notice},
};

/// Connections of one app at a time.
const CONNECTIONS: usize = 10;
/// Acknowledged envelopes that are remembered, for a connection that comes late to them.
const REMEMBERED: usize = 4096;

/// Who has which envelope.
#[derive(Default)]
pub(crate) struct Sharing(Mutex<HashMap<AgentKey, Shared>>);

#[derive(Default)]
struct Shared {
    next: u64,
    open: BTreeSet<u64>,
    /// By event: the connection that has it, nobody once it is acknowledged.
    held: BTreeMap<u64, Option<u64>>,
}

impl Sharing {
    fn with<T>(&self, agent: AgentKey, look: impl FnOnce(&mut Shared) -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        look(all.entry(agent).or_default())
    }
}

/// One connection's part, from its hello to its end.
pub(super) struct Part {
    app: Arc<App>,
    agent: AgentKey,
    number: u64,
    /// How many there are with it.
    pub(super) connections: usize,
}

impl Part {
    /// Joins; nothing where the app has as many as it may.
    pub(super) fn join(app: &Arc<App>, agent: AgentKey) -> Option<Self> {
        let joined = app.sockets.sharing.with(agent, |shared| {
            if shared.open.len() >= CONNECTIONS {
                return None;
            }
            shared.next += 1;
            shared.open.insert(shared.next);
            Some((shared.next, shared.open.len()))
        });
        let (number, connections) = joined?;
        Some(Self {
            app: Arc::clone(app),
            agent,
            number,
            connections,
        })
    }

    /// Whether this connection may send the envelope: nobody else has it.
    pub(super) fn takes(&self, seq: u64) -> bool {
        let number = self.number;
        self.app.sockets.sharing.with(self.agent, |shared| {
            *shared.held.entry(seq).or_insert(Some(number)) == Some(number)
        })
    }

    /// The app has it.
    pub(super) fn done(&self, seq: u64) {
        self.app.sockets.sharing.with(self.agent, |shared| {
            shared.held.insert(seq, None);
            while shared.held.len() > REMEMBERED {
                shared.held.pop_first();
            }
        });
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let number = self.number;
        let left = self.app.sockets.sharing.with(self.agent, |shared| {
            shared.open.remove(&number);
            shared.held.retain(|_, holder| *holder != Some(number));
            !shared.open.is_empty()
        });
        if left {
            let freed = Notice::Freed { agent: self.agent };
            let _ = self.app.notices.send(Arc::new(freed));
        }
    }
}
