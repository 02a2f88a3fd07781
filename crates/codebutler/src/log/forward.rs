//! Takes log lines to the hub, for the page. A hub that is away loses some of
//! them; the file has all.

use std::time::Duration;

use butler_protocol::LogBatch;
use butler_slack::Control;
use tokio_util::sync::CancellationToken;

use super::Lines;

/// Lines of one request.
const BATCH: usize = 100;
/// Lines that come close together go together.
const GATHER: Duration = Duration::from_millis(250);

/// Sends until cancelled, or until the log ends.
pub(crate) async fn forward(control: Control, mut lines: Lines, cancel: CancellationToken) {
    loop {
        let first = tokio::select! {
            () = cancel.cancelled() => return,
            line = lines.recv() => line,
        };
        let Some(first) = first else { return };
        let mut batch = vec![first];
        let gathered = async {
            while batch.len() < BATCH {
                match lines.recv().await {
                    Some(line) => batch.push(line),
                    None => return,
                }
            }
        };
        tokio::select! {
            () = cancel.cancelled() => {}
            _ = tokio::time::timeout(GATHER, gathered) => {}
        }
        // Not logged when it fails: that would be one more line to send.
        let _ = control.log(&LogBatch { lines: batch }).await;
    }
}
