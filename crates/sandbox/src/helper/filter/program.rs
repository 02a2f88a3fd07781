//! Writes a system call filter as short as it can be.
//!
//! The kernel translates a filter whenever it is installed, which is once per
//! command, and then walks it once for every call there is. So calls are found
//! in a tree of comparisons, and a leaf says at once what becomes of them.
//! Arguments are compared by their lower half, which is all that the kernel
//! itself looks at in those that are compared here.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, sock_filter};

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    Allow,
    /// "Operation not permitted".
    Refuse,
    /// "No such call".
    Unknown,
    /// Refused when a rule applies.
    Judge(Vec<Rule>),
}

/// Applies when all its tests do.
pub(crate) type Rule = Vec<Test>;

/// Something about an argument of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    /// It has one of these bits.
    Any(u8, u32),
    Is(u8, u32),
    IsNot(u8, u32),
}

/// From here up on x86-64 the same calls have a second set of numbers.
const SECOND_SET: u32 = 1 << 30;
const ARCH_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;

#[cfg(target_arch = "x86_64")]
pub(crate) const NATIVE: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
pub(crate) const NATIVE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) const NATIVE: Option<u32> = None;

/// The filter in which calls meet their `fates`, and all others pass. Nothing
/// where it cannot be written: not for this machine, or too long.
pub(crate) fn write(fates: &BTreeMap<u32, Fate>) -> Option<BpfProgram> {
    let mut program = vec![
        load(ARCH_OFFSET),
        // Another machine's numbers mean other calls.
        jump(libc::BPF_JEQ, NATIVE?, 1, 0),
        answer(libc::SECCOMP_RET_KILL_PROCESS),
        load(0),
    ];
    let runs = runs(fates);
    let mut judged = Vec::new();
    program.append(&mut tree(&runs, &mut judged)?);
    // A leaf that judges jumps on to its rules; the leaves come in this order.
    let mut leaves = leaves(&program);
    for rules in judged {
        let (at, here) = (leaves.next()?, program.len());
        program.get_mut(at)?.k = u32::try_from(here - at - 1).ok()?;
        for rule in rules {
            program.append(&mut written(rule)?);
        }
        program.push(answer(libc::SECCOMP_RET_ALLOW));
    }
    Some(program)
}

/// A run of numbers with one fate, from here to the next.
type Run<'a> = (u32, &'a Fate);

fn runs(fates: &BTreeMap<u32, Fate>) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = vec![(0, &Fate::Allow)];
    let mut begin = |from, fate| {
        runs.pop_if(|last| last.0 == from);
        if runs.last().is_none_or(|last| last.1 != fate) {
            runs.push((from, fate));
        }
    };
    for (number, fate) in fates.range(..SECOND_SET) {
        begin(*number, fate);
        begin(*number + 1, &Fate::Allow);
    }
    begin(SECOND_SET, &Fate::Unknown);
    runs
}

/// Halves the runs until one is left. Nothing when a jump would be too far.
fn tree<'a>(runs: &[Run<'a>], judged: &mut Vec<&'a [Rule]>) -> Option<BpfProgram> {
    if let [(_, fate)] = runs {
        return Some(vec![match fate {
            Fate::Allow => answer(libc::SECCOMP_RET_ALLOW),
            Fate::Refuse => answer(REFUSED),
            Fate::Unknown => answer(libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
            Fate::Judge(rules) => {
                judged.push(rules);
                jump(libc::BPF_JA, 0, 0, 0)
            }
        }]);
    }
    let (low, high) = runs.split_at(runs.len() / 2);
    let (mut left, mut right) = (tree(low, judged)?, tree(high, judged)?);
    let far = u8::try_from(left.len()).ok()?;
    let mut program = vec![jump(libc::BPF_JGE, high.first()?.0, far, 0)];
    program.append(&mut left);
    program.append(&mut right);
    Some(program)
}

const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

/// Where the leaves are that judge.
fn leaves(program: &[sock_filter]) -> std::vec::IntoIter<usize> {
    let jumps = (libc::BPF_JMP | libc::BPF_JA) as u16;
    let places = program.iter().enumerate();
    let places = places.filter(|(_, instruction)| instruction.code == jumps);
    places.map(|(at, _)| at).collect::<Vec<_>>().into_iter()
}

/// Refuses when every test applies; goes on behind it otherwise.
fn written(rule: &[Test]) -> Option<BpfProgram> {
    let mut program = Vec::new();
    for (number, test) in rule.iter().enumerate() {
        // Over the tests that follow, two each, and over the answer.
        let over = u8::try_from((rule.len() - number - 1) * 2 + 1).ok()?;
        let (argument, compare) = match *test {
            Test::Any(argument, bits) => (argument, jump(libc::BPF_JSET, bits, 0, over)),
            Test::Is(argument, value) => (argument, jump(libc::BPF_JEQ, value, 0, over)),
            Test::IsNot(argument, value) => (argument, jump(libc::BPF_JEQ, value, over, 0)),
        };
        let lower = if cfg!(target_endian = "big") { 4 } else { 0 };
        program.push(load(ARGUMENTS_OFFSET + 8 * u32::from(argument) + lower));
        program.push(compare);
    }
    program.push(answer(REFUSED));
    Some(program)
}

fn answer(value: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, value, 0, 0)
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
