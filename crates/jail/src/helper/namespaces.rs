//! The strong walls: namespaces of our own, then a first process in them.
//!
//! The helper stays outside. It is killed when its caller dies, its death kills
//! the first process, and that takes every process of the namespace with it. On
//! SIGTERM from the caller it kills the first process and waits: when the helper
//! is gone, nothing is left. When the pipes of a helper that reported are closed,
//! nothing is left either: the first process holds them to the end.

use std::{fs, os::fd::OwnedFd, process::exit};

use rustix::{
    process::{Pid, Signal, WaitOptions, getegid, geteuid, kill_process, waitpid},
    thread::UnshareFlags,
};

use super::{Doing, Failed, Requests, Wires, confine, filter, init, landlock, mounts, start, sys};
use crate::{
    Network,
    spec::{Ground, Report, Request, Spec, Walls},
    view::Step,
};

/// Leaves the host's namespaces for good, builds the ground, and runs the command
/// that follows on it. Returns when all of it is over.
pub(super) fn enter(ground: &Ground, requests: Requests, wires: &mut Wires) -> Result<(), Failed> {
    leave_host(ground.caller, ground.network)?;
    // The first process cannot see its parent from inside, so it learns from
    // this pipe that the helper was still there once its death signal was set.
    let (ready, go) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).doing("make a pipe")?;
    match sys::fork().doing("fork the first process")? {
        Some(first) => {
            drop(ready);
            // From here on the pipes are the first process's alone: they end
            // when it has seen the last process of the command die.
            wires.hang_up().doing("let go of the pipes")?;
            supervise(first, go);
            Ok(())
        }
        None => {
            drop(go);
            if let Err(Failed { step, detail }) = first_process(ground, requests, wires, &ready) {
                wires.tell(&Report::SetUp { step, detail });
            }
            exit(0)
        }
    }
}

/// Leaves the host's namespaces, bound to the life of `caller`.
fn leave_host(caller: i32, network: Network) -> Result<(), Failed> {
    sys::block(&[libc::SIGTERM, libc::SIGCHLD]);
    confine::die_with_parent(Some(caller), Signal::KILL)?;
    confine::first_to_go_when_memory_is_short();
    unshare(network)?;
    // Making a user namespace may clear it.
    confine::die_with_parent(Some(caller), Signal::KILL)?;
    if network == Network::Loopback {
        sys::loopback_up().doing("bring up the loopback device")?;
    }
    Ok(())
}

fn unshare(network: Network) -> Result<(), Failed> {
    let (uid, gid) = (geteuid(), getegid());
    if uid.is_root() {
        // Groups of root must not open doors; an ordinary user may not drop them.
        let _ = rustix::thread::set_thread_groups(&[]);
    }
    let mut flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    if network == Network::Loopback {
        flags |= UnshareFlags::NEWNET;
    }
    sys::unshare(flags).doing("make namespaces")?;
    fs::write("/proc/self/setgroups", "deny").doing("deny setgroups")?;
    let (uid, gid) = (uid.as_raw(), gid.as_raw());
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).doing("map the user")?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).doing("map the group")?;
    rustix::system::sethostname(b"codebutler").doing("set the host name")
}

/// Waits for the first process, and kills it when the caller asks.
fn supervise(first: Pid, go: OwnedFd) {
    let _ = rustix::io::write(&go, b"!");
    drop(go);
    loop {
        if let Ok(Some(_)) = waitpid(Some(first), WaitOptions::NOHANG) {
            return;
        }
        if sys::wait_signal(&[libc::SIGTERM, libc::SIGCHLD], None) == Some(libc::SIGTERM) {
            let _ = kill_process(first, Signal::KILL);
        }
    }
}

fn first_process(
    ground: &Ground,
    mut requests: Requests,
    wires: &Wires,
    ready: &OwnedFd,
) -> Result<(), Failed> {
    confine::die_with_parent(None, Signal::KILL)?;
    if rustix::io::read(ready, &mut [0; 1]).doing("wait for the helper")? == 0 {
        return Err(Failed::new("wait for the helper", "it is gone"));
    }
    rustix::process::setsid().doing("start a session")?;
    let stage = mounts::Stage::build(ground)?;
    confine::no_new_rights()?;
    // On the host's network its abstract sockets are a door unless Landlock shuts it.
    let closed = ground.network == Network::Loopback || landlock::scopes_abstract_sockets();
    let filter = filter::program(if closed {
        filter::Sockets::Usual
    } else {
        filter::Sockets::NoUnix
    })?;
    // All that does not depend on the command is done: this may wait long.
    match requests.next()? {
        None => Ok(()),
        Some(Request::Run(spec)) => {
            let stdin = requests.stdin(&spec)?;
            run(ground, stage, &filter, &spec, stdin, wires)
        }
        Some(_) => Err(Failed::new("understand the spec", "it is no command")),
    }
}

/// The command is known: closes the walls around this process and starts it.
fn run(
    ground: &Ground,
    stage: mounts::Stage,
    filter: &filter::Program,
    spec: &Spec,
    stdin: Option<Vec<u8>>,
    wires: &Wires,
) -> Result<(), Failed> {
    let Walls::Namespaces { steps } = &spec.walls else {
        return Err(Failed::new("understand the spec", "it is for other walls"));
    };
    stage.finish(steps)?;
    confine::no_more_rights()?;
    let writable = || {
        let steps = ground.steps.iter().chain(steps);
        steps.filter_map(|step| match step {
            Step::Show { path, write: true } => Some(path.path()),
            _ => None,
        })
    };
    landlock::second_layer(writable())?;
    let stdin = start::stdin(stdin)?;
    filter.install()?;
    if spec.argv.is_empty() {
        wires.tell(&Report::Exited(0));
        return Ok(());
    }
    match sys::fork().doing("fork the command")? {
        Some(command) => {
            drop(stdin);
            init::run(
                command,
                &spec.limits,
                writable(),
                init::Members::Namespace,
                wires,
            );
            sys::end_all_others();
            Ok(())
        }
        None => start::exec(spec, &stdin, wires),
    }
}
