//! The strong walls: namespaces of our own, then a first process in them.
//!
//! The helper stays outside. It is killed when its caller dies, its death kills
//! the first process, and that takes every process of the namespace with it. On
//! SIGTERM from the caller it kills the first process and waits: when the helper
//! is gone, nothing is left.

use std::{fs, os::fd::OwnedFd, process::exit};

use rustix::{
    process::{Pid, Signal, WaitOptions, getegid, geteuid, kill_process, waitpid},
    thread::UnshareFlags,
};

use super::{Doing, Failed, Wires, confine, filter, init, landlock, mounts, start, sys};
use crate::{
    Network,
    spec::{Report, Spec},
    view::Step,
};

/// Leaves the host's namespaces, bound to the life of `caller`. What this costs
/// is the same for every command, so a helper may do it before it has one.
pub(super) fn leave_host(caller: i32, network: Network) -> Result<(), Failed> {
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

/// Builds the walls, runs the command, returns when all of it is over. The
/// host's namespaces are left behind already.
pub(super) fn enter(
    spec: &Spec,
    steps: &[Step],
    network: Network,
    stdin: Option<Vec<u8>>,
    wires: &Wires,
) -> Result<(), Failed> {
    // The first process cannot see its parent from inside, so it learns from
    // this pipe that the helper was still there once its death signal was set.
    let (ready, go) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).doing("make a pipe")?;
    match sys::fork().doing("fork the first process")? {
        Some(first) => {
            drop(ready);
            supervise(first, go);
            Ok(())
        }
        None => {
            drop(go);
            if let Err(Failed { step, detail }) =
                first_process(spec, steps, network, stdin, wires, &ready)
            {
                wires.tell(&Report::SetUp { step, detail });
            }
            exit(0)
        }
    }
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
    spec: &Spec,
    steps: &[Step],
    network: Network,
    stdin: Option<Vec<u8>>,
    wires: &Wires,
    ready: &OwnedFd,
) -> Result<(), Failed> {
    confine::die_with_parent(None, Signal::KILL)?;
    if rustix::io::read(ready, &mut [0; 1]).doing("wait for the helper")? == 0 {
        return Err(Failed::new("wait for the helper", "it is gone"));
    }
    rustix::process::setsid().doing("start a session")?;
    mounts::build(steps, &spec.limits)?;
    confine::no_more_rights()?;
    let closed = landlock::second_layer(steps, network)?;
    let stdin = start::stdin(stdin)?;
    // On the host's network its abstract sockets are a door unless Landlock shuts it.
    filter::install(if closed || network == Network::Loopback {
        filter::Sockets::Usual
    } else {
        filter::Sockets::NoUnix
    })?;
    if spec.argv.is_empty() {
        wires.tell(&Report::Exited(0));
        return Ok(());
    }
    let places = steps.iter().filter_map(|step| match step {
        Step::Show { path, write: true } => Some(path.path()),
        _ => None,
    });
    match sys::fork().doing("fork the command")? {
        Some(command) => {
            drop(stdin);
            init::run(
                command,
                &spec.limits,
                places,
                init::Members::Namespace,
                wires,
            );
            Ok(())
        }
        None => start::exec(spec, &stdin, wires),
    }
}
