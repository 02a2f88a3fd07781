//! Limits over all processes of a command, measured: memory, number of
//! processes, disk. Used where the kernel has no limit that binds root, and
//! cheap enough to be used always.

mod hidden;

use std::{fs, path::Path, time::SystemTime};

use super::{init::Members, tree};
use crate::{Ended, Limits};

/// Free space that no command may use up.
const RESERVE: u64 = 256 << 20;
/// What a kernel page holds; `statm` counts in pages.
const PAGE: u64 = 4096;

pub(super) struct Watch {
    limits: Limits,
    members: Members,
    started: SystemTime,
    /// Writable places on disk with their free bytes at the start.
    places: Vec<(std::path::PathBuf, u64)>,
}

impl Watch {
    /// Watches what belongs to a command from now on, and what is written below
    /// `places`.
    pub(super) fn new<'a>(
        limits: Limits,
        members: Members,
        places: impl Iterator<Item = &'a Path>,
    ) -> Self {
        Self {
            limits,
            members,
            started: SystemTime::now(),
            places: places
                .filter_map(|place| Some((place.to_owned(), free(place)?)))
                .collect(),
        }
    }

    /// Which limit is passed, if one is.
    pub(super) fn look(&self) -> Option<Ended> {
        // What cannot be looked at is not within its limits.
        let Ok(members) = tree::members(self.members) else {
            return Some(Ended::OutOfMemory);
        };
        if members.len() as u64 > u64::from(self.limits.processes) + 300 {
            return Some(Ended::TooManyProcesses);
        }
        if self.memory(&members) > self.limits.memory_bytes {
            return Some(Ended::OutOfMemory);
        }
        self.disk_is_full(&members).then_some(Ended::DiskFull)
    }

    /// Memory of all processes. First the sum of what each holds, which counts
    /// shared pages several times; only when that is too much, the exact sum.
    fn memory(&self, members: &[i32]) -> u64 {
        let scratch = match self.members {
            // Deleted files in it count too.
            Members::Namespace { own_network } => {
                let sockets = if own_network { hidden::in_sockets() } else { 0 };
                used(Path::new(crate::TMP)).saturating_add(sockets)
            }
            Members::Descendants => 0,
        };
        let rough = members.iter().map(|pid| resident(*pid));
        let rough = rough.fold(scratch, u64::saturating_add);
        if rough <= self.limits.memory_bytes {
            return rough;
        }
        let exact = members
            .iter()
            .map(|pid| proportional(*pid).unwrap_or_else(|| resident(*pid)));
        exact.fold(scratch, u64::saturating_add)
    }

    /// Others write to the same disk, so a drop in free space is only a reason
    /// to count what this command wrote.
    fn disk_is_full(&self, members: &[i32]) -> bool {
        self.places.iter().any(|(place, before)| {
            let Some(now) = free(place) else { return false };
            let gone = before.saturating_sub(now);
            let most = self.limits.disk_bytes;
            let own = || {
                let deleted = hidden::deleted_files(members, place, self.limits.file_bytes);
                written(place, self.started).saturating_add(deleted)
            };
            (gone > most && own() > most) || (now < RESERVE && gone > RESERVE)
        })
    }
}

fn free(place: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(place).ok()?;
    Some(found.f_bavail * found.f_frsize)
}

fn used(place: &Path) -> u64 {
    rustix::fs::statvfs(place).map_or(0, |found| (found.f_blocks - found.f_bfree) * found.f_frsize)
}

/// Bytes on disk of the files below `place` that changed since `since`. What cannot
/// be looked into holds anything.
fn written(place: &Path, since: SystemTime) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let since = since
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |time| time.as_secs() as i64);
    let mut sum = 0;
    let mut folders = vec![place.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if is_gone(&error) => continue,
            Err(_) => return u64::MAX,
        };
        for entry in entries.flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => folders.push(entry.path()),
                Ok(found) if found.ctime() >= since => sum += found.blocks() * 512,
                _ => {}
            }
        }
    }
    sum
}

/// Nothing of one that has ended; without end of one that cannot be looked at.
fn resident(pid: i32) -> u64 {
    let text = match fs::read_to_string(format!("/proc/{pid}/statm")) {
        Ok(text) => text,
        Err(error) if is_gone(&error) => return 0,
        Err(_) => return u64::MAX,
    };
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_u64).saturating_mul(PAGE)
}

fn is_gone(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// Each page divided by the number of processes that share it.
fn proportional(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}
