//! The weaker confinement, where no namespaces can be made: Landlock for files, no
//! sockets, and a first process that collects and kills its descendants. Where
//! there is no Landlock either and a person said so, only that process.

use std::{os::fd::OwnedFd, path::Path, process::exit};

use rustix::process::{Signal, getpid, set_child_subreaper};

use super::{Doing, Failed, Wires, confine, filter, init, landlock, start, sys, tell, tree};
use crate::spec::{Landlock, Os, Report, Spec};

/// Restricts this process, runs the command, returns when nothing of it is left.
pub(super) fn enter(spec: &Spec, stdin: OwnedFd, wires: &Wires) -> Result<(), Failed> {
    sys::block(&[libc::SIGTERM, libc::SIGCHLD]);
    // Not killed with the caller but told: it has descendants to kill.
    confine::die_with_parent(Some(spec.caller), Signal::TERM)?;
    confine::first_to_go_when_memory_is_short();
    set_child_subreaper(Some(getpid())).doing("collect orphans")?;
    match sys::fork().doing("fork the command")? {
        Some(_) if spec.argv.is_empty() => Ok(()),
        Some(command) => {
            drop(stdin);
            supervise(command, spec, wires);
            Ok(())
        }
        None => confined(spec, &stdin, wires),
    }
}

fn supervise(command: rustix::process::Pid, spec: &Spec, wires: &Wires) {
    let rules = spec.landlock.iter();
    let places = rules.flat_map(|rules| rules.write.iter().map(Os::path));
    let members = init::Members::Descendants;
    let ended = init::run(command, &spec.limits, places, members, &wires.report);
    tell(&wires.report, &ended);
    tree::kill_descendants();
}

fn confined(spec: &Spec, stdin: &OwnedFd, wires: &Wires) -> ! {
    let restrict = || {
        rustix::process::setsid().doing("start a session")?;
        rustix::thread::set_no_new_privs(true).doing("give up new privileges")?;
        confine::drop_bounding_set()?;
        confine::give_up_capabilities()?;
        let Some(Landlock { read, write }) = &spec.landlock else {
            return Ok(());
        };
        let read: Vec<&Path> = read.iter().map(Os::path).collect();
        let write: Vec<&Path> = write.iter().map(Os::path).collect();
        landlock::restrict(&read, &write)?;
        filter::program(filter::Sockets::None)?.install()
    };
    if let Err(Failed { step, detail }) = restrict() {
        wires.tell(&Report::SetUp { step, detail });
        exit(71)
    }
    if spec.argv.is_empty() {
        wires.tell(&Report::Exited(0));
        exit(0)
    }
    exit(start::become_it(spec, stdin, wires))
}
