//! What a command may see and change. Paths are absolute.

use std::{path::PathBuf, time::Duration};

/// How one command is confined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The worktree: readable and writable.
    pub root: PathBuf,
    /// Read-only. Below `root` also when missing: then the first missing
    /// component cannot be created. Outside of `root` this makes an existing
    /// path visible (a linked worktree's common git directory).
    pub protected: Vec<PathBuf>,
    /// Not readable, also when it appears later. Wins over every other entry;
    /// only `root` may lie below a hidden place.
    pub hidden: Vec<PathBuf>,
    /// Files in whose place another one is seen, read-only: what is at the first
    /// path is not readable, what is at the second is. Only in namespaces.
    pub instead: Vec<(PathBuf, PathBuf)>,
    /// Readable and writable besides `root`: caches. A missing one is created.
    pub writable: Vec<PathBuf>,
    /// What it can connect to.
    pub network: Network,
    /// How much it may use.
    pub limits: Limits,
}

impl Profile {
    /// A worktree with nothing protected or hidden in it, no network beyond its
    /// own loopback, and the usual limits.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            protected: Vec::new(),
            hidden: Vec::new(),
            instead: Vec::new(),
            writable: Vec::new(),
            network: Network::Loopback,
            limits: Limits::default(),
        }
    }

    /// Whether a command would see and change the same places, whatever it may use.
    pub(crate) fn has_places_of(&self, other: &Self) -> bool {
        let Self {
            root,
            protected,
            hidden,
            instead,
            writable,
            network,
            limits: _,
        } = other;
        (&self.root, &self.protected, &self.hidden) == (root, protected, hidden)
            && (&self.writable, &self.network, &self.instead) == (writable, network, instead)
    }
}

/// What a command can connect to.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// A loopback of its own, on which only its own processes listen.
    #[default]
    Loopback,
    /// The host's network, for a command that a person approved.
    Host,
}

/// How much a command may use. They bind root too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Limits {
    /// Wall time; then everything is killed.
    pub wall: Duration,
    /// Memory of all its processes together.
    pub memory_bytes: u64,
    /// Processes and threads. The kernel gives at least so many, and up to 300 more.
    pub processes: u32,
    /// The largest single file it may write.
    pub file_bytes: u64,
    /// What it may add to the disk in all.
    pub disk_bytes: u64,
    /// Output that is kept and streamed.
    pub output_bytes: usize,
}

impl Limits {
    /// Whether a cell that was built ahead for one suits the other: the rest is
    /// kept command by command.
    pub(crate) fn same_cell(&self, other: &Self) -> bool {
        (self.memory_bytes, self.processes) == (other.memory_bytes, other.processes)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(120),
            memory_bytes: 4 << 30,
            processes: 1024,
            file_bytes: 2 << 30,
            disk_bytes: 8 << 30,
            output_bytes: 256 << 10,
        }
    }
}
