//! A `/proc` of our own: it knows only the processes inside, and it is
//! read-only, because files like `core_pattern` ask for nothing but the host's
//! root user, whom a command of root still is.

use std::os::fd::OwnedFd;

use rustix::{
    fs::{Mode, OFlags, openat},
    mount::MountAttrFlags,
};

use crate::Limits;
use crate::helper::{
    Doing, Failed,
    namespaces::mounts::{self, READ_ONLY},
    sys::{Propagation, set_mount_attributes},
};

/// Process ids below this are never handed out a second time, so that many more
/// processes than asked for can exist at first.
const RESERVED: u32 = 300;

/// The `/proc` of the pid namespace of this process, mounted nowhere yet.
pub(crate) fn detached() -> Result<OwnedFd, Failed> {
    mounts::detached("proc", &[], MountAttrFlags::MOUNT_ATTR_NOEXEC).doing("mount /proc")
}

/// Since Linux 6.14 a pid namespace has a limit of its own, which binds root
/// too. Before that this does nothing, and the watch alone counts processes.
pub(crate) fn limit_processes(proc: &OwnedFd, limits: &Limits) {
    let most = limits.processes.saturating_add(RESERVED).min(4 << 20);
    set(proc, "sys/kernel/pid_max", &most.to_string());
}

/// Limits the memory that belongs to no process, in the IPC namespace of this one.
pub(crate) fn limit_shared_memory(proc: &OwnedFd, limits: &Limits) {
    let pages = (limits.memory_bytes / 2 / 4096).max(1);
    set(proc, "sys/kernel/shmall", &pages.to_string());
}

pub(crate) fn seal(proc: &OwnedFd) -> Result<(), Failed> {
    set_mount_attributes(proc, READ_ONLY, Propagation::Same, false).doing("seal /proc")
}

/// Nobody in the user namespace of this process makes another one from now on, in
/// whichever cell. Whether that could be said: a container may keep its `/proc` from it.
pub(crate) fn refuse_user_namespaces(proc: &OwnedFd) -> bool {
    set(proc, "sys/user/max_user_namespaces", "0")
}

fn set(proc: &OwnedFd, name: &str, value: &str) -> bool {
    let file = openat(proc, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
    file.is_ok_and(|file| rustix::io::write(&file, value.as_bytes()).is_ok())
}
