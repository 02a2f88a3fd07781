//! The short filter against a long one that an outside library writes from the
//! same rules, said once more: every call, with arguments of all kinds.

use seccompiler::{
    SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use super::*;
use crate::helper::filter::program::NATIVE;

const SET_ID_BITS: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];

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
    for call in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
    ] {
        add(&mut rules, call, &[(0, Op::Eq, 1)])?;
    }
    for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
        add(&mut rules, call, &[(1, Op::Eq, 1)])?;
    }
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        add(&mut rules, libc::SYS_ioctl, &[(1, Op::Eq, request)])?;
    }
    Ok(rules)
}

/// A set-uid file made inside would work outside.
fn refuse_set_id(rules: &mut BTreeMap<c_long, Vec<SeccompRule>>) -> Result<(), Failed> {
    const SYS_FCHMODAT2: c_long = 452;
    let creating = [libc::O_CREAT as u64, 1 << 22];
    for (bit, create) in SET_ID_BITS
        .into_iter()
        .flat_map(|bit| creating.map(|one| (bit, one)))
    {
        let has_bit = |argument| (argument, Op::MaskedEq(bit), bit);
        let creates = |argument| (argument, Op::MaskedEq(create), create);
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
    let label = [(1, Op::Eq, 41), (2, Op::Eq, 32)];
    add(rules, libc::SYS_setsockopt, &label)?;
    let allowed: &[u64] = match sockets {
        Sockets::Usual => &[unix, inet, inet6, netlink],
        Sockets::NoUnix => &[inet, inet6, netlink],
        Sockets::None => {
            rules.insert(libc::SYS_socket, Vec::new());
            return Ok(());
        }
        Sockets::NotEvenPairs => {
            for call in QUEUES {
                rules.insert(call, Vec::new());
            }
            rules.insert(libc::SYS_socket, Vec::new());
            rules.insert(libc::SYS_socketpair, Vec::new());
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
        .unwrap();
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

/// What the kernel would do with `data`; `None` when it runs off the end.
fn walk(program: &[sock_filter], data: &[u32; 16]) -> Option<u32> {
    let (mut at, mut a) = (0, 0);
    loop {
        let i = program.get(at)?;
        at += 1;
        let code = u32::from(i.code);
        let choose = |yes: bool| usize::from(if yes { i.jt } else { i.jf });
        match code & 0x07 {
            libc::BPF_LD => a = data[i.k as usize / 4],
            libc::BPF_ALU => {
                assert_eq!(code & 0xf0, libc::BPF_AND);
                a &= i.k;
            }
            libc::BPF_RET => return Some(i.k),
            libc::BPF_JMP => {
                at += match code & 0xf0 {
                    libc::BPF_JA => i.k as usize,
                    libc::BPF_JEQ => choose(a == i.k),
                    libc::BPF_JGT => choose(a > i.k),
                    libc::BPF_JGE => choose(a >= i.k),
                    libc::BPF_JSET => choose(a & i.k != 0),
                    other => panic!("jump {other}"),
                }
            }
            other => panic!("instruction {other}"),
        }
    }
}

/// Each number that a rule speaks of, those beside it, and single bits.
fn figures() -> Vec<u32> {
    let mut figures = vec![
        0,
        1,
        2,
        3,
        7,
        10,
        11,
        16,
        17,
        41,
        0x5412,
        0x541c,
        0o4755,
        0o644,
        u32::MAX,
    ];
    figures.extend((0..32).map(|bit| 1 << bit));
    figures.extend([libc::O_CREAT | libc::O_WRONLY, libc::SIGCHLD].map(|figure| figure as u32));
    figures
}

#[test]
fn the_short_filter_answers_as_the_long_one_does() {
    for sockets in [
        Sockets::Usual,
        Sockets::NoUnix,
        Sockets::None,
        Sockets::NotEvenPairs,
    ] {
        let long = [unknown(), compile(rules(sockets).unwrap()).unwrap()].concat();
        let short = program(sockets).unwrap().0;
        let (figures, fates) = (figures(), fates(sockets));
        let calls = (0..700).chain([1 << 30, (1 << 30) + 59, u32::MAX]);
        for call in calls {
            let check = |first: u32, second: u32, third: u32, fourth: u32| {
                let mut data = [0; 16];
                (data[0], data[1]) = (call, NATIVE.unwrap());
                (data[4], data[6], data[8], data[10]) = (first, second, third, fourth);
                let (slow, quick) = (walk(&long, &data), walk(&short, &data));
                assert!(slow.is_some());
                assert_eq!(slow, quick, "{sockets:?}: call {call} with {data:x?}");
            };
            for one in &figures {
                check(*one, *one, *one, *one);
                check(*one, 0, 0, 0);
                // Only these look at arguments.
                let judged = matches!(fates.get(&call), Some(Fate::Judge(_)));
                for other in figures.iter().filter(|_| judged) {
                    check(0, *one, *other, 0);
                    check(0, 0, *one, *other);
                    check(*one, 0, *other, 0);
                }
            }
        }
    }
}

/// What the kernel does with a call that meets two filters: the stricter answer, and of
/// two alike the one of the filter that was installed last.
fn both(helper: &[sock_filter], cell: &[sock_filter], data: &[u32; 16]) -> Option<u32> {
    let action = |answer: u32| (answer & libc::SECCOMP_RET_ACTION_FULL).cast_signed();
    let (helper, cell) = (walk(helper, data)?, walk(cell, data)?);
    Some(if action(helper) < action(cell) {
        helper
    } else {
        cell
    })
}

#[test]
fn what_is_inherited_and_the_rest_answer_as_the_whole_does() {
    for usual in [Sockets::Usual, Sockets::NoUnix] {
        let filters = Filters::write(usual).unwrap();
        let parts = [
            (usual, filters.usual.0),
            (Sockets::NotEvenPairs, filters.without_sockets.0),
        ];
        for (sockets, cell) in parts {
            assert!(cell.len() < 80, "{} instructions", cell.len());
            let whole = program(sockets).unwrap().0;
            for call in (0..700).chain([1 << 30, (1 << 30) + 59, u32::MAX]) {
                let arguments = figures().into_iter().flat_map(|one| {
                    let others = [0, 1, 2, 10, 32, 41, 0o4755, libc::O_CREAT as u32];
                    others.map(|other| [one, other, one, other])
                });
                for [first, second, third, fourth] in arguments {
                    let mut data = [0; 16];
                    (data[0], data[1]) = (call, NATIVE.unwrap());
                    (data[4], data[6], data[8], data[10]) = (first, second, third, fourth);
                    let (one, two) = (walk(&whole, &data), both(&filters.helper.0, &cell, &data));
                    assert_eq!(one, two, "{sockets:?}: call {call} with {data:x?}");
                }
            }
        }
    }
}

#[test]
fn the_helper_keeps_what_it_builds_cells_with() {
    let helper = Filters::write(Sockets::Usual).unwrap().helper.0;
    for call in TO_BUILD {
        let mut data = [0; 16];
        (data[0], data[1]) = (call as u32, NATIVE.unwrap());
        data[4] = libc::CLONE_NEWPID as u32;
        assert_eq!(
            walk(&helper, &data),
            Some(libc::SECCOMP_RET_ALLOW),
            "{call}"
        );
    }
}

#[test]
fn another_machines_calls_end_the_process() {
    let short = program(Sockets::Usual).unwrap().0;
    for machine in [0x4000_0003, 0, u32::MAX] {
        for call in 0..700 {
            let mut data = [0; 16];
            (data[0], data[1]) = (call, machine);
            assert_eq!(walk(&short, &data), Some(libc::SECCOMP_RET_KILL_PROCESS));
        }
    }
}

#[test]
fn the_filter_is_short() {
    let short = program(Sockets::Usual).unwrap().0;
    assert!(short.len() < 400, "{} instructions", short.len());
}
