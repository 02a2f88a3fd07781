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

use tempfile::TempDir;

use rustix::{
    fs::{MemfdFlags, memfd_create},
    process::{Pid, Signal, kill_process},
};

use crate::{JailError, placeholder::Placeholder, seal::Seals, spec::Request};

type Job = Box<dyn FnOnce() + Send>;

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
    let job: Job = Box::new(move || {
        let started = prepare().and_then(|prepared| {
            let mut started = spawn(&helper, &prepared.request, &prepared.stdin)?;
            started.leash.traces = prepared.traces;
            started.seals = prepared.seals;
            Ok(started)
        });
        // A caller that went away drops the leash, which ends the helper.
        answer(started);
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
                for job in jobs {
                    job();
                }
            });
        if let Err(error) = spawned {
            tracing::error!(%error, "cannot start the thread that starts commands");
        }
        sender
    })
}

fn spawn(helper: &Path, request: &Request, stdin: &[u8]) -> Result<Started, JailError> {
    let failed = |source| JailError::Helper {
        path: helper.to_owned(),
        source,
    };
    let input = request_file(request, stdin).map_err(failed)?;
    let (output, output_end) = io::pipe().map_err(failed)?;
    let (report, report_end) = io::pipe().map_err(failed)?;
    let child = Command::new(helper)
        .arg("__jail")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(input))
        .stdout(output_end)
        .stderr(report_end)
        .spawn()
        .map_err(failed)?;
    Ok(Started {
        leash: Leash {
            child: Some(child),
            traces: Traces::default(),
        },
        output,
        report,
        seals: Seals::default(),
    })
}

/// The request as one line, then the command's bytes, in memory only.
fn request_file(request: &Request, stdin: &[u8]) -> io::Result<File> {
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    let mut file = File::from(memfd_create("spec", MemfdFlags::CLOEXEC)?);
    file.write_all(&line)?;
    file.write_all(stdin)?;
    file.rewind()?;
    Ok(file)
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

    /// Waits for the helper, which by then has said all it had to say.
    pub(crate) fn wait(mut self) -> io::Result<Traces> {
        if let Some(mut child) = self.child.take() {
            child.wait()?;
        }
        Ok(std::mem::take(&mut self.traces))
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        if self.child.is_none() {
            return;
        }
        self.ask();
        let mut rest = Leash {
            child: self.child.take(),
            traces: std::mem::take(&mut self.traces),
        };
        // Waiting must not block the caller, and placeholders must not go before
        // the processes that they protect against.
        let reaper = std::thread::Builder::new().name("jail-reaper".to_owned());
        let _ = reaper.spawn(move || {
            if let Some(mut child) = rest.child.take() {
                let _ = child.wait();
            }
        });
    }
}
