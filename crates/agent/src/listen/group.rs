//! This process among others of its role. Each has a clone of its own, and the hub gives
//! each of them threads of its own; what only one of them does, the first one does.

use std::{
    fs,
    hash::{BuildHasher, RandomState},
    path::Path,
    process,
};

use butler_journal::{JournalError, write_whole};
use butler_protocol::{Epoch, visible_line};
use butler_slack::Standing;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Where a clone's name among the processes of a role is kept, beside its logs: whoever
/// has the logs goes on with them.
const FILE: &str = "process";
const HOST: &str = "/proc/sys/kernel/hostname";

/// The place of this process.
#[derive(Debug)]
pub(crate) struct Group {
    /// Which life of this role this is.
    pub(crate) epoch: Epoch,
    standing: watch::Receiver<Standing>,
}

impl Group {
    pub(crate) fn new(epoch: Epoch, standing: watch::Receiver<Standing>) -> Self {
        Self { epoch, standing }
    }

    /// Whether another process could have to go on with what this one does.
    pub(crate) fn is_shared(&self) -> bool {
        self.standing.borrow().shared
    }

    /// Does something while this process is the first of its role, from the beginning
    /// each time; what is under way when it is not any more is dropped, as in a crash.
    pub(crate) async fn while_first<F: Future<Output = ()>>(
        &self,
        life: CancellationToken,
        work: impl Fn(CancellationToken) -> F,
    ) {
        let mut standing = self.standing.clone();
        loop {
            tokio::select! {
                () = life.cancelled() => return,
                found = standing.wait_for(|now| now.first) => if found.is_err() { return },
            }
            let doing = life.child_token();
            tokio::select! {
                () = work(doing.clone()) => return,
                lost = standing.wait_for(|now| !now.first) => if lost.is_err() { return },
            }
            doing.cancel();
        }
    }
}

/// The name of this clone's processes: the machine's, and something that no copy of the
/// machine's name has. It is made once and kept.
///
/// # Errors
/// When it cannot be kept.
pub(crate) fn process_name(threads: &Path) -> Result<String, JournalError> {
    let file = threads.join(FILE);
    let kept = fs::read_to_string(&file).unwrap_or_default();
    let mut number = visible_line(kept.trim());
    if number.is_empty() {
        let random = RandomState::new();
        number = format!("{:016x}", random.hash_one(process::id())).into();
        write_whole(&file, number.as_bytes())?;
    }
    let host = fs::read_to_string(HOST).unwrap_or_default();
    // A clone that was copied to another machine is another process there.
    Ok(format!("{}-{number}", visible_line(host.trim())))
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };

    use super::*;

    #[test]
    fn a_clone_keeps_its_name_and_another_clone_has_another() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let name = |folder: &tempfile::TempDir| process_name(folder.path()).unwrap();
        assert_eq!(name(&one), name(&one));
        assert_ne!(name(&one), name(&other));
    }

    #[tokio::test]
    async fn what_one_process_does_is_done_while_it_is_the_first() {
        let (stands, standing) = watch::channel(Standing::default());
        let group = Group::new(Epoch(1), standing);
        let (begun, at_work) = (Arc::new(AtomicU32::new(0)), Arc::new(()));
        let work = |_| {
            begun.fetch_add(1, Ordering::Relaxed);
            let busy = Arc::clone(&at_work);
            async move {
                std::future::pending::<()>().await;
                drop(busy);
            }
        };
        let life = CancellationToken::new();
        let watched = async {
            for first in [true, false, true] {
                let shared = true;
                stands.send_replace(Standing { first, shared });
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                assert_eq!(Arc::strong_count(&at_work) > 1, first);
            }
            life.cancel();
            stands.send_replace(Standing {
                first: false,
                shared: true,
            });
        };
        tokio::join!(group.while_first(life.clone(), work), watched);
        assert_eq!(begun.load(Ordering::Relaxed), 2);
    }
}
