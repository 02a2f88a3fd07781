//! Starts helpers from one thread that never ends.
//!
//! A child that asks to die with its parent dies with the *thread* that made it.
//! Threads of an async runtime come and go, so one of our own makes them all.
//!
//! The thread keeps one helper waiting that has already been loaded and left the
//! host's namespaces, because that half of the cost is the same for every
//! command. It knows nothing yet, and goes when this process goes.

use std::{
    fs::File,
    io::{self, PipeReader, PipeWriter, Seek, Write},
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
    spec::{Request, WAITING},
};

type Job = Box<dyn FnOnce(&mut Waiting) + Send>;

static THREAD: OnceLock<mpsc::Sender<Job>> = OnceLock::new();

/// What a helper is started with.
pub(crate) struct Prepared {
    pub request: Request,
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
        let mut suits = false;
        let started = prepare().and_then(|prepared| {
            suits = prepared.request.suits_waiting();
            fault("jail.before-start");
            let mut started = waiting
                .give(&helper, suits, &prepared)
                .map_or_else(|| fresh(&helper, &prepared), Ok)?;
            started.leash.traces = prepared.traces;
            started.seals = prepared.seals;
            fault("jail.after-start");
            Ok(started)
        });
        // A caller that went away drops the leash, which ends the helper.
        answer(started);
        if suits {
            waiting.refill(&helper);
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

/// A helper that waits for a request, if there is one.
#[derive(Default)]
struct Waiting(Option<(PathBuf, Started, PipeWriter)>);

impl Waiting {
    /// Hands the request to the waiting helper. Nothing when none waits, or when
    /// it died meanwhile.
    fn give(&mut self, helper: &Path, suits: bool, prepared: &Prepared) -> Option<Started> {
        let (of, _, _) = self.0.as_ref()?;
        if !suits || of != helper {
            return None;
        }
        let (_, started, mut input) = self.0.take()?;
        let line = line(&prepared.request).ok()?;
        input.write_all(&line).ok()?;
        input.write_all(&prepared.stdin).ok()?;
        Some(started)
    }

    /// Starts the next one. Without it the next command only takes longer.
    fn refill(&mut self, helper: &Path) {
        let started = io::pipe().and_then(|(end, input)| {
            let started = spawn(helper, end.into(), true)?;
            Ok((helper.to_owned(), started, input))
        });
        match started {
            Ok(waiting) => self.0 = Some(waiting),
            Err(error) => tracing::debug!(%error, "no jail helper waits"),
        }
    }
}

/// Starts a helper for this request alone; the request goes in memory only.
fn fresh(helper: &Path, prepared: &Prepared) -> Result<Started, JailError> {
    let start = || {
        let mut file = File::from(memfd_create("spec", MemfdFlags::CLOEXEC)?);
        file.write_all(&line(&prepared.request)?)?;
        file.write_all(&prepared.stdin)?;
        file.rewind()?;
        spawn(helper, file.into(), false)
    };
    start().map_err(|source| JailError::Helper {
        path: helper.to_owned(),
        source,
    })
}

fn line(request: &Request) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    Ok(line)
}

fn spawn(helper: &Path, input: Stdio, waiting: bool) -> io::Result<Started> {
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
    if waiting {
        command.env(WAITING, std::process::id().to_string());
    }
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

    /// Lets go of a helper that has closed its pipes. It does that after its last
    /// process is dead, and then only gives its namespaces back to the kernel,
    /// which takes a while that nobody needs to wait for.
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
