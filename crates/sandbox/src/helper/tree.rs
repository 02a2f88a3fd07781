//! Finds the processes that belong to a command, and ends those that no
//! namespace ends for us.

use std::{collections::BTreeMap, fs, io};

use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, kill_process, wait},
};

use super::init::Members;

/// The command's processes and threads; the first process itself not counted.
pub(super) fn members(which: Members) -> io::Result<Vec<i32>> {
    let own = std::process::id() as i32;
    match which {
        Members::Namespace { .. } => Ok(processes()?.filter(|pid| *pid != own).collect()),
        Members::Descendants => descendants(own),
    }
}

/// Kills every descendant, also the ones that are born meanwhile: all are
/// stopped first, so that each round finds fewer that can still fork.
pub(super) fn kill_descendants() {
    loop {
        // Orphans become our children, so without a child nobody is left.
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        if matches!(wait(WaitOptions::NOHANG), Err(Errno::CHILD)) {
            return;
        }
        let all = descendants(std::process::id() as i32).unwrap_or_default();
        for signal in [Signal::STOP, Signal::KILL] {
            for pid in all.iter().filter_map(|pid| Pid::from_raw(*pid)) {
                let _ = kill_process(pid, signal);
            }
        }
    }
}

fn processes() -> io::Result<impl Iterator<Item = i32>> {
    let entries = fs::read_dir("/proc")?.flatten();
    Ok(entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
}

fn descendants(of: i32) -> io::Result<Vec<i32>> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for pid in processes()? {
        if let Some(parent) = parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![of];
    while let Some(pid) = open.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            found.push(child);
            open.push(child);
        }
    }
    Ok(found)
}

/// From `/proc/<pid>/stat`, behind the name, which may hold anything.
fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}
