//! The system calls a command may not make, whatever else it got hold of.
//!
//! A list of refusals rather than of permissions: builds use calls nobody
//! thought of, and files, processes and the network are held by other walls.
//! What is refused here widens the kernel's surface (bpf, io_uring, keys,
//! mounts), looks into other processes, or leaves something behind that works
//! outside (set-uid files).

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use super::{Doing, Failed, quick};

/// Which sockets may be made. `socketpair` always may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Unix, IPv4, IPv6, and netlink for asking about routes.
    Usual,
    /// The same without Unix: the host's abstract ones could be reached.
    NoUnix,
    /// None at all.
    None,
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

const SET_ID_BITS: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];

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
    let rules = rules(sockets)?;
    // One program with three parts: each further program costs a tenth of a
    // millisecond to install, and time at every call.
    let quick = quick::prelude(rules.keys().chain(UNKNOWN).copied());
    Ok(Program([quick, unknown(), compile(rules)?].concat()))
}

fn rules(sockets: Sockets) -> Result<BTreeMap<c_long, Vec<SeccompRule>>, Failed> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = BTreeMap::new();
    for call in REFUSED {
        rules.insert(*call, Vec::new());
    }
    for flag in NEW_NAMESPACE {
        let flag = flag as u64;
        add(
            &mut rules,
            libc::SYS_unshare,
            &[(0, Op::MaskedEq(flag), flag)],
        )?;
        // In clone the lowest byte is a signal, so a time namespace cannot be asked for.
        if flag > 0xff {
            add(
                &mut rules,
                libc::SYS_clone,
                &[(0, Op::MaskedEq(flag), flag)],
            )?;
        }
    }
    refuse_set_id(&mut rules)?;
    refuse_sockets(&mut rules, sockets)?;
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        add(&mut rules, libc::SYS_ioctl, &[(1, Op::Eq, request)])?;
    }
    Ok(rules)
}

/// A set-uid file made inside would work outside.
fn refuse_set_id(rules: &mut BTreeMap<c_long, Vec<SeccompRule>>) -> Result<(), Failed> {
    const SYS_FCHMODAT2: c_long = 452;
    const CREATE: u64 = libc::O_CREAT as u64;
    for bit in SET_ID_BITS {
        let has_bit = |argument| (argument, Op::MaskedEq(bit), bit);
        let creates = |argument| (argument, Op::MaskedEq(CREATE), CREATE);
        add(rules, libc::SYS_fchmod, &[has_bit(1)])?;
        add(rules, libc::SYS_fchmodat, &[has_bit(2)])?;
        add(rules, SYS_FCHMODAT2, &[has_bit(2)])?;
        add(rules, libc::SYS_openat, &[creates(2), has_bit(3)])?;
        add(rules, libc::SYS_mknodat, &[has_bit(2)])?;
        #[cfg(target_arch = "x86_64")]
        {
            add(rules, libc::SYS_chmod, &[has_bit(1)])?;
            add(rules, libc::SYS_creat, &[has_bit(1)])?;
            add(rules, libc::SYS_open, &[creates(1), has_bit(2)])?;
            add(rules, libc::SYS_mknod, &[has_bit(1)])?;
        }
    }
    Ok(())
}

fn refuse_sockets(
    rules: &mut BTreeMap<c_long, Vec<SeccompRule>>,
    sockets: Sockets,
) -> Result<(), Failed> {
    let [unix, inet, inet6, netlink] = [
        libc::AF_UNIX,
        libc::AF_INET,
        libc::AF_INET6,
        libc::AF_NETLINK,
    ]
    .map(|f| f as u64);
    add(rules, libc::SYS_socketpair, &[(0, Op::Ne, unix)])?;
    let allowed: &[u64] = match sockets {
        Sockets::Usual => &[unix, inet, inet6, netlink],
        Sockets::NoUnix => &[inet, inet6, netlink],
        Sockets::None => {
            rules.insert(libc::SYS_socket, Vec::new());
            return Ok(());
        }
    };
    let none_of: Vec<_> = allowed.iter().map(|family| (0, Op::Ne, *family)).collect();
    add(rules, libc::SYS_socket, &none_of)?;
    let other_netlink = [(0, Op::Eq, netlink), (2, Op::Ne, 0)];
    add(rules, libc::SYS_socket, &other_netlink)
}

/// Refuses `call` when all conditions (argument, comparison, value) hold.
fn add(
    rules: &mut BTreeMap<c_long, Vec<SeccompRule>>,
    call: c_long,
    conditions: &[(u8, Op, u64)],
) -> Result<(), Failed> {
    let conditions = conditions
        .iter()
        .map(|(argument, compare, value)| {
            SeccompCondition::new(*argument, Dword, compare.clone(), *value)
        })
        .collect::<Result<Vec<_>, _>>()
        .doing("write the system call filter")?;
    let rule = SeccompRule::new(conditions).doing("write the system call filter")?;
    rules.entry(call).or_default().push(rule);
    Ok(())
}

fn compile(rules: BTreeMap<c_long, Vec<SeccompRule>>) -> Result<BpfProgram, Failed> {
    let step = "write the system call filter";
    let arch = TargetArch::try_from(std::env::consts::ARCH).doing(step)?;
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).doing(step)?;
    BpfProgram::try_from(filter).doing(step)
}

/// What comes before: "no such call" for the unknown ones, and on x86-64 for the
/// second set of numbers that the same calls have there, from 2^30 up.
fn unknown() -> BpfProgram {
    let instruction = |code: u32, jt, jf, k| sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let answer = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    let refuse_if = |compare: u32, value: u32| {
        [
            instruction(libc::BPF_JMP | compare | libc::BPF_K, 0, 1, value),
            instruction(libc::BPF_RET | libc::BPF_K, 0, 0, answer),
        ]
    };
    let mut program = vec![instruction(
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        0,
        0,
        0,
    )];
    for call in UNKNOWN {
        program.extend(refuse_if(libc::BPF_JEQ, *call as u32));
    }
    if cfg!(target_arch = "x86_64") {
        program.extend(refuse_if(libc::BPF_JGE, 1 << 30));
    }
    program
}

#[cfg(test)]
pub(super) fn judged_for_tests() -> Vec<c_long> {
    let rules = rules(Sockets::Usual).expect("the rules can be written");
    rules.keys().chain(UNKNOWN).copied().collect()
}

#[cfg(test)]
pub(super) fn slow_for_tests() -> BpfProgram {
    let rules = rules(Sockets::Usual).expect("the rules can be written");
    let rest = compile(rules).expect("the filter can be written");
    [unknown(), rest].concat()
}
