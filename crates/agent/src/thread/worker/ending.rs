//! The end of the process, in its written order: nothing new is begun, tools
//! that run get a moment, what they did is written down, their children end.
//! Whatever is cut off here the next start takes up as after a crash.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::time::{Instant, timeout_at};
use tracing::info;

use super::Worker;
use crate::{
    AgentError,
    thread::driver::{Done, Edge},
};

/// What tools get to come to their own end.
const GRACE: Duration = Duration::from_secs(5);
/// What children get to go once they were told to.
const LAST_WORDS: Duration = Duration::from_secs(2);

impl Worker {
    /// Ends the work on this thread because the process ends.
    pub(super) async fn wind_down(&mut self) -> Result<(), AgentError> {
        if self.running > 0 {
            info!(tools = self.running, "stopping; the tools get a moment");
        }
        let until = Instant::now() + GRACE;
        while self.running > 0 {
            let Ok(Some(done)) = timeout_at(until, self.doing.next()).await else {
                break;
            };
            self.keep(done).await?;
        }
        self.work.cancel();
        let until = Instant::now() + LAST_WORDS;
        while let Ok(Some(done)) = timeout_at(until, self.doing.next()).await {
            // A tool that was cut off is not done: the next start looks what
            // became of it. A call of the model that was cut off has its bill.
            if matches!(done, Done::Replied(_, Err(_))) {
                self.keep(done).await?;
            }
        }
        self.clear_tool_session().await;
        Ok(())
    }

    /// Writes down what came in. What would follow from it is not begun.
    async fn keep(&mut self, done: Done) -> Result<(), AgentError> {
        match done {
            Done::Failed(_) | Done::Beside(_) => {
                let records = self.edge.left_to_write();
                self.write(records).await
            }
            done => {
                self.on_done(done).await?;
                self.write_ahead().await
            }
        }
    }
}
