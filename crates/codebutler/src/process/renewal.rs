//! When a process that a service keeps should end so that the service starts it
//! anew: another binary lies in its place, or the hub listens elsewhere.

use std::{
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use butler_config::Settings;
use butler_slack::Workspace;
use tokio::time::sleep;
use tracing::info;

use crate::{process::running::KeptBy, wiring};

/// Between two looks.
const GLANCE: Duration = Duration::from_secs(1);

/// Which file lies at a path: an installed one has another number or time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

fn identity(path: &Path) -> Option<Identity> {
    let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(Identity {
        device: file.dev(),
        inode: file.ino(),
        size: file.size(),
        changed: (file.mtime(), file.mtime_nsec()),
    })
}

/// Returns when another binary lies where this process's was, whole: it has not
/// changed between two looks. Never returns where no service would start it.
pub(crate) async fn another_binary() {
    if KeptBy::this_process() == KeptBy::Service
        && let Some(path) = started_from()
        && let Some(own) = identity(&path)
    {
        another_at(&path, own, GLANCE).await;
        info!(binary = %path.display(), "another binary was installed");
    } else {
        std::future::pending::<()>().await;
    }
}

async fn another_at(path: &Path, own: Identity, glance: Duration) {
    let mut before = None;
    loop {
        sleep(glance).await;
        // A file that is away for the moment is none.
        let now = identity(path).filter(|now| *now != own);
        if now.is_some() && now == before {
            return;
        }
        before = now;
    }
}

/// The path that the service starts. What the system says of a running binary is no
/// use: it follows the file when it is moved away.
fn started_from() -> Option<PathBuf> {
    let path = PathBuf::from(env::args_os().next()?);
    path.is_absolute().then_some(path)
}

/// Returns when the hub of this machine listens elsewhere than at `known`.
/// One on another machine is always at the address that was joined.
pub(crate) async fn another_hub(settings: &Settings, known: &Workspace) {
    loop {
        sleep(GLANCE).await;
        if wiring::hub(settings).is_ok_and(|hub| hub != *known) {
            info!("the hub listens elsewhere by now");
            return;
        }
    }
}

/// Waits for the first hub of this machine: services start in any order.
pub(crate) async fn first_hub(settings: &Settings) {
    while wiring::hub(settings).is_err() {
        sleep(GLANCE / 4).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_binary_that_was_replaced_is_noticed_once_it_is_whole() {
        let glance = Duration::from_millis(20);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("codebutler");
        fs::write(&path, "one").unwrap();
        let own = identity(&path).unwrap();
        let look = || tokio::time::timeout(glance * 8, another_at(&path, own, glance));
        look().await.unwrap_err();
        fs::remove_file(&path).unwrap();
        look().await.unwrap_err();
        fs::write(folder.path().join("new"), "two").unwrap();
        fs::rename(folder.path().join("new"), &path).unwrap();
        look().await.unwrap();
    }
}
