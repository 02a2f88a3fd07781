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
    namespaces::mounts::{READ_ONLY, detached},
    sys::{Propagation, set_mount_attributes},
};

/// Process ids below this are never handed out a second time, so that many more
/// processes than asked for can exist at first.
const RESERVED: u32 = 300;

/// Sets the limits that the kernel keeps per namespace; the `/proc` that they
/// were set through, mounted nowhere yet.
pub(crate) fn detached_for(limits: &Limits, no_users: bool) -> Result<OwnedFd, Failed> {
    let proc = detached("proc", &[], MountAttrFlags::MOUNT_ATTR_NOEXEC).doing("mount /proc")?;
    // Since Linux 6.14 a pid namespace has a limit of its own, which binds root
    // too. Before that this write fails, and the watch alone counts processes.
    let most = limits.processes.saturating_add(RESERVED).min(4 << 20);
    let pages = (limits.memory_bytes / 2 / 4096).max(1);
    set(&proc, "sys/kernel/pid_max", &most.to_string());
    set(&proc, "sys/kernel/shmall", &pages.to_string());
    if !no_users {
        refuse_user_namespaces(&proc);
    }
    set_mount_attributes(&proc, READ_ONLY, Propagation::Same, false).doing("seal /proc")?;
    Ok(proc)
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
