//! What every long-running command shares: the async runtime, the signals that
//! end it, and the start of its log.

use std::future::Future;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::{error::CliError, log, supervise};

/// Two threads serve any of our processes; more would only cost memory.
const THREADS: usize = 2;

/// As [`run`], on this one thread: for a command that does one thing after
/// another, where a second thread costs start-up time and wake-ups.
pub fn run_on_one_thread<T, F>(work: impl FnOnce(CancellationToken) -> F) -> Result<T, CliError>
where
    F: Future<Output = Result<T, CliError>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let result = on(&runtime, work);
    // A probe that nobody waits for any more must not hold the exit up.
    runtime.shutdown_background();
    result
}

/// Runs `work` until it ends. Its token is cancelled by Ctrl-C, SIGTERM, or the
/// end of the process that started us.
pub fn run<T, F>(work: impl FnOnce(CancellationToken) -> F) -> Result<T, CliError>
where
    F: Future<Output = Result<T, CliError>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()?;
    let result = on(&runtime, work);
    // Whoever watches our input sits in a read that a signal does not end.
    runtime.shutdown_background();
    result
}

fn on<T, F>(
    runtime: &tokio::runtime::Runtime,
    work: impl FnOnce(CancellationToken) -> F,
) -> Result<T, CliError>
where
    F: Future<Output = Result<T, CliError>>,
{
    runtime.block_on(async {
        let cancel = CancellationToken::new();
        let watcher = tokio::spawn(cancel_on_signal(cancel.clone()));
        let result = work(cancel).await;
        watcher.abort();
        result
    })
}

async fn cancel_on_signal(cancel: CancellationToken) {
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = supervise::until_parent_ends() => {}
    }
    cancel.cancel();
}

/// Log lines go to the error stream; `CODEBUTLER_LOG` chooses how much.
pub fn start_log(name: &str) {
    log::start(name);
}
