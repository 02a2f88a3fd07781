//! Code that a process ran once, when it started: reading arguments and files, building what
//! stays. It is scattered over the whole program, and the kernel maps sixteen pages around each
//! that is touched, so a process that waits holds more of it than of anything else.
#![expect(unsafe_code, reason = "gives pages of the program back to the kernel")]

use std::{fs, ops::Range};

/// Gives the program's code back; what is run from here on is mapped again when it is. For a
/// process that has come to rest and stays.
pub fn let_go_of_start() {
    let Some(code) = code() else { return };
    let (start, length) = (code.start as *mut libc::c_void, code.len());
    // SAFETY: a mapping of the program's file that nobody can write to: the same bytes are
    // read from there again. Where that cannot be, all stays as it is.
    unsafe { libc::madvise(start, length, libc::MADV_DONTNEED) };
}

/// Where the code of this program is, which the loader has changed nothing of.
fn code() -> Option<Range<usize>> {
    let here = let_go_of_start as fn() as usize;
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let start = usize::from_str_radix(start, 16).ok()?;
        let code = start..usize::from_str_radix(end, 16).ok()?;
        (words.next()? == "r-xp" && code.contains(&here)).then_some(code)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much of the code is in this process's memory, in KiB.
    fn resident() -> u64 {
        let start = format!("{:x}-", code().unwrap().start);
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = maps.lines().skip_while(|line| !line.starts_with(&start));
        let rss = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
        rss.split_whitespace().next().unwrap().parse().unwrap()
    }

    #[test]
    fn code_that_was_given_back_is_not_held_and_still_runs() {
        // As a start does: something from everywhere.
        for at in code().unwrap().step_by(64 * 1024) {
            // SAFETY: a byte of the program.
            std::hint::black_box(unsafe { *(at as *const u8) });
        }
        let before = resident();
        let_go_of_start();
        let after = resident();
        // Looking at it needs some of it again; without the call it only becomes more.
        assert!(after < before, "{before} KiB, then {after} KiB");
        assert!(code().is_some());
    }
}
