//! The epoch of this process, shared by everything that speaks for it. The
//! socket learns it at connect; posts and control calls carry it.

use std::sync::Arc;

use butler_protocol::Epoch;
use tokio::sync::watch;

/// The header that carries the epoch on HTTP calls.
pub const EPOCH_HEADER: &str = "x-codebutler-epoch";
/// The header that says in which thread the caller works.
pub const THREAD_HEADER: &str = "x-codebutler-thread";

/// One process's epoch, zero until the hub gave one.
#[derive(Debug, Clone)]
pub struct SharedEpoch(Arc<watch::Sender<Epoch>>);

impl Default for SharedEpoch {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Epoch::default())))
    }
}

impl SharedEpoch {
    /// The epoch as it is now.
    pub fn get(&self) -> Epoch {
        *self.0.borrow()
    }

    /// Takes a newer epoch; an older one is ignored.
    pub fn raise(&self, epoch: Epoch) {
        self.0.send_if_modified(|current| {
            let newer = epoch > *current;
            if newer {
                *current = epoch;
            }
            newer
        });
    }

    /// Waits until the epoch is above `old`.
    pub async fn past(&self, old: Epoch) {
        let mut watch = self.0.subscribe();
        // The sender lives in `self`, so this cannot fail while we hold it.
        let _ = watch.wait_for(|current| *current > old).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_epoch_only_rises_and_wakes_who_waits_for_it() {
        let epoch = SharedEpoch::default();
        epoch.raise(Epoch(3));
        epoch.raise(Epoch(2));
        assert_eq!(epoch.get(), Epoch(3));
        let (_, ()) = tokio::join!(epoch.past(Epoch(3)), async { epoch.raise(Epoch(4)) });
        assert_eq!(epoch.get(), Epoch(4));
    }
}
