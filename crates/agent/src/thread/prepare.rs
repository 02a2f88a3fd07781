//! Making a folder ready to build: submodules, and the repo's `prepare` commands,
//! in the sandbox, in the background, once per folder and manifests.
//!
//! Whoever makes or opens a worktree calls [`begin`] and goes on; commands of
//! tools wait at the gate it returns. Processes take turns by a lock that a crash
//! lets go, and a marker in the thread's folder says what is done, so a killed
//! preparation is begun again and a finished one never is. A failure is told, stops
//! nothing, and is tried again when something has changed.

mod base;
mod consent;
mod folder;
mod made;
mod marker;
mod needs;
mod run;
mod try_out;

pub(crate) use base::lay_out as lay_out_base;
pub use try_out::{Tried, TryOut};

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use butler_journal::ThreadDir;
use butler_protocol::ThreadId;
use butler_tools::ReadyGate;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{Instrument, warn};

use crate::Agent;
use marker::{Marker, State};
use run::Job;

/// Which folder of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Its worktree.
    Worktree,
    /// The Reviewer's checkout of its pull request.
    Review,
}

impl Place {
    fn as_str(self) -> &'static str {
        match self {
            Place::Worktree => "worktree",
            Place::Review => "review",
        }
    }
}

/// The preparations of one process.
#[derive(Debug)]
pub(crate) struct Preparations {
    running: Mutex<HashMap<PathBuf, Running>>,
    tasks: TaskTracker,
    cancel: CancellationToken,
}

#[derive(Debug)]
struct Running {
    thread: ThreadId,
    /// `Some` at the end; inside, what commands must be warned of.
    ended: watch::Receiver<Option<Warning>>,
    cancel: CancellationToken,
}

type Warning = Option<String>;

impl Preparations {
    /// None yet; `cancel` ends all of them.
    pub(crate) fn new(cancel: CancellationToken) -> Self {
        Self {
            running: Mutex::default(),
            tasks: TaskTracker::new(),
            cancel,
        }
    }

    /// Ends all of them, and waits until they have.
    pub(crate) async fn end(&self) {
        self.cancel.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Ends those of a thread whose folders are about to go, and waits for it.
    pub(crate) async fn stop(&self, thread: &ThreadId) {
        let of_thread: Vec<_> = self
            .running()
            .values()
            .filter(|running| running.thread == *thread)
            .map(|running| (running.cancel.clone(), running.ended.clone()))
            .collect();
        for (cancel, mut ended) in of_thread {
            cancel.cancel();
            // An error means that the task is gone, which is as good.
            let _ = ended.wait_for(Option::is_some).await;
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<PathBuf, Running>> {
        // Whole values only are put behind this lock.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A gate that begins the preparation only when a command first comes to it: who
/// reads a change and runs nothing needs no packages.
pub(crate) fn when_needed(
    agent: &Arc<Agent>,
    thread: &ThreadId,
    folder: &Path,
    place: Place,
) -> ReadyGate {
    let (agent, thread, folder) = (Arc::clone(agent), thread.clone(), folder.to_owned());
    let begun: OnceLock<Option<ReadyGate>> = OnceLock::new();
    Arc::new(move || {
        let gate = begun.get_or_init(|| begin(&agent, &thread, &folder, place));
        match gate {
            Some(gate) => gate(),
            None => Box::pin(std::future::ready(None)),
        }
    })
}

/// Sees to it that a folder is prepared, in the background. The gate opens when
/// it is; a repo without `prepare` commands has none. A thread is told here too
/// what waits for consent.
pub(crate) fn begin(
    agent: &Arc<Agent>,
    thread: &ThreadId,
    folder: &Path,
    place: Place,
) -> Option<ReadyGate> {
    let rules = agent.rules();
    let asks = !rules.prepare.is_empty() || !rules.unagreed.is_empty();
    if !asks && !folder.join(".gitmodules").exists() {
        return None;
    }
    let mut running = agent.preparations.running();
    if let Some(there) = running.get(folder)
        && there.ended.borrow().is_none()
        && there.ended.has_changed().is_ok()
    {
        return Some(gate(there.ended.clone()));
    }
    let (sender, ended) = watch::channel(None);
    let cancel = agent.preparations.cancel.child_token();
    let job = Job {
        agent: Arc::clone(agent),
        thread: thread.clone(),
        folder: folder.to_owned(),
        place,
        cancel: cancel.clone(),
    };
    let work = async move {
        let warning = job.work().await.unwrap_or_else(|error| {
            warn!(%error, "the worktree could not be prepared");
            Some(format!("the worktree could not be prepared: {error}"))
        });
        sender.send_replace(Some(warning));
    };
    agent.preparations.tasks.spawn(work.in_current_span());
    let opens = gate(ended.clone());
    let thread = thread.clone();
    let entry = Running {
        thread,
        ended,
        cancel,
    };
    running.insert(folder.to_owned(), entry);
    Some(opens)
}

fn gate(ended: watch::Receiver<Option<Warning>>) -> ReadyGate {
    Arc::new(move || {
        let mut ended = ended.clone();
        Box::pin(async move {
            match ended.wait_for(Option::is_some).await {
                Ok(warning) => warning.clone().flatten(),
                Err(_) => Some("the worktree's preparation was interrupted".to_owned()),
            }
        })
    })
}

/// Begins again what a kill of this role interrupted, and what failed in its life
/// before: a restart is often how people fix things.
pub(crate) async fn take_up(agent: &Arc<Agent>) {
    let threads = agent.threads();
    for thread in ThreadDir::list(&threads).unwrap_or_default() {
        let path = run::marker_path(&threads, &thread, Place::Worktree);
        let mut marker = Marker::read(&path);
        let open = marker.take_if(|marker| match &marker.state {
            State::Running => true,
            State::Failed(_) => {
                let mine = |(role, _): &(_, u64)| *role == agent.role();
                marker.tried.as_ref().is_some_and(mine)
            }
            State::Done => false,
        });
        if open.is_none() {
            continue;
        }
        let worktrees = agent.repo.list(&agent.preparations.cancel).await;
        let mut found = worktrees.unwrap_or_default().into_iter();
        if let Some(worktree) = found.find(|one| one.short() == thread.short()) {
            begin(agent, &thread, &worktree.path, Place::Worktree);
        }
    }
}
