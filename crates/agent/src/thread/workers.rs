//! The workers of all active threads. A worker that fails, or panics, takes
//! nothing else with it: its thread is told, and its log takes up the work
//! again after a pause.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use butler_protocol::{HandOver, Idem, Record, Sha256Hex, ThreadId};
use futures_util::FutureExt;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{Instrument, error, info, info_span, warn};

use crate::{
    Agent, AgentError,
    listen::{
        intake::{Ack, Mail, Stop},
        work_key::WorkKey,
    },
    thread::worker,
};

const INBOX: usize = 64;
/// Short enough that nobody wonders; growing, so that a disk that stays full
/// does not flood the log.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Until the stop that the hub has told us of is here.
const STOPPING: Duration = Duration::from_millis(100);
/// The same trouble is told once in this time.
const TELL_AGAIN_MS: i64 = 60 * 60 * 1000;

/// Mail, and when it came: numbers grow.
pub(crate) struct Delivered {
    /// The place of its thread in the line, if it needs one.
    pub number: u64,
    /// Its place in the hub's log.
    pub seq: u64,
    /// What came.
    pub mail: Mail,
    /// Sent once it is in the log, or what it asks for has begun to be done.
    pub ack: Option<Ack>,
}

/// Finds or starts the worker of a thread.
pub(crate) struct Workers {
    agent: Arc<Agent>,
    inboxes: HashMap<WorkKey, mpsc::Sender<Delivered>>,
    tasks: TaskTracker,
    cancel: CancellationToken,
}

impl Workers {
    /// Nobody at work yet.
    pub(crate) fn new(agent: Arc<Agent>, cancel: CancellationToken) -> Self {
        Self {
            agent,
            inboxes: HashMap::new(),
            tasks: TaskTracker::new(),
            cancel,
        }
    }

    /// Makes sure that a thread has a worker; it takes up what its log asks for.
    pub(crate) fn wake(&mut self, work_key: &WorkKey) {
        self.inbox(work_key);
    }

    /// Gives mail to the worker of its work key, in order. A stop is for every
    /// worker of the thread.
    pub(crate) async fn deliver(
        &mut self,
        work_key: &WorkKey,
        seq: u64,
        mail: Mail,
        ack: Option<Ack>,
    ) {
        match mail {
            Mail::Stop(stop) => self.stop(&work_key.thread, seq, stop, ack).await,
            Mail::Given => self.given(&work_key.thread, seq, ack).await,
            mail => self.hand(work_key, seq, mail, ack).await,
        }
    }

    /// Stops whoever has taken part in the thread, awake or not. Who has not is
    /// left in peace. The last of them answers the person and the hub.
    async fn stop(&mut self, thread: &ThreadId, seq: u64, stop: Stop, ack: Option<Ack>) {
        let role = self.agent.role();
        let mut all = WorkKey::of(&self.agent.threads(), thread, role);
        let awake = self.inboxes.keys().filter(|key| key.thread == *thread);
        let unwritten: Vec<WorkKey> = awake.filter(|key| !all.contains(key)).cloned().collect();
        all.extend(unwritten);
        let Some(last) = all.pop() else {
            let told = stop.told(Arc::clone(&self.agent), thread.clone(), ack);
            self.tasks.spawn(told);
            return;
        };
        for work_key in all {
            let stop = Stop {
                event: stop.event.clone(),
                by: stop.by.clone(),
                answer: None,
                working: Vec::new(),
            };
            self.hand(&work_key, seq, Mail::Stop(stop), None).await;
        }
        self.hand(&last, seq, Mail::Stop(stop), ack).await;
    }

    /// The thread of a process that is lost: whatever it has logs of goes on here.
    async fn given(&mut self, thread: &ThreadId, seq: u64, ack: Option<Ack>) {
        let role = self.agent.role();
        let lines = self.agent.poster.control.logs(thread, &["received"]).await;
        let lines = match lines {
            Ok(lines) => lines,
            // Not acknowledged: it comes again.
            Err(error) => return warn!(%error, %thread, "a thread could not be taken up yet"),
        };
        let own = lines.into_iter().filter(|line| line.role == role);
        let requests = own.filter_map(|line| match line.entry.record {
            Record::Received { hand_over, .. } => match *hand_over {
                HandOver::Research { request, .. } => Some(request),
                _ => None,
            },
            _ => None,
        });
        for request in requests {
            let work_key = WorkKey {
                thread: thread.clone(),
                research: Some(request),
            };
            self.hand(&work_key, seq, Mail::Given, None).await;
        }
        let work_key = WorkKey::thread(thread.clone());
        self.hand(&work_key, seq, Mail::Given, ack).await;
    }

    async fn hand(&mut self, work_key: &WorkKey, seq: u64, mail: Mail, ack: Option<Ack>) {
        let number = self.agent.slots.arrive();
        let mut delivered = Delivered {
            number,
            seq,
            mail,
            ack,
        };
        // A worker may end between two messages; then a new one takes it.
        loop {
            match self.inbox(work_key).send(delivered).await {
                Ok(()) => return,
                Err(returned) => {
                    delivered = returned.0;
                    self.inboxes.remove(work_key);
                }
            }
        }
    }

    /// Waits until nobody is at work; a worker may be started all the same.
    pub(crate) async fn at_rest(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Waits until all workers have ended; call after cancelling.
    pub(crate) async fn ended(self) {
        drop(self.inboxes);
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn inbox(&mut self, work_key: &WorkKey) -> mpsc::Sender<Delivered> {
        self.inboxes.retain(|_, sender| !sender.is_closed());
        if let Some(sender) = self.inboxes.get(work_key) {
            return sender.clone();
        }
        let (sender, receiver) = mpsc::channel(INBOX);
        let span = info_span!("thread", thread = %work_key.thread, role = %self.agent.role());
        let work = keep(
            Arc::clone(&self.agent),
            work_key.clone(),
            receiver,
            self.cancel.clone(),
        );
        self.tasks.spawn(work.instrument(span));
        self.inboxes.insert(work_key.clone(), sender.clone());
        sender
    }
}

async fn keep(
    agent: Arc<Agent>,
    work_key: WorkKey,
    receiver: mpsc::Receiver<Delivered>,
    cancel: CancellationToken,
) {
    let mut inbox = receiver;
    let mut pause = FIRST_PAUSE;
    let mut taken = false;
    loop {
        let begun = Instant::now();
        let work = worker::run(
            Arc::clone(&agent),
            work_key.clone(),
            &mut inbox,
            cancel.clone(),
        );
        let reason = match AssertUnwindSafe(work).catch_unwind().await {
            Ok(Ok(())) => return,
            // The stop itself is in the inbox.
            Ok(Err(failure)) if failure.is_stop() => {
                tokio::time::sleep(STOPPING).await;
                continue;
            }
            // Another process may have it; opening the log anew tells.
            Ok(Err(failure)) if failure.is_taken() && taken => {
                info!("another process of this role works on the thread now");
                return;
            }
            Ok(Err(failure)) if failure.is_taken() => {
                taken = true;
                continue;
            }
            // Nothing can be said before there is a new connection. There may be none any more:
            // a process that is told to end does not wait for it.
            Ok(Err(failure)) if failure.is_stale() => {
                tokio::select! {
                    () = cancel.cancelled() => return,
                    () = tokio::time::sleep(FIRST_PAUSE) => {}
                }
                continue;
            }
            Ok(Err(failure)) => explain(&failure),
            Err(_) => "an internal error. The log of this role says more".to_owned(),
        };
        if cancel.is_cancelled() || agent.is_leaving() {
            return;
        }
        if begun.elapsed() > LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        error!(reason, "the thread's work stopped; it is taken up again");
        tell(&agent, &work_key.thread, &reason).await;
        tokio::select! {
            () = cancel.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn explain(failure: &AgentError) -> String {
    let mut text = failure.to_string();
    if let AgentError::Journal(error) = failure {
        text.push_str(". ");
        text.push_str(error.remedy());
    }
    text
}

/// One line in the thread, once an hour for the same reason.
async fn tell(agent: &Agent, thread: &ThreadId, reason: &str) {
    let hour = agent.now_ms() / TELL_AGAIN_MS;
    let what = Sha256Hex::of(reason);
    let idem = Idem::new(format!(
        "{}-{}-trouble-{hour}-{}",
        thread.short(),
        agent.role(),
        what.as_str().get(..8).unwrap_or_default()
    ));
    let text = format!("I had to stop: {reason}. I take it up again by myself.");
    if let Err(error) = agent.poster.say(thread, idem, &text).await {
        error!(%error, "the thread could not be told");
    }
}
