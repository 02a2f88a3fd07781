//! The pause between two looks at the forge. A webhook ends it early, where the forge can
//! reach the hub; where it cannot, or the hub does not say, the clock does.

use std::{future::pending, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::Agent;

/// How many webhooks were heard of.
#[derive(Debug, Default)]
pub(crate) struct ForgeWake {
    seen: u64,
}

impl ForgeWake {
    /// Whether to look again, after so many failures in a row; not once `cancel` is.
    pub(crate) async fn pause(
        &mut self,
        agent: &Agent,
        (pause, failures): (Duration, u32),
        cancel: &CancellationToken,
    ) -> bool {
        // A forge that wants to be left alone is not asked because it says something.
        if failures > 0 {
            return sleep(pause, cancel).await;
        }
        tokio::select! {
            () = cancel.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
            seen = moved(agent, self.seen) => {
                self.seen = seen;
                true
            }
        }
    }
}

/// The same by the clock alone.
pub(crate) async fn sleep(pause: Duration, cancel: &CancellationToken) -> bool {
    tokio::select! {
        () = cancel.cancelled() => false,
        () = tokio::time::sleep(pause) => true,
    }
}

async fn moved(agent: &Agent, seen: u64) -> u64 {
    let (control, channel) = (&agent.poster.control, &agent.config.channel);
    loop {
        match control.forge_moved(channel, seen).await {
            Ok(now) if now != seen => return now,
            Ok(_) => {}
            // The hub is gone or older than we are; the next pause asks again.
            Err(_) => return pending().await,
        }
    }
}
