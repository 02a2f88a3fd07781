//! Which of our processes run. Each long-running one holds a lock on a note that
//! says what it is; however it ends, even by `kill -9`, the lock ends with it.
//! So `status` and whoever starts a team see the same, whoever keeps the process.

use std::{
    env,
    fs::{self, File, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use butler_protocol::Role;
use serde::{Deserialize, Serialize};

use crate::{cli::VERSION, log::now_ms, supervise};

/// Set by the units that we install.
pub(crate) const SERVICE_VARIABLE: &str = "CODEBUTLER_SERVICE";

/// The hub's name among the processes; the others go by their role.
pub(crate) const HUB: &str = "hub";

/// How long the lock may be held by somebody who only looks.
const GLANCE: Duration = Duration::from_millis(400);

/// What starts a process again when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KeptBy {
    /// systemd or launchd.
    Service,
    /// `codebutler up`.
    Up,
    /// Nothing: somebody runs it in a terminal.
    Nobody,
}

impl KeptBy {
    /// Who keeps this process.
    pub(crate) fn this_process() -> Self {
        if env::var_os(SERVICE_VARIABLE).is_some() {
            KeptBy::Service
        } else if supervise::is_supervised() {
            KeptBy::Up
        } else {
            KeptBy::Nobody
        }
    }

    /// What `status` calls it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            KeptBy::Service => "service",
            KeptBy::Up => "up",
            KeptBy::Nobody => "terminal",
        }
    }
}

/// What a process says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Note {
    /// Its number.
    pub pid: u32,
    /// Of which build it is.
    pub version: String,
    /// When it began.
    pub started_ms: i64,
    /// What starts it again.
    pub kept_by: KeptBy,
}

/// The names of all processes of a repo, in the order that people read them.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    std::iter::once(HUB).chain(Role::ALL.map(Role::as_str))
}

/// Says that this process runs, until what comes back is dropped. A process whose
/// note cannot be written works all the same.
pub(crate) fn hold(home: &Path, repo: &str, name: &str) -> io::Result<File> {
    let mut file = lockable(&path(home, repo, name))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            // Somebody may only be looking.
            Err(TryLockError::WouldBlock) if begun.elapsed() < GLANCE => {
                thread::sleep(GLANCE / 20);
            }
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    let note = Note {
        pid: std::process::id(),
        version: VERSION.to_owned(),
        started_ms: now_ms(),
        kept_by: KeptBy::this_process(),
    };
    file.set_len(0)?;
    file.write_all(&serde_json::to_vec(&note)?)?;
    Ok(file)
}

/// A file to lock, with what an earlier holder wrote.
pub(crate) fn lockable(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::options();
    file.create(true).truncate(false).read(true).write(true);
    file.open(path)
}

/// The process of this name, while it runs.
pub(crate) fn look(home: &Path, repo: &str, name: &str) -> Option<Note> {
    let mut text = String::new();
    held(&path(home, repo, name))?
        .read_to_string(&mut text)
        .ok()?;
    serde_json::from_str(&text).ok()
}

/// The processes of a repo that a service keeps.
pub(crate) fn services(home: &Path, repo: &str) -> Vec<&'static str> {
    let kept =
        |name: &&str| look(home, repo, name).is_some_and(|note| note.kept_by == KeptBy::Service);
    names().filter(kept).collect()
}

/// Locked by `up` as long as the team runs that it started; holds its process's number.
pub(crate) fn team_file(home: &Path, repo: &str) -> PathBuf {
    home.join("run").join(format!("{repo}.team"))
}

/// The `up` that runs the team of a repo.
pub(crate) fn team(home: &Path, repo: &str) -> Option<u32> {
    let mut text = String::new();
    held(&team_file(home, repo))?
        .read_to_string(&mut text)
        .ok()?;
    text.parse().ok()
}

/// A file whose lock somebody holds.
fn held(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(file),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

fn path(home: &Path, repo: &str, name: &str) -> PathBuf {
    home.join("run").join(repo).join(format!("{name}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_seen_while_it_holds_its_note_and_not_after() {
        let home = tempfile::tempdir().unwrap();
        let seen = || look(home.path(), "app", "coder");
        assert_eq!(seen(), None);
        let held = hold(home.path(), "app", "coder").unwrap();
        let note = seen().unwrap();
        assert_eq!(note.pid, std::process::id());
        assert_eq!(note.version, VERSION);
        assert_eq!(look(home.path(), "other", "coder"), None);
        // The second of the same name is no other.
        hold(home.path(), "app", "coder").unwrap_err();
        drop(held);
        assert_eq!(seen(), None);
        hold(home.path(), "app", "coder").unwrap();
    }
}
