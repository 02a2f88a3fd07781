//! What a look at names and at the memory of processes does not find: files that were
//! deleted while somebody has them open, and what waits in the buffers of sockets.

use std::{collections::BTreeSet, fs, io, os::unix::fs::MetadataExt, path::Path};

use super::is_gone;

/// What a socket holds when its buffer is full and nobody asked for a larger one, which
/// is twice what it was asked to hold. (A machine that allows larger ones needs a control
/// group to count them.)
const SOCKET: u64 = 2 * 212_992;
/// So many sockets are usual, and hold next to nothing.
const USUAL: u64 = 256;

/// Bytes of deleted files on the disk of `place` that these processes hold. One that is
/// only mapped shows no size, so it counts as the largest there may be. What cannot be
/// looked at holds anything.
pub(super) fn deleted_files(members: &[i32], place: &Path, largest: u64) -> u64 {
    let Ok(disk) = fs::metadata(place).map(|found| found.dev()) else {
        return u64::MAX;
    };
    let mut seen = BTreeSet::new();
    let mut sum = 0_u64;
    for pid in members {
        let opened = opened(*pid).and_then(|files| {
            for file in files.filter(|file| file.nlink() == 0 && file.dev() == disk) {
                if seen.insert(file.ino()) {
                    sum = sum.saturating_add(file.blocks() * 512);
                }
            }
            mapped(*pid, disk)
        });
        match opened {
            Ok(mapped) => {
                let new = mapped
                    .into_iter()
                    .filter(|inode| seen.insert(*inode))
                    .count();
                sum = sum.saturating_add(largest.saturating_mul(new as u64));
            }
            Err(error) if is_gone(&error) => {}
            Err(_) => return u64::MAX,
        }
    }
    sum
}

/// The files that a process has open.
fn opened(pid: i32) -> io::Result<impl Iterator<Item = fs::Metadata>> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))?.flatten();
    let files = entries.filter_map(|entry| fs::metadata(entry.path()).ok());
    Ok(files.filter(fs::Metadata::is_file))
}

/// The deleted files of a disk that a process has mapped.
fn mapped(pid: i32, disk: u64) -> io::Result<Vec<u64>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let deleted = maps.lines().filter(|line| line.ends_with(" (deleted)"));
    let inodes = deleted.filter_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(3);
        let (major, minor) = words.next()?.split_once(':')?;
        let inode = words.next()?.parse().ok()?;
        let number = |hex| u32::from_str_radix(hex, 16).ok();
        let own = rustix::fs::makedev(number(major)?, number(minor)?) == disk;
        own.then_some(inode)
    });
    Ok(inodes.collect())
}

/// What the sockets of this network namespace can hold.
pub(super) fn in_sockets() -> u64 {
    let text = fs::read_to_string("/proc/net/sockstat").unwrap_or_default();
    let used = text
        .lines()
        .find_map(|line| line.strip_prefix("sockets: used "));
    let used: u64 = used.and_then(|used| used.trim().parse().ok()).unwrap_or(0);
    used.saturating_sub(USUAL).saturating_mul(SOCKET)
}
