//! Limits that the kernel keeps itself, where it lets us: a control group around each
//! helper and whatever runs in it. It counts what a look at processes and files cannot
//! see (buffers of sockets, memory of the kernel for a command), and at once instead of
//! every few milliseconds, so the watch inside stays, and is what people usually meet.
//!
//! Usable is the group above our own when it hands memory and processes down and may be
//! written: a session or unit that systemd manages for a user is in such a one. Groups
//! are named after the process that made them; one that nobody is in is removed by
//! whoever makes the next.

use std::{
    cell::Cell,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::fs::{Access, access};

use crate::Limits;

/// How the names of our groups begin.
const NAME: &str = "codebutler-";
/// For the helper itself, and so that the watch is first to say what was too much.
const MEMORY_BESIDE: u64 = 128 << 20;
const PROCESSES_BESIDE: u64 = 320;

/// Whether the kernel keeps the limits of commands on this machine, or why not.
///
/// # Errors
/// Says what is missing.
pub fn kernel_keeps_limits() -> Result<(), &'static str> {
    parent().as_ref().map(|_| ()).map_err(String::as_str)
}

fn parent() -> &'static Result<PathBuf, String> {
    static PARENT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PARENT.get_or_init(|| {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let own = own_folder(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"));
        let above = own.as_deref().and_then(Path::parent);
        let above = above.ok_or("no control group is above this process")?;
        usable(above)?;
        Ok(above.to_owned())
    })
}

/// Where the group of a process is, from what the kernel says about it and its mounts.
fn own_folder(groups: &str, mounts: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    mounts.lines().find_map(|line| {
        let (about, kind) = line.split_once(" - ")?;
        if kind.split(' ').next()? != "cgroup2" {
            return None;
        }
        let mut words = about.split(' ').skip(3);
        let (root, at) = (words.next()?, words.next()?);
        // In a container the mount may begin further down than our path does.
        let below = Path::new("/").join(own);
        let below = below.strip_prefix(root).ok()?.to_owned();
        (below != Path::new("")).then(|| Path::new(at).join(below))
    })
}

fn usable(parent: &Path) -> Result<(), String> {
    let shown = parent.display();
    let handed = fs::read_to_string(parent.join("cgroup.subtree_control")).unwrap_or_default();
    for controller in ["memory", "pids"] {
        if !handed.split_whitespace().any(|one| one == controller) {
            return Err(format!("{shown} hands no `{controller}` down"));
        }
    }
    for place in [parent.to_owned(), parent.join("cgroup.procs")] {
        if access(&place, Access::WRITE_OK).is_err() {
            return Err(format!("{shown} may not be written"));
        }
    }
    Ok(())
}

/// A group around one helper.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    now: Cell<Option<(u64, u32)>>,
}

impl Cgroup {
    /// Puts a process into a group of its own, if that can be.
    pub(crate) fn around(process: u32, limits: &Limits) -> Option<Self> {
        let parent = parent().as_ref().ok()?;
        match Self::make(parent, process, limits) {
            Ok(group) => Some(group),
            Err(error) => {
                tracing::debug!(%error, "no control group for a sandbox");
                None
            }
        }
    }

    fn make(parent: &Path, process: u32, limits: &Limits) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        sweep(parent);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("{NAME}{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        let group = Self {
            path,
            now: Cell::new(None),
        };
        group.limit(limits)?;
        fs::write(group.path.join("cgroup.procs"), process.to_string())?;
        Ok(group)
    }

    /// Sets the limits of the next command.
    pub(crate) fn limit(&self, limits: &Limits) -> io::Result<()> {
        let wanted = (limits.memory_bytes, limits.processes);
        if self.now.get() == Some(wanted) {
            return Ok(());
        }
        let memory = limits.memory_bytes.saturating_add(MEMORY_BESIDE);
        let processes = u64::from(limits.processes) + PROCESSES_BESIDE;
        self.set("memory.max", memory)?;
        self.set("pids.max", processes)?;
        // Not there without swap.
        let _ = self.set("memory.swap.max", 0);
        self.now.set(Some(wanted));
        Ok(())
    }

    fn set(&self, name: &str, value: u64) -> io::Result<()> {
        let mut file = fs::OpenOptions::new();
        let file = file.write(true).truncate(true);
        let mut file = file.open(self.path.join(name))?;
        io::Write::write_all(&mut file, value.to_string().as_bytes())
    }
}

/// Removes groups that nobody is in any more: the kernel refuses it for all others.
pub(crate) fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(NAME) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The same for a process that ends.
pub(crate) fn tidy() {
    if let Ok(parent) = parent() {
        sweep(parent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n\
                          30 23 0:27 / /proc rw - proc proc rw\n";

    #[test]
    fn the_own_group_is_found_below_the_mount_and_the_root_has_none_above() {
        let own = |groups: &str, mounts: &str| own_folder(groups, mounts);
        let unit = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n";
        let found = own(unit, MOUNTS).unwrap();
        assert!(found.ends_with("app.slice/x.scope") && found.starts_with("/sys/fs/cgroup"));
        // The older hierarchies beside the new one.
        let hybrid = format!("4:memory:/x\n1:name=systemd:/y\n{unit}");
        assert_eq!(own(&hybrid, MOUNTS), Some(found));
        let inner = MOUNTS.replace("0:26 / /sys", "0:26 /user.slice /sys");
        let inside = own("0::/user.slice/a\n", &inner);
        assert_eq!(inside, Some("/sys/fs/cgroup/a".into()));
        assert_eq!(own("0::/other\n", &inner), None);
        assert_eq!(own("0::/\n", MOUNTS), None, "nothing is above it");
        assert_eq!(own("4:memory:/x\n", MOUNTS), None);
        assert_eq!(own(unit, ""), None);
    }

    #[test]
    fn a_group_is_usable_when_it_hands_both_down_and_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let parent = folder.path();
        let handed = |text: &str| fs::write(parent.join("cgroup.subtree_control"), text).unwrap();
        handed("cpu memory");
        let refused = usable(parent).unwrap_err();
        assert!(refused.contains("hands no `pids` down"), "{refused}");
        handed("cpu memory pids\n");
        assert!(usable(parent).unwrap_err().contains("may not be written"));
        fs::write(parent.join("cgroup.procs"), "").unwrap();
        assert_eq!(usable(parent), Ok(()));
        assert!(usable(&parent.join("none")).is_err());
    }

    #[test]
    fn what_nobody_is_in_is_swept_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["codebutler-1-0", "codebutler-1-1", "other"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        // A group with somebody in it cannot be removed, like a folder with a file.
        fs::write(folder.path().join("codebutler-1-1/cgroup.procs"), "1").unwrap();
        sweep(folder.path());
        let there = |name: &str| folder.path().join(name).exists();
        assert!(!there("codebutler-1-0") && there("codebutler-1-1") && there("other"));
    }
}
