//! One thread's worker: the driver of its machine at the hub. It listens to the
//! thread while it works; mail is acknowledged once it is in the log.

pub(crate) mod attached;
mod cards;
mod effects;
mod ending;
mod findings;
mod joining;
mod mail;
mod memory;
mod merging;
pub(crate) mod models;
mod taking_up;

use std::{sync::Arc, time::Duration};

use butler_journal::{Presence, ThreadDir};
use butler_protocol::{Idem, LogEnd, Record};
use butler_turn::{Event, Machine, Reserve, Setup};
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use self::taking_up::TakenUp;
use crate::{
    Agent, AgentError, ThreadContext,
    listen::{intake::Ack, work_key::WorkKey},
    tell::{
        hub_updates::{HubUpdate, HubUpdates},
        kept_views::KeptViews,
    },
    thread::{
        driver::{Done, Driver},
        queue::Told,
        slots::Slot,
        tool_session,
        workers::Delivered,
    },
};

/// A worker without work goes away after this; its log brings it back.
const IDLE: Duration = Duration::from_secs(60);

/// The worker of one thread.
pub(crate) type Worker = Driver<HubEdge>;

/// What a worker has besides its machine.
pub(crate) struct HubEdge {
    context: ThreadContext,
    hub_updates: HubUpdates,
    /// While we are, nobody packs the folder.
    _present: Presence,
    deadline_ms: Option<i64>,
    /// Nobody waits for the Researcher any more: its answers are told as they come.
    patience_over: bool,
    /// Ends the wait of a merge that the forge refused.
    merge_wait: Option<CancellationToken>,
    /// Whether news from the forge is being told.
    telling: bool,
    /// The log as people read it.
    views: KeptViews,
    /// Where the log ends, as the hub compares it.
    end: LogEnd,
    /// Whether the log says anything yet.
    joined: bool,
    turn_of: Option<Slot>,
    /// The number of the mail that the next slot is for.
    arrived: Option<u64>,
    process: CancellationToken,
}

/// What can come of something that a worker does beside its machine.
pub(crate) enum Beside {
    /// What a person asked for is done; told to the hub once it is written.
    Acted(Option<Ack>),
    /// A refused merge was tried again, or is not to be.
    MergeTried,
    /// So many news from the forge are told.
    PullTold(u32),
    /// The thread knows its place in the queue.
    Queued(Box<Told>),
    /// It has a slot, and may ask for the money.
    Slot(Slot, Box<Reserve>),
}

/// Runs a thread until it is idle or the process ends.
pub(crate) async fn run(
    agent: Arc<Agent>,
    work_key: WorkKey,
    inbox: &mut mpsc::Receiver<Delivered>,
    process: CancellationToken,
) -> Result<(), AgentError> {
    let (hub_updates, updates_done) = HubUpdates::start(Arc::clone(&agent), work_key.clone());
    let mut worker = open(agent, work_key, hub_updates, process.clone()).await?;
    let result = worker.work(inbox).await;
    drop(worker);
    // A hub that stops at the same time must not hold us up.
    tokio::select! {
        _ = updates_done => {}
        () = process.cancelled() => {}
    }
    result
}

async fn open(
    agent: Arc<Agent>,
    work_key: WorkKey,
    hub_updates: HubUpdates,
    process: CancellationToken,
) -> Result<Worker, AgentError> {
    let path = work_key.log(&agent.threads(), agent.role());
    let control = agent.poster.control.in_thread(&work_key.thread);
    let TakenUp {
        present,
        journal,
        log,
        held,
    } = taking_up::take_up(&agent, &work_key, &control).await?;
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
    let context = ThreadContext::new(
        Arc::clone(&agent),
        &work_key,
        facts,
        &hub_updates,
        process.clone(),
    );
    let models = models::models_for(&agent.rules().models, facts);
    let prompt = agent.prompt(&facts.task_words(), &work_key.thread).await;
    machine.set_models(models);
    machine.set_prompt(prompt);
    machine.set_tools(tool_session::offered(&context));
    let joined = log.iter().any(|entry| is_work(&entry.record));
    let folder = ThreadDir::new(&agent.threads(), &work_key.thread);
    let end = taking_up::end(&work_key, &log);
    let views = KeptViews::open(&folder, &path, &log);
    if !log.is_empty() {
        hub_updates.add(HubUpdate::CatchUp(log, held)).await;
    }
    let edge = HubEdge {
        context,
        hub_updates,
        _present: present,
        deadline_ms: None,
        patience_over: false,
        merge_wait: None,
        telling: false,
        views,
        end,
        joined,
        turn_of: None,
        arrived: None,
        process,
    };
    let (model, clock) = (Arc::clone(&agent.model), agent.config.clock.clone());
    Ok(Driver::new(edge, machine, journal, model, clock))
}

/// Whether a line is about the work here, not about what was seen on the forge.
fn is_work(record: &Record) -> bool {
    !matches!(record, Record::PullSeen { .. } | Record::PullTold { .. })
}

impl Worker {
    /// Receive, ask the machine, carry out; until there is nothing left to wait for.
    async fn work(&mut self, inbox: &mut mpsc::Receiver<Delivered>) -> Result<(), AgentError> {
        let now_ms = self.clock.now_ms();
        self.feed(Event::Begin { now_ms });
        self.tell_findings();
        if self.machine.is_idle() {
            self.put_up_findings();
        }
        self.mind_merge();
        self.tell_forge_news();
        loop {
            self.carry_out_all().await?;
            let (process, renewal) = (
                self.edge.process.clone(),
                self.edge.context.agent.config.renewal.clone(),
            );
            let leaving = renewal.is_cancelled();
            if leaving && self.is_between_turns() {
                return self.wind_down().await;
            }
            let pause = self.pause();
            tokio::select! {
                () = process.cancelled() => return self.wind_down().await,
                () = renewal.cancelled(), if !leaving => {}
                Some(done) = self.doing.next() => {
                    let fed = matches!(done, Done::Event(_) | Done::Tool(..) | Done::Replied(..));
                    self.on_done(done).await?;
                    if fed {
                        self.mind_merge();
                    }
                }
                mail = inbox.recv() => match mail {
                    Some(Delivered { number, seq, mail, ack }) => {
                        self.edge.arrived.get_or_insert(number);
                        self.edge.context.hear(seq);
                        self.on_mail(mail, ack).await?;
                    }
                    // The process ends: nobody else closes an inbox.
                    None => return self.wind_down().await,
                },
                () = tokio::time::sleep(pause), if self.doing.is_empty() => {
                    if self.edge.deadline_ms.is_none() {
                        return Ok(());
                    }
                    self.out_of_patience();
                }
            }
        }
    }

    /// Until the deadline of a sleeping activation, or until the worker is idle.
    fn pause(&self) -> Duration {
        match self.edge.deadline_ms {
            None => IDLE,
            Some(deadline) => {
                let left = deadline.saturating_sub(self.clock.now_ms()).max(0);
                Duration::from_millis(u64::try_from(left).unwrap_or(0) + 1)
            }
        }
    }

    /// The thread, for what ends with the work on it.
    fn here(&self) -> ThreadContext {
        self.edge.context.until(&self.work)
    }

    /// The thread, for what only the end of the process ends.
    fn lasting(&self) -> ThreadContext {
        self.edge.context.until(&self.edge.process)
    }

    /// Tells the thread something that the work does not depend on, once per key.
    fn mention(&self, key: Idem, text: String) {
        let context = self.edge.context.clone();
        self.aside(async move {
            if let Err(error) = context.say(key, &text).await {
                warn!(%error, text, "the thread could not be told");
            }
        });
    }
}
