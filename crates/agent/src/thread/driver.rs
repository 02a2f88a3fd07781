//! The driver of one machine: takes an effect, carries it out, feeds what came of
//! it. Appends are gathered and durable, in order and with one write, before
//! anything happens that can be seen outside this process. Whom a role talks to,
//! and who pays, is behind [`Edge`]: the hub for the worker of a thread, a
//! terminal for `exec`.

mod calls;
mod edge;
mod model;

use std::{collections::VecDeque, future::Future, pin::Pin, sync::Arc};

use butler_journal::Journal;
use butler_model::ModelClient;
use butler_protocol::{Clock, ModelReply, Receipt, Record, ToolCall, ToolOutcome, fault};
use butler_turn::{Effect, Event, Machine, ModelFailure};
use futures_util::stream::FuturesUnordered;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use self::{calls::Waiter, model::Asked};
pub(crate) use self::{
    edge::{Beginning, Edge},
    model::{Question, complete},
};
use crate::{AgentError, thread::tool_session::ToolSession, thread::worker::Beside};

type Doing<B> = Pin<Box<dyn Future<Output = Done<B>> + Send>>;

/// How something long ended.
pub(crate) enum Done<B = Beside> {
    /// Feed this to the machine.
    Event(Event),
    /// The model answered, or did not.
    Replied(Box<Question>, Result<ModelReply, ModelFailure>),
    /// A tool call is over.
    Tool(ToolCall, ToolOutcome, Option<Receipt>),
    /// The tools can work, unless the work they were opened for was cancelled.
    ToolSession(CancellationToken, Result<Box<ToolSession>, AgentError>),
    /// Nothing follows from it.
    Nothing,
    /// Something beside the machine, for the edge.
    Beside(B),
    /// The work cannot go on; the log knows where to take it up again.
    Failed(AgentError),
}

/// One machine at work.
pub(crate) struct Driver<E: Edge> {
    /// Everybody else.
    pub(crate) edge: E,
    pub(crate) machine: Machine,
    pub(crate) clock: Clock,
    /// Cancelled by a stop, and replaced afterwards; at the end of the process
    /// only when the tools have had their moment.
    pub(crate) work: CancellationToken,
    pub(crate) queue: VecDeque<Effect>,
    pub(crate) doing: FuturesUnordered<Doing<E::Beside>>,
    pub(crate) tool_session: Option<ToolSession>,
    /// Calls that wait for the tool session or for an earlier batch.
    pub(crate) waiting: VecDeque<Vec<Waiter>>,
    pub(crate) running: usize,
    /// The turn in which a call was last put before a person.
    asked_in: Option<u32>,
    /// Held by everything else that a turn consists of: see [`Driver::is_between_turns`].
    at_work: Arc<()>,
    journal: Journal,
    /// Lines that nothing outside depends on yet.
    unwritten: Vec<Record>,
    model: Arc<ModelClient>,
    /// What the last request had.
    asked: Asked,
}

impl<E: Edge> Driver<E> {
    pub(crate) fn new(
        edge: E,
        machine: Machine,
        journal: Journal,
        model: Arc<ModelClient>,
        clock: Clock,
    ) -> Self {
        Self {
            edge,
            machine,
            clock,
            work: CancellationToken::new(),
            queue: VecDeque::new(),
            doing: FuturesUnordered::new(),
            tool_session: None,
            waiting: VecDeque::new(),
            asked_in: None,
            running: 0,
            at_work: Arc::default(),
            journal,
            unwritten: Vec::new(),
            model,
            asked: Asked::default(),
        }
    }

    pub(crate) fn feed(&mut self, event: Event) {
        let effects = self.machine.on(event);
        self.edge.learned(self.machine.thread());
        self.queue.extend(effects);
    }

    pub(crate) fn start(&self, future: impl Future<Output = Done<E::Beside>> + Send + 'static) {
        self.doing.push(Box::pin(future));
    }

    /// The same for what nothing follows from.
    pub(crate) fn aside(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.start(async move {
            work.await;
            Done::Nothing
        });
    }

    /// Held by work that has to be over before the process may end in peace.
    pub(crate) fn busy(&self) -> Arc<()> {
        Arc::clone(&self.at_work)
    }

    /// Whether no model is asked, no tool runs and no decision is being carried out.
    pub(crate) fn is_between_turns(&self) -> bool {
        self.running == 0 && Arc::strong_count(&self.at_work) == 1
    }

    /// Begins everything that can be begun now. Nothing is once the work is cancelled.
    pub(crate) async fn carry_out_all(&mut self) -> Result<(), AgentError> {
        loop {
            self.gather();
            if self.work.is_cancelled() {
                return self.flush().await;
            }
            match self.queue.pop_front() {
                Some(effect) => self.carry_out(effect).await?,
                None if self.running == 0 && !self.waiting.is_empty() => self.next_batch().await?,
                None => return self.flush().await,
            }
        }
    }

    /// One effect. What takes long goes to `doing` and comes back as a [`Done`].
    async fn carry_out(&mut self, effect: Effect) -> Result<(), AgentError> {
        debug!(?effect, "effect");
        if !E::is_inside(&effect) {
            self.flush().await?;
        }
        match effect {
            Effect::Append(record) => self.unwritten.push(record),
            Effect::CallModel(call) => self.ask(call),
            Effect::Summarise { call, messages } => self.summarise(call, messages),
            Effect::RunTools(calls) => self.line_up(&calls),
            Effect::RecoverTools(interrupted) => self.line_up_recoveries(interrupted),
            other => E::carry_out(self, other).await?,
        }
        Ok(())
    }

    /// Takes up what something long has given.
    pub(crate) async fn on_done(&mut self, done: Done<E::Beside>) -> Result<(), AgentError> {
        let mut left = self.edge.left_to_write();
        let brought = self.edge.brought_tools();
        left.extend(brought.map(|tools| self.machine.prompt_with(tools)));
        if !left.is_empty() {
            self.write(left).await?;
        }
        match done {
            // The stop itself is on its way to us.
            Done::Failed(error) if error.is_stop() => {}
            Done::Failed(error) => return Err(error),
            Done::Nothing => {}
            Done::Event(event) => self.feed(event),
            Done::Replied(question, result) => self.replied(*question, result),
            Done::Tool(call, outcome, receipt) => {
                self.running -= 1;
                self.edge.ended(&call, &outcome);
                self.feed(Event::ToolDone {
                    call: call.id,
                    outcome,
                    receipt,
                });
            }
            Done::ToolSession(cancel, opened) => {
                self.running -= 1;
                if !cancel.is_cancelled() {
                    self.tool_session = Some(*opened?);
                }
            }
            Done::Beside(beside) => E::on_beside(self, beside).await?,
        }
        Ok(())
    }

    /// Gathers the appends at the head of the queue.
    fn gather(&mut self) {
        while let Some(Effect::Append(_)) = self.queue.front() {
            if let Some(Effect::Append(record)) = self.queue.pop_front() {
                self.unwritten.push(record);
            }
        }
    }

    /// Makes the appends at the head of the queue durable.
    pub(crate) async fn write_ahead(&mut self) -> Result<(), AgentError> {
        self.gather();
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), AgentError> {
        self.write(Vec::new()).await
    }

    /// Makes every gathered line durable, and `more` behind them, with one write.
    /// The machine takes note of the latter: it knows the others.
    pub(crate) async fn write(&mut self, more: Vec<Record>) -> Result<(), AgentError> {
        let mut records = std::mem::take(&mut self.unwritten);
        let known = records.len();
        records.extend(more);
        if records.is_empty() {
            return Ok(());
        }
        fault("agent.before-append");
        let now_ms = self.clock.now_ms();
        let entries = on_disk(|| self.journal.append_all(records, now_ms))?;
        fault("agent.after-append");
        for entry in entries.iter().skip(known) {
            self.machine.wrote(entry);
        }
        if entries.len() > known {
            self.edge.learned(self.machine.thread());
        }
        E::wrote(self, entries).await;
        Ok(())
    }

    /// How many lines the log has.
    pub(crate) fn lines(&self) -> u64 {
        self.journal.lines()
    }

    /// Ends the background jobs: they do not outlive the activation that started them.
    pub(crate) async fn close_tools(&mut self) -> Option<ToolSession> {
        let tool_session = self.tool_session.take()?;
        tool_session.tool_context.jobs().stop_all().await;
        Some(tool_session)
    }
}

/// Does something slow on the disk where it holds up no other thread's work.
pub(crate) fn on_disk<T>(work: impl FnOnce() -> T) -> T {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
        _ => work(),
    }
}
