//! The last steps before the command: its output, its limits, exec.

use std::{
    ffi::CString,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
};

use rustix::{
    fs::{AtFlags, CWD, Mode, chmodat},
    io::Errno,
    process::Pid,
};

use super::{Doing, Failed, Wires, confine, sys};
use crate::spec::{Os, Report, Spec};

/// Starts the command in a process and a session of its own. It runs on our memory
/// until it executes and never comes back, so all that it needs is made here: what
/// it made itself would stay.
pub(super) fn spawn(spec: &Spec, stdin: &OwnedFd, wires: &Wires) -> Result<Pid, Failed> {
    let step = "start the command";
    let program = program(spec)?;
    let command = sys::spawn(&mut || {
        let _ = rustix::process::setsid();
        exec(&program, spec, stdin, wires)
    });
    let command = command.doing(step)?;
    command.ok_or_else(|| Failed::new(step, "the kernel gave it no number"))
}

/// Becomes the command, in a process that was forked for it.
pub(super) fn become_it(spec: &Spec, stdin: &OwnedFd, wires: &Wires) -> i32 {
    match program(spec) {
        Ok(program) => exec(&program, spec, stdin, wires),
        Err(failed) => {
            wires.fail(failed);
            71
        }
    }
}

/// What is executed, as the kernel wants it.
fn program(spec: &Spec) -> Result<sys::Program, Failed> {
    let word = |bytes: Vec<u8>| CString::new(bytes).doing("start the command");
    let words = |all: &[Os]| -> Result<Vec<CString>, Failed> {
        let all = all.iter();
        all.map(|one| word(one.0.as_bytes().to_vec())).collect()
    };
    let env = spec.env.iter().map(|(name, value)| {
        let (name, value) = (name.0.as_bytes(), value.0.as_bytes());
        word([name, b"=", value].concat())
    });
    let env = env.collect::<Result<_, _>>()?;
    Ok(sys::Program::new(
        words(&spec.direct)?,
        words(&spec.argv)?,
        env,
    ))
}

/// Becomes the command. When that is not possible, reports and returns the code to
/// end with.
fn exec(program: &sys::Program, spec: &Spec, stdin: &OwnedFd, wires: &Wires) -> i32 {
    if let Err(failed) = prepare(spec, stdin, wires) {
        wires.fail(failed);
        return 71;
    }
    let error = program.execute();
    wires.tell(&Report::Program {
        detail: error.to_string(),
    });
    127
}

fn prepare(spec: &Spec, stdin: &OwnedFd, wires: &Wires) -> Result<(), Failed> {
    let connect = "connect standard input and output";
    rustix::stdio::dup2_stdin(stdin).doing(connect)?;
    if spec.answers {
        rustix::stdio::dup2_stdout(stdin).doing(connect)?;
    } else {
        rustix::stdio::dup2_stdout(&wires.output).doing(connect)?;
    }
    rustix::stdio::dup2_stderr(&wires.output).doing(connect)?;
    sys::close_on_exec();
    sys::reset_signals();
    let cwd = spec.cwd.path();
    let enter = || rustix::process::chdir(cwd);
    let entered = match enter() {
        // A command before has shut everybody out.
        Err(Errno::ACCESS) => {
            let open = Mode::from_raw_mode(0o755);
            let _ = chmodat(CWD, cwd, open, AtFlags::empty());
            enter()
        }
        other => other,
    };
    entered.doing_at("enter", cwd)?;
    confine::limit(&spec.limits, sys::counts_processes_per_namespace())
}
