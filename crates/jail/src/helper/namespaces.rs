//! The strong walls: namespaces of our own, and for each command a first process
//! in a pid namespace of its own.
//!
//! ```text
//! helper (user, net, uts and cgroup namespaces; the ground) ── first process
//!                                   (pid, ipc and mount namespaces) ── command ── …
//! ```
//!
//! The helper stays outside the rooms of the commands, one after another, never
//! two at once. It is killed when its caller dies, its death kills the first
//! process, and that takes every process of the pid namespace with it. On SIGTERM
//! from the caller it kills the first process, waits, and ends: when the helper is
//! gone, nothing is left. When the pipes of a command that was reported are
//! closed, nothing is left either: the first process holds them to the end.
//!
//! A room is kept for the next command while every one leaves it as it was (see
//! `first`); then the caller speaks with the first process and not with us. When
//! it wants another room, we get a message, and the old one goes.
//!
//! What rooms share is what no command can change: it has no rights in these
//! namespaces. The one thing it can leave behind is in the network (a port that
//! is not free for a while); `quiet` looks, and says when this was the last one.

use std::{
    fs,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, Signal, WaitOptions, getegid, geteuid, kill_process, waitpid},
    thread::UnshareFlags,
};

use super::{
    Doing, Failed, Wires, confine, filter,
    first::{First, Job, Walls},
    ground::{Ground, Outer},
    landlock,
    message::{Line, Message},
    room::Room,
    sys,
};
use crate::{
    Network,
    spec::{self, Request, Spec},
};

/// Leaves the host's namespaces for good, builds the ground, and runs one command
/// after another on it. Returns when the caller wants no more.
pub(super) fn serve(ground: Box<spec::Ground>, first: Message, line: Line) {
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

/// A message that asks for a command, and for a room.
struct Asked {
    spec: Box<Spec>,
    stdin: OwnedFd,
    line: Option<Line>,
}

/// What all commands of a helper share.
struct Nursery {
    wanted: Box<spec::Ground>,
    /// The first process takes it with it, and lets go of it.
    outside: Option<Outside>,
    filter: filter::Program,
    /// Both ends of a pipe that only tells whether the helper lives: the first
    /// process closes the second, and cannot see its parent from inside.
    life: (OwnedFd, Option<OwnedFd>),
    /// Can be read when the caller asks for the end, or a child ended.
    signals: OwnedFd,
    line: Option<Line>,
}

/// What leads out of a room.
pub(super) struct Outside {
    outer: Outer,
    pub(super) ground: Ground,
}

impl Nursery {
    fn build(wanted: Box<spec::Ground>, line: Line) -> Result<Self, Failed> {
        leave_host(wanted.caller, wanted.network)?;
        let outer = Outer::take()?;
        let ground = outer.build(&wanted)?;
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
            outside: Some(Outside { outer, ground }),
            filter,
            life: (end, Some(held)),
            signals: sys::signals(&[libc::SIGTERM, libc::SIGCHLD]).doing("listen to signals")?,
            line: Some(line),
        })
    }

    /// What a message asks for. Nothing when the caller went away.
    fn asked(&mut self, message: &mut Message) -> Result<Option<Asked>, Failed> {
        let mut request = message.requests.next()?;
        if let Some(Request::Ground(wanted)) = request {
            self.move_to(wanted)?;
            request = message.requests.next()?;
        }
        let spec = match request {
            Some(Request::Run(spec)) => spec,
            Some(_) => return Err(Failed::new("understand the spec", "it is no command")),
            None => return Ok(None),
        };
        Ok(Some(Asked {
            stdin: message.stdin(&spec)?,
            line: message.room_line(&spec)?,
            spec,
        }))
    }

    /// Builds another ground in the place of the one that stands.
    fn move_to(&mut self, wanted: Box<spec::Ground>) -> Result<(), Failed> {
        if wanted.network != self.wanted.network {
            return Err(Failed::new("move", "the network is another one"));
        }
        if let Some(outside) = &mut self.outside {
            outside.ground = outside.outer.build(&wanted)?;
        }
        self.wanted = wanted;
        Ok(())
    }

    /// Opens a room and runs a command in it, to the end of the room. Whether
    /// another may follow.
    fn run(&mut self, mut message: Message) -> bool {
        let asked = match self.asked(&mut message) {
            Ok(Some(asked)) => asked,
            Ok(None) => return false,
            Err(failed) => {
                message.wires.fail(failed);
                return false;
            }
        };
        // The pipes go with this call: from then on they are the first process's
        // alone, and end when it has seen the last process of the command die.
        match self.begin(asked, message.wires) {
            Some(first) => self.supervise(first),
            None => false,
        }
    }

    /// Forks the first process of a room. Nothing when that failed.
    fn begin(&mut self, asked: Asked, wires: Wires) -> Option<Pid> {
        let Asked { spec, stdin, line } = asked;
        let steps = match &spec.walls {
            spec::Walls::Namespaces { steps } => steps.clone(),
            spec::Walls::Landlock { .. } => {
                wires.fail(Failed::new("understand the spec", "it is for other walls"));
                return None;
            }
        };
        let host = &self.outside.as_ref()?.outer.host;
        let forked = Room::prepare(host, &steps, &spec.limits).and_then(|room| {
            let forked = sys::fork_first().doing("fork the first process")?;
            Ok((forked, room))
        });
        let room = match forked {
            Ok((Some(first), _)) => return Some(first),
            Ok((None, room)) => room,
            Err(failed) => {
                wires.fail(failed);
                return None;
            }
        };
        self.line = None;
        self.life.1 = None;
        let outside = match (self.born(), self.outside.take()) {
            (Ok(()), Some(outside)) => outside,
            (Err(failed), _) => {
                wires.fail(failed);
                sys::leave()
            }
            (Ok(()), None) => sys::leave(),
        };
        let first = First {
            wanted: &self.wanted,
            steps: &steps,
        };
        let walls = Walls {
            outside,
            room,
            filter: &self.filter,
        };
        first.live(walls, Job { spec, stdin, wires }, line.as_ref());
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

    /// Waits for the end of a room: by itself, because the caller wants another
    /// one or none, or because it asks to end everything. Then, or when it is gone,
    /// nobody else is run.
    fn supervise(&self, first: Pid) -> bool {
        let Some(line) = &self.line else { return false };
        loop {
            let mut polled = [
                PollFd::new(&self.signals, PollFlags::IN),
                PollFd::from_borrowed_fd(line.0.as_fd(), PollFlags::IN),
            ];
            match poll(&mut polled, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return end(first, false),
            }
            let [told, spoken_to] = polled.map(|one| !one.revents().is_empty());
            if told && self.is_told_to_end() {
                return end(first, false);
            }
            if let Ok(Some(_)) = waitpid(Some(first), WaitOptions::NOHANG) {
                return true;
            }
            if spoken_to {
                return end(first, true);
            }
        }
    }

    /// Whether the caller asked for the end. Takes all signals that wait.
    fn is_told_to_end(&self) -> bool {
        let mut told = false;
        let mut signals = [0_u8; 128 * 2];
        while let Ok(length) = rustix::io::read(&self.signals, &mut signals) {
            let mut signals = signals[..length].chunks_exact(128);
            told |= signals.any(|signal| signal[..4] == libc::SIGTERM.to_ne_bytes());
        }
        told
    }
}

/// Ends a room, and returns what was passed.
fn end(first: Pid, more: bool) -> bool {
    let _ = kill_process(first, Signal::KILL);
    while let Err(Errno::INTR) = waitpid(Some(first), WaitOptions::empty()) {}
    more
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
