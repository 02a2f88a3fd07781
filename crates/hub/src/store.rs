//! One SQLite file. All changes go through one writer thread, which commits
//! whatever has piled up in one go and answers only after the commit: what was
//! answered survives a kill. Reads have threads of their own.
//!
//! The queues are bounded: who brings more than the threads can do waits. A panic
//! in a change or a look is the caller's error and nobody else's: it is undone, the
//! thread opens the file anew, and [`Store::check`] says so until that worked.

pub(crate) mod cold;
mod connection;
pub(crate) mod copy;
pub(crate) mod db;
pub(crate) mod erase;
pub(crate) mod file;
pub(crate) mod migrate;
pub(crate) mod place;
pub(crate) mod postgres;
pub(crate) mod retention;
pub(crate) mod shared;
pub(crate) mod snapshot;
pub(crate) mod sql;
mod threads;
pub(crate) mod tx;
pub(crate) mod versions;

use std::{sync::Arc, time::Duration};

use butler_protocol::Clock;
use tokio::{
    sync::{broadcast, mpsc, oneshot},
    time::timeout,
};

use crate::{
    error::{HubError, Result, Trouble},
    identity::tokens::random_text,
    log::Notice,
    store::{
        place::StorePlace,
        postgres::Address,
        threads::{Change, Job, Look},
    },
};

pub(crate) use db::system_clock;
pub(crate) use sql::{FromRow, FromSql, Known, Params, Row};

pub(crate) use db::Db;
pub(crate) use sql::{from_row, params};
pub(crate) use threads::StoreThreads;
pub(crate) use tx::Tx;

/// Changes, and looks per reader, that wait before their callers have to.
const QUEUE: usize = 1_024;
/// Threads that read; one long look does not hold up the others.
const READERS: usize = 2;
/// How long a thread may take to give a sign of life.
const SIGN: Duration = Duration::from_secs(5);

/// The way to one thread that reads.
struct Reader {
    asks: mpsc::Sender<Job<Look>>,
    /// Held by every look that waits or is under way there.
    busy: Arc<()>,
}

impl Reader {
    fn busy(&self) -> usize {
        Arc::strong_count(&self.busy)
    }
}

/// The way to the store's threads.
#[derive(Clone)]
pub(crate) struct Store {
    changes: mpsc::Sender<Job<Change>>,
    looks: Arc<[Reader]>,
    clock: Clock,
    /// The name of this hub among those that share the store, and where they meet.
    hub: Arc<str>,
    meets: Option<Address>,
}

impl Store {
    /// Opens the file in `dir` and starts its threads. They end when they are
    /// closed, or with the last clone.
    pub(crate) fn open(
        place: &StorePlace,
        clock: Clock,
        notices: broadcast::Sender<Arc<Notice>>,
    ) -> Result<(Self, StoreThreads), HubError> {
        let place = place.with_clock(clock.clone())?;
        let (changes, todo) = mpsc::channel(QUEUE);
        let hub: Arc<str> = random_text().into();
        let mut started = vec![threads::writer(&place, Arc::clone(&hub), todo, notices)?];
        let mut looks = Vec::new();
        for _ in 0..READERS {
            let (asks, asked) = mpsc::channel(QUEUE);
            started.push(threads::reader(&place, asked)?);
            looks.push(Reader {
                asks,
                busy: Arc::default(),
            });
        }
        let store = Self {
            changes,
            looks: looks.into(),
            clock,
            hub,
            meets: place.shared().cloned(),
        };
        let threads = StoreThreads::new(store.clone(), started);
        Ok((store, threads))
    }

    /// The name of this hub among those that share the store.
    pub(crate) fn hub(&self) -> Arc<str> {
        Arc::clone(&self.hub)
    }

    /// Where hubs that share the store hear of each other; nothing when it is a file.
    pub(crate) fn meets(&self) -> Option<&Address> {
        self.meets.as_ref()
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Carries out a change and answers after it is durable. An error rolls it
    /// back. Once it is queued it happens also when the caller stops waiting.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T> + Send + 'static,
    {
        let (answer, waiting) = oneshot::channel();
        let change: Change = Box::new(move |tx| {
            let outcome = tx.carry_out(work);
            Box::new(move || {
                let _ = answer.send(outcome);
            })
        });
        let queued = self.changes.send(Job::Work(change)).await;
        queued.map_err(|_| Trouble::Closed)?;
        waiting.await.map_err(|_| Trouble::Closed)?
    }

    /// Looks something up.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Db) -> Result<T> + Send + 'static,
    {
        let (answer, waiting) = oneshot::channel();
        let reader = self.looks.iter().min_by_key(|reader| reader.busy());
        let reader = reader.ok_or(Trouble::Closed)?;
        let counted = Arc::clone(&reader.busy);
        let look: Look = Box::new(move |db| {
            let outcome = work(db);
            // Before the answer: whoever has it may bring the next look at once, which
            // is not to be queued behind somebody else's long one.
            drop(counted);
            let _ = answer.send(outcome);
        });
        let queued = reader.asks.send(Job::Work(look)).await;
        queued.map_err(|_| Trouble::Closed)?;
        waiting.await.map_err(|_| Trouble::Closed)?
    }

    /// Passes on to this hub's listeners what other hubs have written.
    pub(crate) async fn hear(&self) -> Result<()> {
        let (answer, waiting) = oneshot::channel();
        let queued = self.changes.send(Job::Hear(answer)).await;
        queued.map_err(|_| Trouble::Closed)?;
        waiting.await.map_err(|_| Trouble::Closed)?
    }

    /// Whether every thread lives and has the file open; one that lost it tries
    /// again now. Says for everybody what does not work; the log says why.
    pub(crate) async fn check(&self) -> Result<(), &'static str> {
        if !gives_a_sign(&self.changes).await {
            return Err("the hub cannot write to its store; its log says why");
        }
        for reader in self.looks.iter() {
            if !gives_a_sign(&reader.asks).await {
                return Err("the hub cannot read its store; its log says why");
            }
        }
        Ok(())
    }

    async fn close(&self) {
        // A thread that is gone already needs no telling.
        let _ = self.changes.send(Job::Close).await;
        for reader in self.looks.iter() {
            let _ = reader.asks.send(Job::Close).await;
        }
    }
}

async fn gives_a_sign<W>(thread: &mpsc::Sender<Job<W>>) -> bool {
    let (sign, waiting) = oneshot::channel();
    let asked = async {
        thread.send(Job::Sign(sign)).await.ok()?;
        waiting.await.ok()
    };
    timeout(SIGN, asked).await == Ok(Some(true))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
