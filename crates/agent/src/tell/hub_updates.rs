//! Small things that are told to the hub in order and that nobody waits for:
//! what the role is doing, marks on messages, log lines for the page, the books.
//! A failed chore is logged and forgotten; nothing depends on it.

use std::{sync::Arc, time::Duration};

use butler_protocol::{
    Activity, ActivityState, Entry, MessageTs, Record, RecordBatch, Settlement, ThreadId, fault,
};
use butler_slack::SlackError;
use tokio::sync::mpsc;
use tracing::warn;

use crate::{agent::Office, listen::work_key::Matter};

/// Well inside the lease of 30 s.
const HEARTBEAT: Duration = Duration::from_secs(10);
const QUEUE: usize = 256;
/// Log lines that are sent at once when the page has to catch up.
const CATCH_UP: usize = 100;

/// One chore.
#[derive(Debug)]
pub enum Chore {
    /// What the role does now.
    Activity(ActivityState, Option<String>),
    /// A mark on a message.
    React(MessageTs, &'static str),
    /// Log lines for the page.
    Records(Vec<Entry>),
    /// A log that was opened: the page gets what it missed.
    CatchUp(Vec<Entry>),
    /// A finished model call.
    Settle(Settlement),
}

/// The sending end. Chores are done in order by one task, which ends when this
/// is dropped.
#[derive(Debug, Clone)]
pub struct Chores(mpsc::Sender<Chore>);

impl Chores {
    /// Starts the task; await the handle to see the last chore done.
    pub fn start(office: Arc<Office>, matter: Matter) -> (Self, tokio::task::JoinHandle<()>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let task = tokio::spawn(work(office, matter, receiver));
        (Self(sender), task)
    }

    /// Adds a chore; waits while very many are open.
    pub async fn add(&self, chore: Chore) {
        let _ = self.0.send(chore).await;
    }
}

async fn work(office: Arc<Office>, matter: Matter, mut chores: mpsc::Receiver<Chore>) {
    let thread = matter.thread.clone();
    let mut step: Option<Activity> = None;
    loop {
        let chore = tokio::select! {
            chore = chores.recv() => chore,
            () = tokio::time::sleep(HEARTBEAT), if step.is_some() => {
                if let Some(activity) = &step {
                    report(office.line.control.activity(activity).await, "heartbeat");
                }
                continue;
            }
        };
        let Some(chore) = chore else { return };
        fault("agent.before-chore");
        match chore {
            // Who researches is not whom a person steers in this thread.
            Chore::Activity(..) if matter.research.is_some() => {}
            Chore::Activity(state, text) => {
                let activity = Activity {
                    thread: thread.clone(),
                    state,
                    step: text,
                    lease_seconds: 30,
                };
                report(office.line.control.activity(&activity).await, "activity");
                step = (state == ActivityState::Working).then_some(activity);
            }
            Chore::React(ts, name) => {
                let answer = office.line.web.react(&thread.channel, &ts, name).await;
                report(answer, "reaction");
            }
            Chore::Records(entries) => {
                let batch = RecordBatch {
                    thread: thread.clone(),
                    entries: matter.for_the_hub(entries),
                };
                report(office.line.control.records(&batch).await, "records");
            }
            Chore::CatchUp(log) => report(catch_up(&office, &thread, log).await, "records"),
            Chore::Settle(settlement) => {
                report(office.line.control.settle(&settlement).await, "settlement");
            }
        }
        fault("agent.after-chore");
    }
}

/// The hub says what it has; the run before this one may have died before it
/// told the rest.
async fn catch_up(office: &Office, thread: &ThreadId, log: Vec<Entry>) -> Result<(), SlackError> {
    let held = office.line.control.records_held(thread).await?;
    for settlement in log.iter().filter_map(settlement) {
        if held.unsettled.contains(&settlement.id) {
            office.line.control.settle(&settlement).await?;
        }
    }
    let unknown = |entry: &Entry| entry.seq > held.upto;
    let missed: Vec<Entry> = log.into_iter().filter(unknown).collect();
    for entries in missed.chunks(CATCH_UP) {
        let batch = RecordBatch {
            thread: thread.clone(),
            entries: entries.to_vec(),
        };
        office.line.control.records(&batch).await?;
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

fn report(answer: Result<(), SlackError>, what: &str) {
    if let Err(error) = answer {
        warn!(%error, what, "the hub did not take it");
    }
}
