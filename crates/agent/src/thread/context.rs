//! A role's place in one thread: what its chat tools and its orders share.

use std::{
    fmt::Display,
    sync::{Arc, Mutex, PoisonError},
};

use butler_playbook::Profile;
use butler_protocol::{
    CallId, CommitSha, HandOver, Idem, PlanSummary, Record, RequestId, Role, Sha256Hex, ThreadId,
    ToolSpec,
};
use butler_repo::Changes;
use butler_slack::{Posted, SlackError};
use butler_tools::KeptPages;
use butler_turn::ThreadFold;
use tokio_util::sync::CancellationToken;

use crate::{
    Agent,
    decide::cards::{self, NewCard},
    listen::work_key::WorkKey,
    tell::{
        checklist::{Board, Wanted},
        hub_updates::HubUpdates,
        poster::Poster,
        thread_logs::{self, RoleLog},
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
    /// What earlier threads planned and cost, for whoever estimates.
    pub(crate) past: Arc<[PlanSummary]>,
    /// Ends what is done here.
    pub(crate) cancel: CancellationToken,
}

impl ThreadContext {
    /// A context with what the log already says.
    pub(crate) fn new(
        agent: Arc<Agent>,
        work_key: &WorkKey,
        facts: &ThreadFold,
        hub_updates: &HubUpdates,
        cancel: CancellationToken,
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
            past: Arc::default(),
            cancel,
        }
    }

    /// An event of the thread came in. Clones that were made before do not know.
    pub(crate) fn hear(&mut self, seq: u64) {
        self.poster.heard = self.poster.heard.max(Some(seq));
    }

    /// The same for work that ends with `cancel`.
    pub(crate) fn until(&self, cancel: &CancellationToken) -> Self {
        let mut context = self.clone();
        context.cancel = cancel.clone();
        context
    }

    /// The same for whoever estimates.
    pub(crate) fn with_past(&self, past: Vec<PlanSummary>) -> Self {
        Self {
            past: past.into(),
            ..self.clone()
        }
    }

    /// The same for what nobody begun and no stop may hold up: it has heard nothing.
    pub(crate) fn unstopped(mut self) -> Self {
        self.poster.heard = None;
        self
    }

    /// Says something in the thread; the same key says it once.
    pub(crate) async fn say(&self, idem: Idem, text: &str) -> Result<Posted, SlackError> {
        self.poster.say(&self.thread, idem, text).await
    }

    /// The same about something that was decided.
    pub(crate) async fn say_of(
        &self,
        request: &RequestId,
        what: &str,
        text: &str,
    ) -> Result<Posted, SlackError> {
        self.say(self.idem_for(request, what), text).await
    }

    /// Asks everybody who took part; with nothing to press it is answered in words.
    pub(crate) async fn ask_all(
        &self,
        idem: Idem,
        text: &str,
        buttons: &[(String, &str)],
    ) -> Result<Posted, SlackError> {
        let people = self.poster.people(&self.thread).await?;
        let (poster, thread) = (&self.poster, &self.thread);
        match buttons {
            [] => poster.ask_people(thread, idem, &people, text).await,
            _ => poster.offer_to(thread, idem, &people, text, buttons).await,
        }
    }

    /// Passes typed work on.
    pub(crate) async fn hand_over(
        &self,
        idem: Idem,
        body: &HandOver,
    ) -> Result<Posted, SlackError> {
        self.poster.hand_over(&self.thread, idem, body).await
    }

    /// The same for a tool call, and in the log.
    pub(crate) async fn give(
        &self,
        call: &CallId,
        idem: Idem,
        body: HandOver,
    ) -> Result<(), SlackError> {
        self.hand_over(idem, &body).await?;
        self.write(Record::Gave {
            call: call.clone(),
            hand_over: Box::new(body),
        });
        Ok(())
    }

    /// Puts a card before people, and leaves it for the log.
    pub(crate) async fn put_up(&self, idem: Idem, card: NewCard) -> Result<(), SlackError> {
        self.write(cards::post(self, idem, card).await?);
        Ok(())
    }

    /// Who sits here.
    pub(crate) fn role(&self) -> Role {
        self.agent.role()
    }

    /// What time it is.
    pub(crate) fn now_ms(&self) -> i64 {
        self.agent.now_ms()
    }

    /// What the thread changed, as its branch is at this head.
    pub(crate) async fn changes_at(&self, head: &CommitSha) -> Result<Changes, butler_repo::Error> {
        let repo = &self.agent.repo;
        repo.changes_of(&self.thread, head, &self.cancel).await
    }

    /// The files of that, by path.
    pub(crate) async fn files_at(
        &self,
        head: &CommitSha,
    ) -> Result<Vec<String>, butler_repo::Error> {
        let changes = self.changes_at(head).await?;
        Ok(changes.files.into_iter().map(|file| file.path).collect())
    }

    /// What the log says about the thread, as it is now.
    pub(crate) fn facts(&self) -> Arc<ThreadFold> {
        Arc::clone(&self.facts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Every role's log of the thread.
    pub(crate) async fn logs(&self) -> Result<Vec<RoleLog>, SlackError> {
        thread_logs::of_thread(&self.agent, &self.thread).await
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

    /// A key of this role in this thread, for what is posted once.
    pub(crate) fn key(&self, what: impl Display) -> Idem {
        Idem::new(format!("{}-{}-{what}", self.thread.short(), self.role()))
    }

    /// The key of a post made by a tool call: the same call makes the same key.
    pub(crate) fn idem(&self, call: &CallId) -> Idem {
        self.key(call)
    }

    /// The key of a post made for a decision.
    pub(crate) fn idem_for(&self, request: &RequestId, what: &str) -> Idem {
        self.key(format_args!("{request}-{what}"))
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
