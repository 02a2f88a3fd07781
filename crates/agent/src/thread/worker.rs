//! One thread's worker: a flat loop that feeds events to the machine and
//! carries its effects out. Appends are durable before the next effect begins;
//! mail is acknowledged once it is in the log.

mod calls;
mod effects;
mod ending;
mod findings;
mod joining;
mod mail;
mod merging;
mod models;

use std::{
    collections::VecDeque, future::Future, path::PathBuf, pin::Pin, sync::Arc, time::Duration,
};

use butler_journal::{Journal, Presence, ThreadDir};
use butler_protocol::{Entry, Record, fault};
use butler_turn::{Effect, Event, Machine, Setup};
use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::calls::Waiter;
use crate::{
    AgentError,
    agent::{Agent, now_ms},
    listen::work_key::WorkKey,
    tell::decision_log,
    tell::hub_updates::{HubUpdate, HubUpdates},
    thread::{
        context::ThreadContext,
        effects::Done,
        queue,
        slots::Slot,
        tool_session::{self, ToolSession},
        workers::Delivered,
    },
};

/// A worker without work goes away after this; its log brings it back.
const IDLE: Duration = Duration::from_secs(60);

type Doing = Pin<Box<dyn Future<Output = Done> + Send>>;

/// The worker of one thread.
pub struct Worker {
    context: ThreadContext,
    journal: Journal,
    machine: Machine,
    hub_updates: HubUpdates,
    tool_session: Option<ToolSession>,
    /// Calls that wait for the tool session or for an earlier batch.
    waiting: VecDeque<Vec<Waiter>>,
    running: usize,
    /// While we are, nobody packs the folder.
    _present: Presence,
    doing: FuturesUnordered<Doing>,
    queue: VecDeque<Effect>,
    deadline_ms: Option<i64>,
    /// Nobody waits for the Researcher any more: its answers are told as they come.
    patience_over: bool,
    /// Ends the wait of a merge that the forge refused.
    merge_wait: Option<CancellationToken>,
    /// Where it is written down why.
    choices: PathBuf,
    /// Whether the log says anything yet.
    joined: bool,
    turn_of: Option<Slot>,
    /// The number of the mail that the next slot is for.
    arrived: Option<u64>,
    /// Cancelled by a stop, and replaced afterwards; at the end of the process
    /// only when the tools have had their moment.
    work: CancellationToken,
    process: CancellationToken,
}

/// Runs a thread until it is idle or the process ends.
pub async fn run(
    agent: Arc<Agent>,
    work_key: WorkKey,
    inbox: &mut mpsc::Receiver<Delivered>,
    process: CancellationToken,
) -> Result<(), AgentError> {
    let (hub_updates, updates_done) = HubUpdates::start(Arc::clone(&agent), work_key.clone());
    let mut worker = Worker::open(agent, work_key, hub_updates, process.clone()).await?;
    let result = worker.work(inbox).await;
    drop(worker);
    // A hub that stops at the same time must not hold us up.
    tokio::select! {
        _ = updates_done => {}
        () = process.cancelled() => {}
    }
    result
}

impl Worker {
    async fn open(
        agent: Arc<Agent>,
        work_key: WorkKey,
        hub_updates: HubUpdates,
        process: CancellationToken,
    ) -> Result<Self, AgentError> {
        let path = work_key.log(&agent.threads(), agent.role());
        let (present, (journal, log)) = tokio::task::block_in_place(|| {
            let present = ThreadDir::enter(&agent.threads(), &work_key.thread)?;
            Journal::open(&path, agent.epoch).map(|opened| (present, opened))
        })?;
        let choices = ThreadDir::new(&agent.threads(), &work_key.thread).decisions(agent.role());
        let setup = Setup {
            first_activation: work_key.first_activation(),
            thread: work_key.thread.clone(),
            role: agent.role(),
            models: agent.rules().models.chain.clone(),
            prompt: String::new(),
            tools: Vec::new(),
            limits: agent.rules().limits.activation,
        };
        let mut machine = Machine::new(setup, &log);
        let facts = machine.thread();
        let context = ThreadContext::new(Arc::clone(&agent), &work_key, facts, &hub_updates);
        let models = models::models_for(&agent.rules().models, facts);
        let prompt = agent.prompt(&facts.task_words()).await;
        machine.set_models(models);
        machine.set_prompt(prompt);
        machine.set_tools(tool_session::offered(&context));
        let joined = !log.is_empty();
        if joined {
            hub_updates.add(HubUpdate::CatchUp(log)).await;
        }
        Ok(Self {
            _present: present,
            choices,
            joined,
            context,
            journal,
            machine,
            hub_updates,
            tool_session: None,
            waiting: VecDeque::new(),
            running: 0,
            doing: FuturesUnordered::new(),
            queue: VecDeque::new(),
            deadline_ms: None,
            patience_over: false,
            merge_wait: None,
            turn_of: None,
            arrived: None,
            work: CancellationToken::new(),
            process,
        })
    }

    /// Receive, ask the machine, carry out; until there is nothing left to wait for.
    async fn work(&mut self, inbox: &mut mpsc::Receiver<Delivered>) -> Result<(), AgentError> {
        self.feed(Event::Begin { now_ms: now_ms() });
        self.tell_findings();
        if self.machine.is_idle() {
            self.put_up_findings();
        }
        self.mind_merge();
        loop {
            self.carry_out_all().await?;
            let process = self.process.clone();
            let pause = self.pause();
            tokio::select! {
                () = process.cancelled() => return self.wind_down().await,
                Some(done) = self.doing.next() => self.on_done(done).await?,
                mail = inbox.recv() => match mail {
                    Some(Delivered { number, seq, mail }) => {
                        self.arrived.get_or_insert(number);
                        self.context.hear(seq);
                        self.on_mail(mail).await?;
                    }
                    // The process ends: nobody else closes an inbox.
                    None => return self.wind_down().await,
                },
                () = tokio::time::sleep(pause), if self.doing.is_empty() => {
                    if self.deadline_ms.is_none() {
                        return Ok(());
                    }
                    self.out_of_patience();
                }
            }
        }
    }

    /// Until the deadline of a sleeping activation, or until the worker is idle.
    fn pause(&self) -> Duration {
        match self.deadline_ms {
            None => IDLE,
            Some(deadline) => {
                let left = deadline.saturating_sub(now_ms()).max(0);
                Duration::from_millis(u64::try_from(left).unwrap_or(0) + 1)
            }
        }
    }

    fn feed(&mut self, event: Event) {
        let effects = self.machine.on(event);
        self.context.learn(self.machine.thread());
        self.queue.extend(effects);
    }

    async fn on_done(&mut self, done: Done) -> Result<(), AgentError> {
        match done {
            // The stop itself is on its way to us.
            Done::Failed(error) if error.is_stop() => {}
            Done::Failed(error) => return Err(error),
            Done::Nothing => {
                let records = self.context.take_written();
                self.write(records).await?;
            }
            Done::Acted(ack) => {
                let records = self.context.take_written();
                self.write(records).await?;
                if let Some(ack) = ack {
                    ack.send().await;
                }
                self.mind_merge();
            }
            Done::MergeTried => {
                let records = self.context.take_written();
                self.write(records).await?;
                self.merge_wait = None;
                self.mind_merge();
            }
            Done::Queued(told) => {
                let records = self.context.take_written();
                self.write(records).await?;
                self.start(queue::wait(self.context.clone(), *told, self.work.clone()));
            }
            Done::Slot(slot, reserve) => {
                let records = self.context.take_written();
                self.write(records).await?;
                self.sit_down(slot, *reserve);
            }
            Done::ToolSession(tool_session) => {
                self.tool_session = Some(*tool_session);
                self.running -= 1;
                self.next_batch().await?;
            }
            Done::Event(event) => {
                let records = self.context.take_written();
                self.write(records).await?;
                if matches!(event, Event::ToolDone { .. }) {
                    self.running -= 1;
                }
                self.feed(event);
                self.write_ahead().await?;
                self.mind_merge();
                self.next_batch().await?;
            }
        }
        Ok(())
    }

    /// Carries the appends at the head of the queue out, as one write.
    async fn write_ahead(&mut self) -> Result<(), AgentError> {
        let mut records = Vec::new();
        while let Some(Effect::Append(_)) = self.queue.front() {
            if let Some(Effect::Append(record)) = self.queue.pop_front() {
                records.push(record);
            }
        }
        self.append(records).await.map(drop)
    }

    /// A line that the worker writes itself; the machine takes note of it.
    async fn write(&mut self, records: Vec<Record>) -> Result<(), AgentError> {
        for entry in self.append(records).await? {
            self.machine.wrote(&entry);
        }
        self.context.learn(self.machine.thread());
        Ok(())
    }

    async fn append(&mut self, records: Vec<Record>) -> Result<Vec<Entry>, AgentError> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        fault("agent.before-append");
        let entries = tokio::task::block_in_place(|| self.journal.append_all(records, now_ms()))?;
        fault("agent.after-append");
        let chosen = entries.iter();
        let chosen = chosen.filter_map(|entry| decision_log::of_record(&entry.record, entry.at_ms));
        decision_log::keep(&self.choices, &chosen.collect::<Vec<_>>());
        self.joined = true;
        for entry in &entries {
            self.tell_fallback(&entry.record);
        }
        self.hub_updates
            .add(HubUpdate::Records(entries.clone()))
            .await;
        Ok(entries)
    }
}
