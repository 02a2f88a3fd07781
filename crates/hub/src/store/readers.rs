//! The threads that read. Each is given one look at a time, and whoever brings a look
//! waits for the first that is free: nobody is queued behind somebody else's long look
//! while another thread has nothing to do.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Semaphore, mpsc};

use super::threads::{Job, Look};

/// The way to all of them.
pub(super) struct Readers {
    threads: Vec<mpsc::Sender<Job<Look>>>,
    free: Arc<Free>,
}

struct Free {
    /// As many as there are names in `which`.
    count: Semaphore,
    which: Mutex<Vec<usize>>,
}

/// One thread, for one look; given back when dropped.
pub(super) struct Claim {
    thread: usize,
    free: Arc<Free>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let which = self.free.which.lock();
        which
            .unwrap_or_else(PoisonError::into_inner)
            .push(self.thread);
        self.free.count.add_permits(1);
    }
}

impl Readers {
    pub(super) fn new(threads: Vec<mpsc::Sender<Job<Look>>>) -> Self {
        let free = Free {
            count: Semaphore::new(threads.len()),
            which: Mutex::new((0..threads.len()).collect()),
        };
        Self {
            threads,
            free: Arc::new(free),
        }
    }

    /// Waits for a thread that has nothing to do. What it is sent should hold the claim
    /// until it is done.
    pub(super) async fn claim(&self) -> Option<(Claim, &mpsc::Sender<Job<Look>>)> {
        self.free.count.acquire().await.ok()?.forget();
        let which = self.free.which.lock();
        let thread = which.unwrap_or_else(PoisonError::into_inner).pop()?;
        let claim = Claim {
            thread,
            free: Arc::clone(&self.free),
        };
        Some((claim, self.threads.get(thread)?))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &mpsc::Sender<Job<Look>>> {
        self.threads.iter()
    }
}
