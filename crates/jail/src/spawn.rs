//! Starts helpers from one thread that never ends.
//!
//! A child that asks to die with its parent dies with the *thread* that made it.
//! Threads of an async runtime come and go, so one of our own makes them all.

use std::{
    fs::File,
    io::{self, PipeReader, Seek, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{OnceLock, mpsc},
};

use butler_vocab::fault;
use rustix::{
    fs::{MemfdFlags, memfd_create},
    process::{Pid, Signal, kill_process},
};
use tempfile::TempDir;

use crate::{
    JailError,
    placeholder::Placeholder,
    seal::Seals,
    spec::{Ground, Request},
    waiting::Waiting,
};

type Job = Box<dyn FnOnce(&mut Waiting) + Send>;

static THREAD: OnceLock<mpsc::Sender<Job>> = OnceLock::new();

/// What a helper is started with.
pub(crate) struct Prepared {
    /// What is built first, in namespaces.
    pub ground: Option<Ground>,
    pub run: Request,
    pub stdin: Vec<u8>,
    pub traces: Traces,
    pub seals: Seals,
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

/// Starts `<helper> __jail`. `prepare` runs on the thread too, because it touches
/// the disk; `answer` is called there when the helper is up.
pub(crate) fn start(
    helper: PathBuf,
    prepare: impl FnOnce() -> Result<Prepared, JailError> + Send + 'static,
    answer: impl FnOnce(Result<Started, JailError>) + Send + 'static,
) {
    let job: Job = Box::new(move |waiting| {
        let mut ground = None;
        let started = prepare().and_then(|prepared| {
            fault("jail.before-start");
            let mut started = waiting
                .give(&helper, &prepared)
                .map_or_else(|| fresh(&helper, &prepared), Ok)?;
            ground = prepared.ground;
            started.leash.traces = prepared.traces;
            started.seals = prepared.seals;
            fault("jail.after-start");
            Ok(started)
        });
        // A caller that went away drops the leash, which ends the helper.
        answer(started);
        if let Some(ground) = ground {
            waiting.refill(&helper, ground);
        }
    });
    // Without the thread the job is dropped, and the answer with it.
    let _ = thread().send(job);
}

fn thread() -> &'static mpsc::Sender<Job> {
    THREAD.get_or_init(|| {
        let (sender, jobs) = mpsc::channel::<Job>();
        let spawned = std::thread::Builder::new()
            .name("jail".to_owned())
            .spawn(move || {
                let mut waiting = Waiting::default();
                for job in jobs {
                    job(&mut waiting);
                }
            });
        if let Err(error) = spawned {
            tracing::error!(%error, "cannot start the thread that starts commands");
        }
        sender
    })
}

/// Starts a helper for this request alone; the request goes in memory only.
fn fresh(helper: &Path, prepared: &Prepared) -> Result<Started, JailError> {
    let start = || {
        let mut file = File::from(memfd_create("spec", MemfdFlags::CLOEXEC)?);
        if let Some(ground) = &prepared.ground {
            file.write_all(&line(&Request::Ground(Box::new(ground.clone())))?)?;
        }
        file.write_all(&line(&prepared.run)?)?;
        file.write_all(&prepared.stdin)?;
        file.rewind()?;
        spawn(helper, file.into())
    };
    start().map_err(|source| JailError::Helper {
        path: helper.to_owned(),
        source,
    })
}

pub(crate) fn line(request: &Request) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    Ok(line)
}

pub(crate) fn spawn(helper: &Path, input: Stdio) -> io::Result<Started> {
    let (output, output_end) = io::pipe()?;
    let (report, report_end) = io::pipe()?;
    let mut command = Command::new(helper);
    command
        .arg("__jail")
        .env_clear()
        .current_dir("/")
        .stdin(input)
        .stdout(output_end)
        .stderr(report_end);
    Ok(Started {
        leash: Leash {
            child: Some(command.spawn()?),
            traces: Traces::default(),
        },
        output,
        report,
        seals: Seals::default(),
    })
}

/// Holds a helper. Whoever drops it ends the helper and all that it runs.
#[derive(Debug)]
pub(crate) struct Leash {
    child: Option<Child>,
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
            .child
            .as_ref()
            .and_then(|child| Pid::from_raw(child.id().cast_signed()));
        if let Some(pid) = pid {
            let _ = kill_process(pid, signal);
        }
    }

    /// Waits for the helper.
    pub(crate) fn wait(mut self) -> io::Result<Traces> {
        if let Some(mut child) = self.child.take() {
            child.wait()?;
        }
        Ok(std::mem::take(&mut self.traces))
    }

    /// Lets go of a helper that has reported and closed its pipes. It does that
    /// after the last process of the command is dead, and then only gives its
    /// namespaces back to the kernel, which nobody needs to wait for.
    pub(crate) fn let_go(mut self) -> Traces {
        if let Some(child) = self.child.take() {
            reap(child, Traces::default());
        }
        std::mem::take(&mut self.traces)
    }
}

/// Waits for a helper elsewhere; its traces go when it is gone.
fn reap(mut child: Child, traces: Traces) {
    static REAPER: OnceLock<mpsc::Sender<(Child, Traces)>> = OnceLock::new();
    let reaper = REAPER.get_or_init(|| {
        let (sender, children) = mpsc::channel::<(Child, Traces)>();
        let spawned = std::thread::Builder::new()
            .name("jail-reaper".to_owned())
            .spawn(move || {
                for (mut child, traces) in children {
                    let _ = child.wait();
                    drop(traces);
                }
            });
        if let Err(error) = spawned {
            tracing::error!(%error, "cannot start the thread that collects helpers");
        }
        sender
    });
    // Most are gone by now, and need no other thread.
    if !matches!(child.try_wait(), Ok(Some(_))) {
        let _ = reaper.send((child, traces));
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // Waiting must not block the caller, and placeholders must not go before
        // the processes that they protect against.
        self.ask();
        if let Some(child) = self.child.take() {
            reap(child, std::mem::take(&mut self.traces));
        }
    }
}
