//! The last steps before the command: its input, its output, its limits, exec.

use std::{
    fs::File,
    io::{Seek, Write},
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::Command,
};

use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create},
    process::Pid,
};

use super::{Doing, Failed, Wires, confine, sys};
use crate::spec::{Report, Spec};

/// What the command reads: its own bytes in a sealed file, or nothing. Must be
/// made before the filter, which refuses such files.
pub(super) fn stdin(bytes: Option<Vec<u8>>) -> Result<OwnedFd, Failed> {
    let Some(bytes) = bytes else {
        return Ok(File::open("/dev/null").doing("open /dev/null")?.into());
    };
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create("stdin", flags).doing("make standard input")?);
    file.write_all(&bytes).doing("fill standard input")?;
    file.rewind().doing("rewind standard input")?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, seals).doing("seal standard input")?;
    Ok(file.into())
}

/// Starts the command in a process of its own.
pub(super) fn spawn(spec: &Spec, stdin: &OwnedFd, wires: &Wires) -> Result<Pid, Failed> {
    let step = "start the command";
    let command = sys::spawn(&mut || exec(spec, stdin, wires)).doing(step)?;
    command.ok_or_else(|| Failed::new(step, "the kernel gave it no number"))
}

/// Becomes the command. When that is not possible, reports and returns the code to
/// end with.
pub(super) fn exec(spec: &Spec, stdin: &OwnedFd, wires: &Wires) -> i32 {
    if let Err(Failed { step, detail }) = prepare(spec, stdin, wires) {
        wires.tell(&Report::SetUp { step, detail });
        return 71;
    }
    let [program, arguments @ ..] = spec.argv.as_slice() else {
        return 0;
    };
    let error = Command::new(&program.0)
        .args(arguments.iter().map(|argument| &argument.0))
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (&name.0, &value.0)))
        .exec();
    wires.tell(&Report::Program {
        detail: error.to_string(),
    });
    127
}

fn prepare(spec: &Spec, stdin: &OwnedFd, wires: &Wires) -> Result<(), Failed> {
    let connect = "connect standard input and output";
    rustix::stdio::dup2_stdin(stdin).doing(connect)?;
    rustix::stdio::dup2_stdout(&wires.output).doing(connect)?;
    rustix::stdio::dup2_stderr(&wires.output).doing(connect)?;
    sys::close_on_exec();
    sys::reset_signals();
    let cwd = spec.cwd.path();
    rustix::process::chdir(cwd).doing_at("enter", cwd)?;
    confine::limit(&spec.limits, sys::counts_processes_per_namespace())
}
