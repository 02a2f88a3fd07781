//! What every long-running command shares: the async runtime, the signals that
//! end it, and the start of its log.

pub(crate) mod renewal;
pub(crate) mod running;

use std::{
    env,
    future::Future,
    io::{self, BufRead},
    path::PathBuf,
    pin::{Pin, pin},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::anyhow;
use butler_protocol::Clock;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{CliError, log, supervise};

/// What this machine's clock says.
pub(crate) fn system_clock() -> Clock {
    Clock::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.unwrap_or_default()
    })
}

/// As many open files as the system lets this process have: a hub holds a connection or more
/// of each agent, and the usual limit of 1,024 is meant for programs that cannot count further.
pub(crate) fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, all) {
        warn!(%error, "the limit of open files stays as it is");
    }
}

/// Two threads serve any of our processes; more would only cost memory.
const THREADS: usize = 2;

/// As [`run`], on this one thread: for a command that does one thing after
/// another, where a second thread costs start-up time and wake-ups.
pub(crate) fn run_on_one_thread<T, F>(
    work: impl FnOnce(CancellationToken) -> F,
) -> Result<T, CliError>
where
    F: Future<Output = Result<T, CliError>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    on(runtime, work)
}

/// Runs `work` until it ends. Its token is cancelled by Ctrl-C, SIGTERM, or the
/// end of the process that started us.
pub(crate) fn run<T, F>(work: impl FnOnce(CancellationToken) -> F) -> Result<T, CliError>
where
    F: Future<Output = Result<T, CliError>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()?;
    on(runtime, work)
}

/// Waits for one answer, in a process that has no runtime; only a machine that cannot give
/// it one (no threads or descriptors left) is an error.
pub(crate) fn wait_for<F: Future>(asked: F) -> io::Result<F::Output> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    Ok(runtime.enable_all().build()?.block_on(asked))
}

/// The home of the person who started this process.
pub(crate) fn person_home() -> PathBuf {
    env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from)
}

fn on<T, F>(runtime: Runtime, work: impl FnOnce(CancellationToken) -> F) -> Result<T, CliError>
where
    F: Future<Output = Result<T, CliError>>,
{
    let cancel = CancellationToken::new();
    let work = work(cancel.clone());
    let mut result = None;
    drive(
        runtime,
        cancel,
        pin!(async {
            result = Some(work.await);
        }),
    );
    result.unwrap_or_else(|| {
        Err(CliError::internal(anyhow!(
            "the work of the command was not done"
        )))
    })
}

/// Of one type, so that the runtime is compiled once and not for every command.
fn drive(runtime: Runtime, cancel: CancellationToken, work: Pin<&mut dyn Future<Output = ()>>) {
    runtime.block_on(async {
        let watcher = tokio::spawn(cancel_on_signal(cancel));
        work.await;
        watcher.abort();
        let _ = watcher.await;
    });
    // Whoever watches our input sits in a read that a signal does not end, and a
    // probe that nobody waits for any more must not hold the exit up.
    runtime.shutdown_background();
}

async fn cancel_on_signal(cancel: CancellationToken) {
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return;
    };
    tokio::select! {
        // A terminal sends it to everybody; who is supervised is told by its parent.
        _ = interrupt.recv(), if !supervise::is_supervised() => {}
        _ = terminate.recv() => {}
        () = supervise::until_parent_ends() => {}
    }
    cancel.cancel();
}

/// Log lines go to the error stream; `CODEBUTLER_LOG` chooses how much.
pub(crate) fn start_log(name: &str) {
    log::start(name);
}

/// The lines of the standard input, with their ends. A thread of its own reads them:
/// the runtime would wait for a read of its own before it lets the process end. That
/// thread has no other end than that of the input, so nobody waits for it.
pub(crate) fn stdin_lines() -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (send, receive) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let read = match input.read_until(b'\n', &mut line) {
                Ok(0) => return,
                Ok(_) => Ok(line),
                Err(error) => Err(error),
            };
            if send.blocking_send(read).is_err() {
                return;
            }
        }
    });
    receive
}
