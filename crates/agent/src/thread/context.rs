//! A role's place in one thread: what its chat tools and its orders share.

use std::sync::{Arc, Mutex, PoisonError};

use butler_playbook::Profile;
use butler_protocol::{CallId, Idem, Record, RequestId, Role, Sha256Hex, ThreadId, ToolSpec};
use butler_tools::KeptPages;
use butler_turn::ThreadFold;

use crate::{
    agent::Agent,
    listen::work_key::WorkKey,
    tell::{
        checklist::{Board, Wanted},
        hub_updates::HubUpdates,
        poster::Poster,
    },
    thread::live_work::LiveBoard,
    upkeep::work_so_far::Sharing,
};

/// One role in one thread. Cheap to clone; clones share what is known, and each
/// remembers how much of the thread was heard when it was made.
#[derive(Clone)]
pub(crate) struct ThreadContext {
    /// The process this context belongs to.
    pub(crate) agent: Arc<Agent>,
    /// Its line to the thread. What was begun before a stop speaks over a line
    /// that has not heard of it, and the hub refuses that.
    pub(crate) poster: Poster,
    /// The thread.
    pub(crate) thread: ThreadId,
    /// The one request that this context is about, in the Researcher's process.
    pub(crate) research: Option<RequestId>,
    facts: Arc<Mutex<Arc<ThreadFold>>>,
    to_write: Arc<Mutex<Vec<Record>>>,
    brought: Arc<Mutex<Option<Vec<ToolSpec>>>>,
    /// Shows people how far the work is.
    board: Arc<Board>,
    /// What people see who watch.
    pub(crate) live: Arc<LiveBoard>,
    /// Pages of the web that were read a moment ago.
    pub(crate) pages: KeptPages,
    /// The work so far is brought to the remote, for another process of the role.
    pub(crate) sharing: Arc<Sharing>,
}

impl ThreadContext {
    /// A context with what the log already says.
    pub(crate) fn new(
        agent: Arc<Agent>,
        work_key: &WorkKey,
        facts: &ThreadFold,
        hub_updates: &HubUpdates,
    ) -> Self {
        let mut poster = agent.poster.clone();
        poster.heard = Some(facts.seen.heard);
        poster.updates = Some(hub_updates.behind());
        poster.web = poster.web.in_thread(&work_key.thread);
        poster.control = poster.control.in_thread(&work_key.thread);
        Self {
            poster,
            agent,
            thread: work_key.thread.clone(),
            research: work_key.research.clone(),
            facts: Arc::new(Mutex::new(Arc::new(facts.clone()))),
            to_write: Arc::default(),
            brought: Arc::default(),
            board: Arc::default(),
            live: Arc::clone(&hub_updates.live),
            pages: KeptPages::default(),
            sharing: Arc::default(),
        }
    }

    /// An event of the thread came in. Clones that were made before do not know.
    pub(crate) fn hear(&mut self, seq: u64) {
        self.poster.heard = self.poster.heard.max(Some(seq));
    }

    /// Who sits here.
    pub(crate) fn role(&self) -> Role {
        self.agent.role()
    }

    /// What time it is.
    pub(crate) fn now_ms(&self) -> i64 {
        self.agent.now_ms()
    }

    /// What the log says about the thread, as it is now.
    pub(crate) fn facts(&self) -> Arc<ThreadFold> {
        Arc::clone(&self.facts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The log has grown.
    pub(crate) fn learn(&self, facts: &ThreadFold) {
        self.live.list(&facts.moving.progress);
        if facts.moving.progress.is_due() {
            self.board.show(Wanted {
                poster: self.poster.clone(),
                thread: self.thread.clone(),
                research: self.research.as_ref().map(ToString::to_string),
                progress: facts.moving.progress.clone(),
                records: Arc::clone(&self.to_write),
            });
        }
        let facts = Arc::new(facts.clone());
        *self.facts.lock().unwrap_or_else(PoisonError::into_inner) = facts;
    }

    /// Leaves a record that must be in the log before the call's result is.
    pub(crate) fn write(&self, record: Record) {
        self.to_write
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(record);
    }

    /// Takes the records that calls have left.
    pub(crate) fn take_written(&self) -> Vec<Record> {
        std::mem::take(&mut *self.to_write.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Leaves the tools that the model is offered from its next request on.
    pub(crate) fn bring(&self, tools: Vec<ToolSpec>) {
        *self.brought.lock().unwrap_or_else(PoisonError::into_inner) = Some(tools);
    }

    /// Takes the tools that a call has left.
    pub(crate) fn take_brought(&self) -> Option<Vec<ToolSpec>> {
        let mut brought = self.brought.lock().unwrap_or_else(PoisonError::into_inner);
        brought.take()
    }

    /// Whether the role's model is one that can be told little at once.
    pub(crate) fn is_small(&self) -> bool {
        self.agent.rules().models.profile == Profile::Small
    }

    /// The key of a post made by a tool call: the same call makes the same key.
    pub(crate) fn idem(&self, call: &CallId) -> Idem {
        Idem::new(format!("{}-{}-{call}", self.thread.short(), self.role()))
    }

    /// The key of a post made for a decision.
    pub(crate) fn idem_for(&self, request: &RequestId, what: &str) -> Idem {
        Idem::new(format!(
            "{}-{}-{request}-{what}",
            self.thread.short(),
            self.role()
        ))
    }
}

/// The n-th card of a tool call that asks for several.
pub(crate) fn request_nth(call: &CallId, number: u32) -> RequestId {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let hash = Sha256Hex::of(format!("{call} {number}"));
    let byte = |at: usize| usize::from_str_radix(&hash.as_str()[at..at + 2], 16).unwrap_or(0);
    let letters = (0..6).map(|at| char::from(LETTERS[byte(2 * at) % 32]));
    RequestId::new(letters.collect::<String>())
}
