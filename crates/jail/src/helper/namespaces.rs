//! The strong walls: namespaces of our own, and for each command a first process
//! in a pid namespace of its own.
//!
//! ```text
//! helper (user, net, uts and cgroup namespaces; the ground) ── first process
//!                                   (pid, ipc and mount namespaces) ── command ── …
//! ```
//!
//! The helper stays outside the walls of the commands, one after another, never
//! two at once. It is killed when its caller dies, its death kills the first
//! process, and that takes every process of the pid namespace with it. On SIGTERM
//! from the caller it kills the first process, waits, and ends: when the helper is
//! gone, nothing is left. When the pipes of a command that was reported are
//! closed, nothing is left either: the first process holds them to the end.
//!
//! What commands share is what no command can change: it has no rights in these
//! namespaces. The one thing it can leave behind is in the network (a port that
//! is not free for a while); `quiet` looks, and says when this was the last one.

use std::{
    fs::{self, File},
    io::BufReader,
    os::fd::OwnedFd,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, WaitOptions, getegid, geteuid, kill_process, waitpid},
    thread::UnshareFlags,
};

use super::{
    Doing, Failed, Wires, confine, filter,
    ground::Ground,
    init, landlock,
    message::{Line, Message, Requests},
    quiet,
    room::Room,
    start, sys,
};
use crate::{
    Network,
    spec::{self, Report, Request, Spec, Walls},
    view::Step,
};

/// Leaves the host's namespaces for good, builds the ground, and runs one command
/// after another on it. Returns when the caller wants no more.
pub(super) fn serve(ground: &spec::Ground, first: Message, line: Line) {
    let mut nursery = match Nursery::build(ground, line) {
        Ok(nursery) => nursery,
        Err(failed) => return first.wires.fail(failed),
    };
    let mut message = Some(first);
    while let Some(next) = message.take() {
        if !nursery.run(next) {
            return;
        }
        message = nursery.line.as_ref().and_then(Line::next);
    }
}

/// What all commands of a helper share.
struct Nursery<'a> {
    wanted: &'a spec::Ground,
    ground: Ground,
    filter: filter::Program,
    /// Both ends of a pipe that only tells whether the helper lives: the first
    /// process closes the second, and cannot see its parent from inside.
    life: (OwnedFd, Option<OwnedFd>),
    line: Option<Line>,
}

impl<'a> Nursery<'a> {
    fn build(wanted: &'a spec::Ground, line: Line) -> Result<Self, Failed> {
        leave_host(wanted.caller, wanted.network)?;
        let ground = Ground::build(wanted)?;
        confine::no_new_rights()?;
        // On the host's network its abstract sockets are a door unless Landlock shuts it.
        let closed = wanted.network == Network::Loopback || landlock::scopes_abstract_sockets();
        let filter = filter::program(if closed {
            filter::Sockets::Usual
        } else {
            filter::Sockets::NoUnix
        })?;
        let (end, held) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).doing("make a pipe")?;
        Ok(Self {
            wanted,
            ground,
            filter,
            life: (end, Some(held)),
            line: Some(line),
        })
    }

    /// Runs one command to its end. Whether another may follow.
    fn run(&mut self, message: Message) -> bool {
        let Message {
            mut requests,
            wires,
        } = message;
        let spec = match requests.next() {
            Ok(Some(Request::Run(spec))) => spec,
            Ok(None) => return false,
            Ok(Some(_)) => {
                wires.fail(Failed::new("understand the spec", "it is no command"));
                return false;
            }
            Err(failed) => {
                wires.fail(failed);
                return false;
            }
        };
        match self.begin(&spec, &mut requests, &wires) {
            Ok(first) => {
                // From here on the pipes are the first process's alone: they end
                // when it has seen the last process of the command die.
                drop((requests, wires));
                supervise(first)
            }
            Err(failed) => {
                wires.fail(failed);
                false
            }
        }
    }

    /// Forks the first process of the command.
    fn begin(
        &mut self,
        spec: &Spec,
        requests: &mut Requests<BufReader<File>>,
        wires: &Wires,
    ) -> Result<Pid, Failed> {
        let Walls::Namespaces { steps } = &spec.walls else {
            return Err(Failed::new("understand the spec", "it is for other walls"));
        };
        let stdin = start::stdin(requests.stdin(spec)?)?;
        let room = Room::prepare(&self.ground, steps, &spec.limits)?;
        if let Some(first) = sys::fork_first().doing("fork the first process")? {
            return Ok(first);
        }
        self.line = None;
        self.life.1 = None;
        let outcome = self
            .born()
            .and_then(|()| self.confine(spec, steps, &room, stdin, wires));
        if let Err(failed) = outcome {
            wires.fail(failed);
        }
        sys::leave()
    }

    /// Binds the life of the first process to the helper's.
    fn born(&self) -> Result<(), Failed> {
        confine::die_with_parent(None, Signal::KILL)?;
        let mut polled = [PollFd::new(&self.life.0, PollFlags::empty())];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut polled, Some(&now)).doing("look for the helper")?;
        if polled[0].revents().contains(PollFlags::HUP) {
            return Err(Failed::new("look for the helper", "it is gone"));
        }
        rustix::process::setsid().doing("start a session")?;
        Ok(())
    }

    /// Closes the walls around this process and starts the command.
    fn confine(
        &self,
        spec: &Spec,
        steps: &[Step],
        room: &Room<'_>,
        stdin: OwnedFd,
        wires: &Wires,
    ) -> Result<(), Failed> {
        room.enter(&self.ground, &spec.limits)?;
        confine::no_more_rights()?;
        let writable = || {
            let steps = self.wanted.steps.iter().chain(steps);
            steps.filter_map(|step| match step {
                Step::Show { path, write: true } => Some(path.path()),
                _ => None,
            })
        };
        landlock::second_layer(writable())?;
        self.filter.install()?;
        if spec.argv.is_empty() {
            wires.tell(&Report::Exited(0));
            return Ok(());
        }
        let command = start::spawn(spec, &stdin, wires)?;
        drop(stdin);
        let members = init::Members::Namespace;
        init::run(command, &spec.limits, writable(), members, wires);
        sys::end_all_others();
        if !quiet::is_as_new() {
            wires.tell(&Report::Worn);
        }
        Ok(())
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

/// Waits for the first process, and kills it when the caller asks: then nobody
/// else is run.
fn supervise(first: Pid) -> bool {
    let mut more = true;
    loop {
        if let Ok(Some(_)) = waitpid(Some(first), WaitOptions::NOHANG) {
            return more;
        }
        if sys::wait_signal(&[libc::SIGTERM, libc::SIGCHLD], None) == Some(libc::SIGTERM) {
            let _ = kill_process(first, Signal::KILL);
            more = false;
        }
    }
}
