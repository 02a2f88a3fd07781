//! Fault points of this process, in debug builds: it kills itself at the one
//! that [`FAULT_VARIABLE`] names, and notes the ones it passes in the file that
//! [`FAULT_LOG_VARIABLE`] names. Release builds know nothing of either.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    io::Write,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use butler_protocol::{FAULT_LOG_VARIABLE, FAULT_VARIABLE, FaultPoint, on_fault};
use rustix::process::{Signal, getpid, kill_process};

/// What a line of the log ends with when the process died there.
const KILLED: &str = " killed";

struct Armed {
    /// `hub`, a role, or the name of the command.
    process: String,
    point: Option<FaultPoint>,
    passed: AtomicU32,
    log: Option<File>,
}

static ARMED: OnceLock<Armed> = OnceLock::new();

/// Reads the variables; does nothing when neither is set.
pub(crate) fn install() {
    if !cfg!(debug_assertions) {
        return;
    }
    let point = env::var(FAULT_VARIABLE).ok();
    let log = env::var_os(FAULT_LOG_VARIABLE);
    if point.is_none() && log.is_none() {
        return;
    }
    let process = name_of(env::args_os().skip(1));
    let over = log.as_ref().is_some_and(somebody_died);
    let point = point
        .as_deref()
        .and_then(FaultPoint::parse)
        .filter(|point| !over && point.concerns(&process));
    let log = log.and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok());
    let _ = ARMED.set(Armed {
        process,
        point,
        passed: AtomicU32::new(0),
        log,
    });
    on_fault(pass);
}

fn pass(name: &'static str) {
    let Some(armed) = ARMED.get() else { return };
    let dies = armed.point.as_ref().is_some_and(|point| {
        point.name == name && armed.passed.fetch_add(1, Ordering::SeqCst) + 1 == point.passage
    });
    let panics = armed.point.as_ref().is_some_and(|point| point.panics);
    if let Some(mut log) = armed.log.as_ref() {
        // One write, so that lines of several processes do not mix.
        let end = if dies && !panics { KILLED } else { "" };
        let _ = log.write_all(format!("{}/{name}{end}\n", armed.process).as_bytes());
    }
    if dies && panics {
        std::panic::panic_any("a fault point asked for a panic");
    }
    if dies {
        let _ = kill_process(getpid(), Signal::KILL);
    }
}

fn somebody_died(log: &OsString) -> bool {
    fs::read_to_string(log).is_ok_and(|text| text.lines().any(|line| line.ends_with(KILLED)))
}

/// `--role coder` is the coder, `hub --listen …` the hub.
fn name_of(mut words: impl Iterator<Item = OsString>) -> String {
    let first = words.next().unwrap_or_default();
    let name = if first == OsStr::new("--role") {
        words.next().unwrap_or_default()
    } else {
        first
    };
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_called_by_its_role_or_its_command() {
        let name = |words: &[&str]| name_of(words.iter().map(OsString::from));
        assert_eq!(name(&["--role", "coder"]), "coder");
        assert_eq!(name(&["hub", "--listen", "127.0.0.1:0"]), "hub");
        assert_eq!(name(&[]), "");
    }
}
