//! Small things that are told to the hub in order: what the role is doing, marks on
//! messages, the books, and the lines of its log. A failed chore is logged and forgotten,
//! except for the log: whoever acts or speaks waits until the hub has the lines before it,
//! so that another process can go on from there, and does not when the hub refuses them.

use std::{sync::Arc, time::Duration};

use butler_protocol::{
    Activity, ActivityState, Entry, MessageTs, Record, RecordBatch, Settlement, fault,
};
use butler_slack::{Control, Held, SlackError};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{
    Agent,
    listen::work_key::WorkKey,
    thread::live_work::{self, LiveBoard},
};

/// Well inside the lease of 30 s.
const HEARTBEAT: Duration = Duration::from_secs(10);
const QUEUE: usize = 256;
/// Log lines that are sent at once when the page has to catch up.
const CATCH_UP: usize = 100;

/// One chore.
#[derive(Debug)]
pub(crate) enum HubUpdate {
    /// What the role does now.
    Activity(ActivityState, Option<String>),
    /// A mark on a message.
    React(MessageTs, &'static str),
    /// Log lines for the page.
    Records(Vec<Entry>),
    /// A log that was opened, and what the hub had of it: it gets what it missed.
    CatchUp(Vec<Entry>, Held),
    /// A finished model call.
    Settle(Settlement),
    /// Answered when everything before it was told; with the hub's word where it has
    /// not taken the log.
    Flush(oneshot::Sender<Result<(), String>>),
}

/// The sending end. HubUpdates are done in order by one task, which ends when this
/// is dropped.
#[derive(Clone)]
pub(crate) struct HubUpdates {
    sender: mpsc::Sender<HubUpdate>,
    /// What people see who watch.
    pub(crate) live: Arc<LiveBoard>,
}

impl HubUpdates {
    /// Starts the task; await the handle to see the last chore done.
    pub(crate) fn start(
        agent: Arc<Agent>,
        work_key: WorkKey,
    ) -> (Self, tokio::task::JoinHandle<()>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let live = Arc::<LiveBoard>::default();
        let task = tokio::spawn(work(agent, work_key, receiver, Arc::clone(&live)));
        (Self { sender, live }, task)
    }

    /// For whoever must not speak before the hub knows what the log says.
    pub(crate) fn behind(&self) -> Behind {
        Behind(self.sender.downgrade())
    }

    /// Adds a chore; waits while very many are open.
    pub(crate) async fn add(&self, hub_update: HubUpdate) {
        let _ = self.sender.send(hub_update).await;
    }
}

/// Waits for what is on its way to the hub. Keeps nothing alive.
#[derive(Debug, Clone)]
pub(crate) struct Behind(mpsc::WeakSender<HubUpdate>);

impl Behind {
    /// Says that the role is done here, before its last word: who answers that word does
    /// not speak to somebody who is about to leave.
    pub(crate) async fn rest(&self) {
        if let Some(sender) = self.0.upgrade() {
            let idle = HubUpdate::Activity(ActivityState::Idle, None);
            let _ = sender.send(idle).await;
        }
    }

    /// Until everything that was added before is told.
    ///
    /// # Errors
    /// When the hub has not taken the log: another process may have the thread.
    pub(crate) async fn told(&self) -> Result<(), SlackError> {
        let Some(sender) = self.0.upgrade() else {
            return Ok(());
        };
        let (done, told) = oneshot::channel();
        if sender.send(HubUpdate::Flush(done)).await.is_err() {
            return Ok(());
        }
        let refused = |code| SlackError::Api {
            method: "records".to_owned(),
            code,
        };
        told.await.unwrap_or(Ok(())).map_err(refused)
    }
}

async fn work(
    agent: Arc<Agent>,
    work_key: WorkKey,
    hub_updates: mpsc::Receiver<HubUpdate>,
    live: Arc<LiveBoard>,
) {
    let over = CancellationToken::new();
    let showing = live_work::keep_showing(
        Arc::clone(&agent),
        work_key.thread.clone(),
        Arc::clone(&live),
        over.clone(),
    );
    let telling = async {
        tell(&agent, &work_key, hub_updates, &live).await;
        over.cancel();
    };
    tokio::join!(showing, telling);
}

async fn tell(
    agent: &Agent,
    work_key: &WorkKey,
    mut hub_updates: mpsc::Receiver<HubUpdate>,
    live: &LiveBoard,
) {
    let thread = work_key.thread.clone();
    let control = agent.poster.control.in_thread(&thread);
    let web = agent.poster.web.in_thread(&thread);
    let mut step: Option<Activity> = None;
    // What the hub said when it did not take the log: no line is told behind a gap.
    let mut refused: Option<String> = None;
    loop {
        let hub_update = tokio::select! {
            hub_update = hub_updates.recv() => hub_update,
            () = tokio::time::sleep(HEARTBEAT), if step.is_some() => {
                if let Some(activity) = &step {
                    report(control.activity(activity).await, "heartbeat");
                }
                continue;
            }
        };
        let Some(hub_update) = hub_update else { return };
        if let HubUpdate::Activity(state, _) = &hub_update {
            live.set_working(*state == ActivityState::Working);
        }
        fault("agent.before-chore");
        match hub_update {
            // Who researches is not whom a person steers in this thread.
            HubUpdate::Activity(..) if work_key.research.is_some() => {}
            HubUpdate::Activity(state, text) => {
                let activity = Activity {
                    thread: thread.clone(),
                    state,
                    step: text,
                    lease_seconds: 30,
                };
                report(control.activity(&activity).await, "activity");
                step = (state == ActivityState::Working).then_some(activity);
            }
            HubUpdate::React(ts, name) => {
                let answer = web.react(&thread.channel, &ts, name).await;
                report(answer, "reaction");
            }
            HubUpdate::Records(_) | HubUpdate::CatchUp(..) if refused.is_some() => {}
            HubUpdate::Records(entries) => {
                let batch = RecordBatch {
                    thread: thread.clone(),
                    entries: work_key.for_the_hub(entries),
                    end: None,
                };
                refused = not_taken(control.records(&batch).await);
            }
            HubUpdate::CatchUp(log, held) => {
                refused = not_taken(catch_up(&control, work_key, log, &held).await);
            }
            HubUpdate::Flush(done) => drop(done.send(refused.clone().map_or(Ok(()), Err))),
            HubUpdate::Settle(settlement) => {
                report(control.settle(&settlement).await, "settlement");
            }
        }
        fault("agent.after-chore");
    }
}

/// The hub says what it has; the run before this one may have died before it
/// told the rest.
async fn catch_up(
    control: &Control,
    work_key: &WorkKey,
    log: Vec<Entry>,
    held: &Held,
) -> Result<(), SlackError> {
    for settlement in log.iter().filter_map(settlement) {
        if held.unsettled.contains(&settlement.id) {
            control.settle(&settlement).await?;
        }
    }
    let unknown = |entry: &Entry| entry.seq > held.upto;
    let missed: Vec<Entry> = log.into_iter().filter(unknown).collect();
    for entries in missed.chunks(CATCH_UP) {
        let batch = RecordBatch {
            thread: work_key.thread.clone(),
            entries: work_key.for_the_hub(entries.to_vec()),
            end: None,
        };
        control.records(&batch).await?;
    }
    Ok(())
}

fn settlement(entry: &Entry) -> Option<Settlement> {
    match &entry.record {
        Record::Settled {
            reserve,
            cost,
            usage,
            model,
        } => Some(Settlement {
            id: reserve.clone(),
            cost: *cost,
            usage: *usage,
            model: model.clone(),
        }),
        _ => None,
    }
}

/// What the hub said to lines that it did not take.
fn not_taken(answer: Result<(), SlackError>) -> Option<String> {
    let error = answer.err()?;
    warn!(%error, "the hub did not take the log");
    Some(error.code().unwrap_or("no_answer").to_owned())
}

fn report(answer: Result<(), SlackError>, what: &str) {
    if let Err(error) = answer {
        warn!(%error, what, "the hub did not take it");
    }
}
