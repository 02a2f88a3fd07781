//! The system calls a command may not make, whatever else it got hold of.
//!
//! A list of refusals rather than of permissions: builds use calls nobody
//! thought of, and files, processes and the network are held by other means.
//! What is refused here widens the kernel's surface (bpf, io_uring, keys,
//! mounts), looks into other processes, or leaves something behind that works
//! outside (set-uid files).

pub(crate) mod program;

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::BpfProgram;

use super::{Doing, Failed};
use crate::helper::filter::program::{Fate, Rule, Test};

/// Which sockets may be made. `socketpair` may but in the last case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Unix, IPv4, IPv6, and netlink for asking about routes.
    Usual,
    /// The same without Unix: the host's abstract ones could be reached.
    NoUnix,
    /// None at all.
    None,
    /// Not even pairs, and no queues, semaphores or shared memory: nothing of a network or of
    /// an ipc namespace can be held, so they need not be one's own.
    NotEvenPairs,
}

/// Refused with "operation not permitted", whatever the arguments.
const REFUSED: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_memfd_secret,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Answered with "no such call", so that programs take their older way. The
/// arguments of `clone3` and `openat2` are in memory, where a filter cannot
/// look; memory files are held by no process that could be counted.
const UNKNOWN: &[c_long] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_memfd_create,
];

/// What makes something that lives in an ipc namespace.
const QUEUES: [c_long; 4] = [
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
];

/// Each way of making a namespace.
const NEW_NAMESPACE: [libc::c_int; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80, // CLONE_NEWTIME
];

/// Made by the helper when it builds a cell. All other calls it gives up itself.
const TO_BUILD: [c_long; 13] = [
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_openat2,
    libc::SYS_unshare,
    libc::SYS_clone,
];

/// A filter, ready to be installed.
pub(super) struct Program(BpfProgram);

impl Program {
    /// Puts the filter on this process and everything it starts.
    pub(super) fn install(&self) -> Result<(), Failed> {
        seccompiler::apply_filter(&self.0).doing("install the system call filter")
    }
}

/// Writes the filter.
pub(super) fn program(sockets: Sockets) -> Result<Program, Failed> {
    of(&fates(sockets))
}

/// The filters of a helper and its cells. The kernel translates a filter whenever it is
/// installed, which takes longer the longer it is, and asks all that a process has: so the
/// most of it is installed once, and inherited.
pub(super) struct Filters {
    /// What no command may do and the helper never does.
    pub(super) helper: Program,
    /// The rest, for a command that may make sockets.
    pub(super) usual: Program,
    /// The rest for one that may not.
    pub(super) without_sockets: Program,
}

impl Filters {
    /// Writes them for commands that may make such sockets, or none.
    pub(super) fn write(usual: Sockets) -> Result<Self, Failed> {
        let mut inherited = fates(usual);
        inherited.retain(|call, _| !TO_BUILD.contains(&(*call).into()));
        let rest = |sockets| {
            let mut fates = fates(sockets);
            fates.retain(|call, fate| inherited.get(call) != Some(fate));
            of(&fates)
        };
        Ok(Self {
            usual: rest(usual)?,
            without_sockets: rest(Sockets::NotEvenPairs)?,
            helper: of(&inherited)?,
        })
    }
}

/// The filter in which calls meet their fates.
pub(super) fn of(fates: &BTreeMap<u32, Fate>) -> Result<Program, Failed> {
    program::write(fates)
        .map(Program)
        .ok_or_else(|| Failed::new("write the system call filter", "not for this machine"))
}

/// What becomes of each call that is not simply let through.
pub(super) fn fates(sockets: Sockets) -> BTreeMap<u32, Fate> {
    let mut fates = BTreeMap::new();
    refuse_namespaces(&mut fates);
    let mut set = |call: c_long, fate: Fate| {
        if let Ok(call) = u32::try_from(call) {
            fates.insert(call, fate);
        }
    };
    for call in REFUSED {
        set(*call, Fate::Refuse);
    }
    for call in UNKNOWN {
        set(*call, Fate::Unknown);
    }
    refuse_set_id(&mut set);
    refuse_sockets(&mut set, sockets);
    leave_the_first_process_alone(&mut set);
    set(
        libc::SYS_ioctl,
        judged([libc::TIOCSTI, libc::TIOCLINUX].map(|request| [Test::Is(1, request as u32)])),
    );
    fates
}

/// No process begins in a namespace of its own. What `clone3` is told cannot be looked
/// at, so there is none.
pub(super) fn refuse_namespaces(fates: &mut BTreeMap<u32, Fate>) {
    let namespaces = NEW_NAMESPACE.iter().fold(0, |all, flag| all | *flag as u32);
    // In clone the lowest byte is a signal, so a time namespace cannot be asked for.
    let without_signal = namespaces & !0xff;
    for (call, fate) in [
        (libc::SYS_unshare, judged([[Test::Any(0, namespaces)]])),
        (libc::SYS_clone, judged([[Test::Any(0, without_signal)]])),
        (libc::SYS_clone3, Fate::Unknown),
    ] {
        fates.extend(u32::try_from(call).map(|call| (call, fate)));
    }
}

/// The first process runs as the same user, so without this a command could take
/// its descriptors, its processor or its life through its limits, while it watches.
fn leave_the_first_process_alone(set: &mut impl FnMut(c_long, Fate)) {
    const FIRST: u32 = 1;
    for call in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
    ] {
        set(call, judged([[Test::Is(0, FIRST)]]));
    }
    for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
        set(call, judged([[Test::Is(1, FIRST)]]));
    }
}

fn judged<const M: usize, const N: usize>(rules: [[Test; N]; M]) -> Fate {
    Fate::Judge(rules.map(Rule::from).into())
}

/// A set-uid file made inside would work outside.
fn refuse_set_id(set: &mut impl FnMut(c_long, Fate)) {
    const SYS_FCHMODAT2: c_long = 452;
    // A file without a name is created too, and can be given one.
    const WITHOUT_NAME: u32 = 0o20_000_000;
    const CREATE: u32 = libc::O_CREAT as u32 | WITHOUT_NAME;
    const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;
    let mode = |argument| judged([[Test::Any(argument, SET_ID)]]);
    let created = |flags, mode| judged([[Test::Any(flags, CREATE), Test::Any(mode, SET_ID)]]);
    set(libc::SYS_fchmod, mode(1));
    set(libc::SYS_fchmodat, mode(2));
    set(SYS_FCHMODAT2, mode(2));
    set(libc::SYS_openat, created(2, 3));
    set(libc::SYS_mknodat, mode(2));
    #[cfg(target_arch = "x86_64")]
    {
        set(libc::SYS_chmod, mode(1));
        set(libc::SYS_creat, mode(1));
        set(libc::SYS_open, created(1, 2));
        set(libc::SYS_mknod, mode(1));
    }
}

fn refuse_sockets(set: &mut impl FnMut(c_long, Fate), sockets: Sockets) {
    let [unix, inet, inet6, netlink] = [
        libc::AF_UNIX,
        libc::AF_INET,
        libc::AF_INET6,
        libc::AF_NETLINK,
    ]
    .map(|family| family as u32);
    set(libc::SYS_socketpair, judged([[Test::IsNot(0, unix)]]));
    // A flow label outlives the socket that it was made with.
    let label = [Test::Is(1, libc::IPPROTO_IPV6 as u32), Test::Is(2, 32)];
    set(libc::SYS_setsockopt, judged([label]));
    let allowed: &[u32] = match sockets {
        Sockets::Usual => &[unix, inet, inet6, netlink],
        Sockets::NoUnix => &[inet, inet6, netlink],
        Sockets::None => return set(libc::SYS_socket, Fate::Refuse),
        Sockets::NotEvenPairs => {
            for call in QUEUES {
                set(call, Fate::Refuse);
            }
            set(libc::SYS_socketpair, Fate::Refuse);
            return set(libc::SYS_socket, Fate::Refuse);
        }
    };
    let none_of = allowed
        .iter()
        .map(|family| Test::IsNot(0, *family))
        .collect();
    let other_netlink = vec![Test::Is(0, netlink), Test::IsNot(2, 0)];
    set(libc::SYS_socket, Fate::Judge(vec![none_of, other_netlink]));
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
