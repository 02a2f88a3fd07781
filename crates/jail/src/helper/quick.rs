//! The short way through the system call filter.
//!
//! A written filter asks "is it this call? or this one?" some hundred times
//! before it lets an ordinary call pass, and the kernel walks it once for every
//! call there is when it is installed. This prelude finds an ordinary call's number in a tree of
//! comparisons and lets it pass at once; what the filter has an opinion on goes
//! on to the filter.

use libc::c_long;
use seccompiler::{BpfProgram, sock_filter};

/// From here up on x86-64 the same calls have a second set of numbers.
const SECOND_SET: u32 = 1 << 30;
const ARCH_OFFSET: u32 = 4;

#[cfg(target_arch = "x86_64")]
const NATIVE: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
const NATIVE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const NATIVE: Option<u32> = None;

/// Lets every call of this machine pass that is not among `judged`. Empty, which
/// is only slower, where it cannot be written.
pub(super) fn prelude(judged: impl Iterator<Item = c_long>) -> BpfProgram {
    let Some(native) = NATIVE else {
        return Vec::new();
    };
    let Some(mut tree) = tree(&runs(judged)) else {
        return Vec::new();
    };
    let mut program = vec![
        load(ARCH_OFFSET),
        // Another machine's numbers mean other calls: on to the filter.
        jump(libc::BPF_JEQ, native, 1, 0),
        jump(libc::BPF_JA, ON, 0, 0),
        load(0),
    ];
    program.append(&mut tree);
    let end = program.len();
    for (at, instruction) in program.iter_mut().enumerate() {
        if instruction.code == (libc::BPF_JMP | libc::BPF_JA) as u16 {
            instruction.k = (end - at - 1) as u32;
        }
    }
    program
}

/// Stands for the way to the filter until the length of the way is known.
const ON: u32 = 0;

/// A run of numbers, from here to the next: judged by the filter or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    from: u32,
    judged: bool,
}

fn runs(judged: impl Iterator<Item = c_long>) -> Vec<Run> {
    let mut numbers: Vec<u32> = judged.filter_map(|call| call.try_into().ok()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut runs = vec![Run {
        from: 0,
        judged: false,
    }];
    let mut begin = |from, judged| match runs.last_mut() {
        Some(last) if last.from == from => last.judged = judged,
        Some(last) if last.judged == judged => {}
        _ => runs.push(Run { from, judged }),
    };
    for number in numbers {
        begin(number, true);
        begin(number + 1, false);
    }
    begin(SECOND_SET, true);
    runs
}

/// Halves the runs until one is left. Nothing when a jump would be too far.
fn tree(runs: &[Run]) -> Option<BpfProgram> {
    if let [run] = runs {
        return Some(vec![if run.judged {
            jump(libc::BPF_JA, ON, 0, 0)
        } else {
            instruction(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0)
        }]);
    }
    let (low, high) = runs.split_at(runs.len() / 2);
    let (mut low, mut right) = (tree(low)?, tree(high)?);
    let far = u8::try_from(low.len()).ok()?;
    let mut program = vec![jump(libc::BPF_JGE, high.first()?.from, far, 0)];
    program.append(&mut low);
    program.append(&mut right);
    Some(program)
}

fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

fn jump(compare: u32, value: u32, yes: u8, no: u8) -> sock_filter {
    instruction(libc::BPF_JMP | compare | libc::BPF_K, value, yes, no)
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                        other => panic!("jump {other}"),
                    }
                }
                other => panic!("instruction {other}"),
            }
        }
    }

    #[test]
    fn the_short_way_never_changes_an_answer() {
        let judged = crate::helper::filter::judged_for_tests();
        let quick = prelude(judged.iter().copied());
        assert!(!quick.is_empty());
        let whole = crate::helper::filter::slow_for_tests();
        let both = [quick, whole.clone()].concat();
        let machines = [NATIVE.unwrap(), 0x4000_0003, 0, u32::MAX];
        let calls = (0..700).chain([1 << 30, (1 << 30) + 59, u32::MAX]);
        for call in calls {
            for machine in machines {
                for argument in [0, 1, 2, 7, 16, 0x5412, 0x1000_0000, 0o4755, 0x0002_0000] {
                    let mut data = [argument; 16];
                    (data[0], data[1]) = (call, machine);
                    let (slow, quick) = (walk(&whole, &data), walk(&both, &data));
                    assert!(slow.is_some());
                    assert_eq!(slow, quick, "call {call} of {machine:x} with {argument:x}");
                }
            }
        }
    }

    #[test]
    fn an_ordinary_call_never_reaches_the_filter() {
        let judged = crate::helper::filter::judged_for_tests();
        let quick = prelude(judged.iter().copied());
        let mut data = [0; 16];
        (data[0], data[1]) = (libc::SYS_read as u32, NATIVE.unwrap());
        assert_eq!(walk(&quick, &data), Some(libc::SECCOMP_RET_ALLOW));
    }
}
