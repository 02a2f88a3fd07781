//! Attacks on the kernel's surface. Calls are made with arguments that do
//! nothing, so "invalid argument" already means that the call got through.

use std::fs::OpenOptions;

use super::{Attack, Tried, tried};
use crate::helper::sys::{attempt, attempt_with};

pub(super) const ATTACKS: &[Attack] = &[
    ("clone with unreadable flags", |_| attempt(libc::SYS_clone3)),
    ("enter a namespace", |_| attempt(libc::SYS_setns)),
    ("mount", |_| attempt(libc::SYS_mount)),
    ("unmount", |_| attempt(libc::SYS_umount2)),
    ("mount in the new way", |_| attempt(libc::SYS_fsopen)),
    ("copy a mount", |_| attempt(libc::SYS_open_tree)),
    ("move a mount", |_| attempt(libc::SYS_move_mount)),
    ("make a mount writable", |_| {
        attempt(libc::SYS_mount_setattr)
    }),
    ("change the root", |_| attempt(libc::SYS_pivot_root)),
    ("enter another root", |_| attempt(libc::SYS_chroot)),
    ("open a file by its handle", |_| {
        attempt(libc::SYS_open_by_handle_at)
    }),
    ("load a bpf program", |_| attempt(libc::SYS_bpf)),
    ("use io_uring", |_| attempt(libc::SYS_io_uring_setup)),
    ("watch performance events", |_| {
        attempt(libc::SYS_perf_event_open)
    }),
    ("handle page faults", |_| attempt(libc::SYS_userfaultfd)),
    ("use the kernel's keys", |_| attempt(libc::SYS_keyctl)),
    ("add a kernel key", |_| attempt(libc::SYS_add_key)),
    ("watch the file system", |_| {
        attempt(libc::SYS_fanotify_init)
    }),
    ("load a kernel module", |_| attempt(libc::SYS_init_module)),
    ("load another kernel", |_| attempt(libc::SYS_kexec_load)),
    ("reboot", |_| attempt(libc::SYS_reboot)),
    ("switch off swap", |_| attempt(libc::SYS_swapoff)),
    ("set the clock", |_| attempt(libc::SYS_clock_settime)),
    ("set the host name", |_| attempt(libc::SYS_sethostname)),
    ("read the kernel log", |_| attempt(libc::SYS_syslog)),
    ("make a file without a name", |_| {
        attempt(libc::SYS_memfd_create)
    }),
    ("type into a terminal", |_| terminal(libc::TIOCSTI)),
    ("use the other call numbers", other_numbers),
    ("set the core dump handler", |_| {
        opened("/proc/sys/kernel/core_pattern")
    }),
    ("press a magic key", |_| opened("/proc/sysrq-trigger")),
    ("allow more processes", |_| {
        opened("/proc/sys/kernel/pid_max")
    }),
    ("make a mount namespace", |_| {
        attempt_with(libc::SYS_unshare, libc::CLONE_NEWNS)
    }),
    ("make a network namespace", |_| {
        attempt_with(libc::SYS_unshare, libc::CLONE_NEWNET)
    }),
    ("make a user namespace", |_| {
        attempt_with(libc::SYS_unshare, libc::CLONE_NEWUSER)
    }),
    ("clone into a user namespace", |_| {
        attempt_with(libc::SYS_clone, libc::CLONE_NEWUSER | libc::CLONE_FS)
    }),
];

/// Opening for writing is enough: nothing is written.
fn opened(path: &str) -> Tried {
    tried(OpenOptions::new().write(true).open(path))
}

fn terminal(request: libc::c_ulong) -> Tried {
    // Standard input is no terminal, so without the filter the answer is "not a tty".
    crate::helper::sys::attempt_ioctl(request)
}

/// The second numbering of calls on x86-64.
#[cfg(target_arch = "x86_64")]
fn other_numbers(_: &super::Targets) -> Tried {
    const X32_PTRACE: libc::c_long = 0x4000_0000 + 521;
    attempt(X32_PTRACE)
}

#[cfg(not(target_arch = "x86_64"))]
fn other_numbers(_: &super::Targets) -> Tried {
    Err("this machine has none".to_owned())
}
