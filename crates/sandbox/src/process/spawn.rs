//! Starts helpers from one thread that never ends.
//!
//! A child that asks to die with its parent dies with the *thread* that made it.
//! Threads of an async runtime come and go, so one of our own makes them all.

use std::{
    io::{self, PipeReader},
    os::fd::OwnedFd,
    path::PathBuf,
    process::Child,
    sync::{Arc, OnceLock, mpsc},
    thread::JoinHandle,
};

use butler_protocol::fault;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{
    SandboxError,
    process::helper_pool::{HelperPool, Pipes},
    seal::Seals,
    spec::{BaseRoot, Cell, Spec},
    view::placeholder::Placeholder,
};

type Job = Box<dyn FnOnce() + Send>;

/// Jobs and children that wait; beyond that whoever brings one waits too.
const QUEUE: usize = 1_024;

/// A thread that lives as long as the process, and the way to it.
struct Forever<T> {
    queue: mpsc::SyncSender<T>,
    _thread: io::Result<JoinHandle<()>>,
}

impl<T: Send + 'static> Forever<T> {
    fn start(name: &str, mut work: impl FnMut(T) + Send + 'static) -> Self {
        let (queue, waiting) = mpsc::sync_channel::<T>(QUEUE);
        let builder = std::thread::Builder::new().name(name.to_owned());
        let thread = builder.spawn(move || waiting.into_iter().for_each(&mut work));
        if let Err(error) = &thread {
            tracing::error!(%error, name, "cannot start a thread");
        }
        Self {
            queue,
            _thread: thread,
        }
    }
}

static THREAD: OnceLock<Forever<Job>> = OnceLock::new();

/// What a helper is started with.
pub(crate) struct Prepared {
    /// What is built first, in namespaces.
    pub base_root: Option<Arc<BaseRoot>>,
    /// Whether other commands can use the same base root.
    pub again: bool,
    /// Whether the next command's cell can be built when this one is over.
    pub ahead: bool,
    /// What is built on the base root for this command alone.
    pub cell: Cell,
    pub spec: Spec,
    /// What the command reads, if it reads anything.
    pub stdin: Option<Input>,
    pub traces: Traces,
    pub seals: Seals,
}

/// What a command reads.
pub(crate) enum Input {
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// What somebody says who is answered: one end of a pair of sockets.
    Talk(OwnedFd),
}

/// What a command leaves on the host until its last process is gone.
#[derive(Debug, Default)]
#[expect(dead_code, reason = "held to be dropped, which tidies up")]
pub(crate) struct Traces {
    pub placeholders: Vec<Placeholder>,
    /// Its home and temporary folder, where it has no file system of its own.
    pub scratch: Option<TempDir>,
}

/// A started helper with the ends of its pipes.
#[derive(Debug)]
pub(crate) struct Started {
    pub leash: Leash,
    pub output: PipeReader,
    pub report: PipeReader,
    pub seals: Seals,
}

/// Hands a command to a helper that waits on its base root, or has a new one started
/// for it. `answer` is called when it is handed over.
pub(crate) fn start(
    helper: PathBuf,
    prepared: Prepared,
    answer: impl FnOnce(Result<Started, SandboxError>) + Send + 'static,
) {
    fault("sandbox.before-start");
    if let Some(found) = HelperPool::waiting(&helper, &prepared) {
        return answer(Ok(started(found, prepared)));
    }
    let job: Job = Box::new(move || {
        let new = HelperPool::start(&helper, &prepared);
        // A caller that went away drops the leash, which ends the helper.
        answer(match new {
            Ok(new) => Ok(started(new, prepared)),
            Err(source) => Err(SandboxError::Helper {
                path: helper,
                source,
            }),
        });
    });
    // Without the thread the job is dropped, and the answer with it.
    let _ = thread().send(job);
}

fn started((helper_pool, pipes): (HelperPool, Pipes), prepared: Prepared) -> Started {
    fault("sandbox.after-start");
    Started {
        leash: Leash {
            helper_pool: Some(helper_pool),
            traces: prepared.traces,
        },
        output: pipes.output,
        report: pipes.report,
        seals: prepared.seals,
    }
}

fn thread() -> &'static mpsc::SyncSender<Job> {
    let thread = THREAD.get_or_init(|| Forever::start("sandbox", |job: Job| job()));
    &thread.queue
}

/// Holds a helper. Whoever drops it ends the helper and all that it runs.
#[derive(Debug)]
pub(crate) struct Leash {
    helper_pool: Option<HelperPool>,
    traces: Traces,
}

impl Leash {
    /// Asks the helper to end everything.
    pub(crate) fn ask(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends the helper; the rest follows by itself.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        // The child is not waited for yet, so its number is still its own.
        let pid = self
            .helper_pool
            .as_ref()
            .and_then(|helper_pool| Pid::from_raw(helper_pool.child.id().cast_signed()));
        if let Some(pid) = pid {
            let _ = kill_process(pid, signal);
        }
    }

    /// Waits for the helper.
    pub(crate) fn wait(mut self) -> io::Result<Traces> {
        if let Some(helper_pool) = self.helper_pool.take() {
            helper_pool.hang_up().wait()?;
        }
        Ok(std::mem::take(&mut self.traces))
    }

    /// Lets go of a helper whose command is over. The cell gives its namespaces
    /// back to the kernel, which nobody needs to wait for, and the helper builds
    /// another one for the next command.
    pub(crate) fn let_go(mut self) -> Traces {
        if let Some(helper_pool) = self.helper_pool.take() {
            helper_pool.keep();
        }
        std::mem::take(&mut self.traces)
    }
}

/// Waits for a helper elsewhere; its traces go when it is gone.
pub(crate) fn reap(mut child: Child, traces: Traces) {
    static REAPER: OnceLock<Forever<(Child, Traces)>> = OnceLock::new();
    let reaper = REAPER.get_or_init(|| {
        Forever::start("sandbox-reaper", |(mut child, traces): (Child, Traces)| {
            let _ = child.wait();
            drop(traces);
        })
    });
    // Most are gone by now, and need no other thread.
    if !matches!(child.try_wait(), Ok(Some(_))) {
        let _ = reaper.queue.send((child, traces));
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // Waiting must not block the caller, and placeholders must not go before
        // the processes that they protect against.
        self.ask();
        if let Some(helper_pool) = self.helper_pool.take() {
            reap(helper_pool.hang_up(), std::mem::take(&mut self.traces));
        }
    }
}
