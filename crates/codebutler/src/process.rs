//! What every long-running command shares: the async runtime, the signals that
//! end it, and the log.

use std::future::Future;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::{error::CliError, supervise};

/// Two threads serve any of our processes; more would only cost memory.
const THREADS: usize = 2;

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
    let filter = EnvFilter::try_from_env("CODEBUTLER_LOG")
        .unwrap_or_else(|_| EnvFilter::new("warn,butler_team=info"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .compact()
        .finish();
    // A second start in one process keeps the first.
    if tracing::subscriber::set_global_default(subscriber).is_ok() {
        tracing::debug!(process = name, "log started");
    }
}
