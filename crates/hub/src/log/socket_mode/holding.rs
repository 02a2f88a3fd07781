//! What one connection of a process knows of its place among the processes of its role:
//! which threads are its own, and whether it is still there.

use std::{collections::HashSet, sync::Arc, time::Duration};

use butler_protocol::Epoch;
use tokio::time::Instant;
use tracing::debug;

use crate::{
    error::Result,
    hub::App,
    log::{
        AgentKey,
        processes::{self, Standing, holders},
    },
    store::{Db, Tx},
};

/// A process that shares its threads is asked each second whether it is there; without a
/// sign of life for so long its connection is over, and others may have its threads.
const SILENCE: Duration = Duration::from_secs(6);

/// The place of one connection's process.
pub(super) struct Holding {
    app: Arc<App>,
    agent: AgentKey,
    epoch: Epoch,
    /// Its name; without one it is alone.
    pub(super) process: Option<String>,
    /// As it was told at its hello.
    pub(super) standing: Standing,
    /// Threads that it is known to hold: it loses them only with its connection.
    mine: HashSet<String>,
    heard_at: Instant,
}

impl Holding {
    pub(super) fn new(
        app: &Arc<App>,
        (agent, epoch): (AgentKey, Epoch),
        process: Option<String>,
        standing: Standing,
    ) -> Self {
        Self {
            app: Arc::clone(app),
            agent,
            epoch,
            process,
            standing,
            mine: HashSet::new(),
            heard_at: Instant::now(),
        }
    }

    /// Whether this connection is the one that gets a thread's envelopes.
    pub(super) async fn is_mine(&mut self, thread: &str) -> Result<bool> {
        let Some(process) = self.process.clone() else {
            return Ok(true);
        };
        if self.mine.contains(thread) {
            return Ok(true);
        }
        let (agent, asked) = (self.agent, thread.to_owned());
        let look = move |db: &Db| holders::holds(db, agent, &process, &asked);
        let mine = self.app.read(look).await?;
        if mine {
            self.mine.insert(thread.to_owned());
        }
        Ok(mine)
    }

    /// Whether something is not true any more that the process was told at its hello.
    pub(super) async fn has_changed(&mut self) -> Result<bool> {
        let Some(process) = self.process.clone() else {
            return Ok(false);
        };
        let agent = self.agent;
        let look = move |db: &Db| processes::standing(db, agent, &process);
        let standing = self.app.read(look).await?;
        Ok(std::mem::replace(&mut self.standing, standing) != standing)
    }

    /// Whether a connection that is newer takes the place of this one. Other processes
    /// of the role stand beside it.
    pub(super) fn is_displaced_by(&self, process: Option<&String>, epoch: Epoch) -> bool {
        let own = self.process.as_ref();
        epoch > self.epoch && (own.is_none() || process.is_none() || own == process)
    }

    /// Whether the process was given up although its connection is open, as when its hub
    /// stood still for a while.
    pub(super) async fn is_lost(&self) -> Result<bool> {
        let Some(process) = self.process.clone() else {
            return Ok(false);
        };
        let agent = self.agent;
        let look = move |db: &Db| processes::is_known(db, agent, &process);
        Ok(!self.app.read(look).await?)
    }

    pub(super) fn heard(&mut self) {
        self.heard_at = Instant::now();
    }

    pub(super) fn is_silent(&self) -> bool {
        self.standing.shared && self.heard_at.elapsed() > SILENCE
    }

    /// The connection is over: its threads go to others unless it is back soon.
    pub(super) async fn end(&self) {
        let Some(process) = self.process.clone() else {
            return;
        };
        let (agent, epoch) = (self.agent, self.epoch);
        let left = move |tx: &mut Tx<'_>| processes::left(tx.db(), agent, &process, epoch);
        if let Err(error) = self.app.write(left).await {
            debug!(%error, "the next hub will see that the process is gone");
        }
    }
}
