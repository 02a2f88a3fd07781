//! The full sandbox: namespaces of our own, and for each command a first process
//! in a pid namespace of its own.
//!
//! ```text
//! helper (user, uts and cgroup namespaces, a dead network, dead ipc; the base root)
//!     ── first process (pid, net, ipc and mount namespaces) ── command ── …
//! ```
//!
//! The helper stays outside the cells, one after another, never two at once, each
//! for one command. It is killed when its caller dies, its death kills the first
//! process, and that takes every process of the pid namespace with it. On SIGTERM
//! from the caller it kills the first process, waits, and ends: when the helper is
//! gone, nothing is left. When a command was reported to be over, nothing is left
//! either: the first process says so when it is alone.
//!
//! A cell is built when the caller asks for one, and waits for its command, which
//! goes to the first process and not to us. The next message ends what is left of
//! the cell before it.
//!
//! What cells share is what no command can change: the base root, which is read-only,
//! and namespaces in which it has no rights. Processes, mounts and scratch space are
//! new in each. So are the network and the queues, for every command that may make a
//! socket; the others may make no queue either, and share one network and one ipc
//! namespace in which there never was any.

pub(crate) mod base_root;
pub(crate) mod cell;
pub(crate) mod mounts;
pub(crate) mod proc;

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
    Doing, Failed, addresses, confine,
    filter::{self, Filters},
    first::{First, Materials},
    landlock::{self, Rules},
    message::{Line, Message},
    sys, understood,
};
use crate::helper::namespaces::{
    base_root::{BaseRoot, Outer},
    cell::Cell,
};
use crate::{
    Network,
    spec::{self, Request},
};

/// Leaves the host's namespaces for good, builds the base root, and one cell after
/// another on it. Returns when the caller wants no more.
pub(super) fn serve(base_root: Box<spec::BaseRoot>, mut first: Message, line: Line) {
    let mut helper_pool = match HelperPool::build(base_root, line) {
        Ok(helper_pool) => helper_pool,
        Err(failed) => {
            if let Some(line) = first.cell_line() {
                line.refuse(failed);
            }
            return;
        }
    };
    let mut message = Some(first);
    while let Some(mut next) = message.take() {
        let Some(line) = next.cell_line() else {
            return;
        };
        let cell = helper_pool.asked(&mut next);
        match cell.and_then(|cell| helper_pool.begin(&cell, &line)) {
            Ok(first) => {
                drop((next, line));
                if !helper_pool.supervise(first) {
                    return;
                }
            }
            // Its worktree may be gone; that is no harm to the next one.
            Err(failed) => line.refuse(failed),
        }
        message = helper_pool.line.as_ref().and_then(Line::next);
    }
}

/// What all commands of a helper share.
struct HelperPool {
    wanted: Box<spec::BaseRoot>,
    /// The first process takes it with it, and lets go of it.
    outside: Option<Outside>,
    filters: Filters,
    /// Both ends of a pipe that only tells whether the helper lives: the first
    /// process closes the second, and cannot see its parent from inside.
    life: (OwnedFd, Option<OwnedFd>),
    /// Can be read when the caller asks for the end, or a child ended.
    signals: OwnedFd,
    line: Option<Line>,
}

/// The filters of all commands on such a network.
fn filters(network: Network) -> Result<Filters, Failed> {
    // On the host's network its abstract sockets are a way out unless Landlock shuts it.
    let closed = network == Network::Loopback || landlock::scopes_abstract_sockets();
    Filters::write(if closed {
        filter::Sockets::Usual
    } else {
        filter::Sockets::NoUnix
    })
}

/// What leads out of a cell.
pub(super) struct Outside {
    pub(super) outer: Outer,
    pub(super) base_root: BaseRoot,
}

impl HelperPool {
    fn build(wanted: Box<spec::BaseRoot>, line: Line) -> Result<Self, Failed> {
        understood(wanted.version)?;
        // Nothing depends on it.
        let _ = addresses::share();
        leave_host(wanted.caller, wanted.network)?;
        let outer = Outer::take()?;
        let base_root = outer.build(&wanted)?;
        confine::no_new_rights()?;
        let filters = filters(wanted.network)?;
        filters.helper.install()?;
        let (end, held) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).doing("make a pipe")?;
        Ok(Self {
            wanted,
            outside: Some(Outside { outer, base_root }),
            filters,
            life: (end, Some(held)),
            signals: sys::signals(&[libc::SIGTERM, libc::SIGCHLD]).doing("listen to signals")?,
            line: Some(line),
        })
    }

    /// The cell that a message asks for.
    fn asked(&mut self, message: &mut Message) -> Result<Box<spec::Cell>, Failed> {
        let mut request = message.requests.next()?;
        if let Some(Request::BaseRoot(wanted)) = request {
            self.move_to(wanted)?;
            request = message.requests.next()?;
        }
        match request {
            Some(Request::Cell(cell)) => Ok(cell),
            _ => Err(Failed::new("understand the spec", "it is no cell")),
        }
    }

    /// Builds another base root in the place of the one that stands.
    fn move_to(&mut self, wanted: Box<spec::BaseRoot>) -> Result<(), Failed> {
        if wanted.network != self.wanted.network {
            return Err(Failed::new("move", "the network is another one"));
        }
        if let Some(outside) = &mut self.outside {
            outside.base_root = outside.outer.build(&wanted)?;
        }
        self.wanted = wanted;
        Ok(())
    }

    /// Forks the first process of a cell, which builds the rest of it.
    fn begin(&mut self, wanted: &spec::Cell, line: &Line) -> Result<Pid, Failed> {
        let gone = || Failed::new("build a cell", "there is no base root");
        let outside = self.outside.as_ref().ok_or_else(gone)?;
        let cell = Cell::prepare(&outside.outer.host, &wanted.steps, &wanted.limits)?;
        let writable = outside.base_root.writable().chain(cell.writable());
        let rules = Rules::second_layer(&outside.base_root.root, writable)?;
        let more = match (wanted.sockets, self.wanted.network) {
            (true, Network::Loopback) => libc::CLONE_NEWIPC | libc::CLONE_NEWNET,
            (true, Network::Host) => libc::CLONE_NEWIPC,
            (false, _) => 0,
        };
        if let Some(first) = sys::fork_first(more).doing("fork the first process")? {
            return Ok(first);
        }
        self.line = None;
        self.life.1 = None;
        let outside = match (self.born(), self.outside.take()) {
            (Ok(()), Some(outside)) => outside,
            (Err(failed), _) => {
                line.refuse(failed);
                sys::leave()
            }
            (Ok(()), None) => sys::leave(),
        };
        let first = First {
            base_root: &self.wanted,
            wanted,
            filters: &self.filters,
        };
        let materials = Materials {
            outside,
            cell,
            rules,
        };
        first.live(materials, line);
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
        Ok(())
    }

    /// Waits for the end of a cell: by itself, because the caller wants another
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

/// Ends a cell, and returns what was passed.
fn end(first: Pid, more: bool) -> bool {
    let _ = kill_process(first, Signal::KILL);
    while let Err(Errno::INTR) = waitpid(Some(first), WaitOptions::empty()) {}
    more
}

/// Leaves the host's namespaces, bound to the life of `caller`.
fn leave_host(caller: i32, network: Network) -> Result<(), Failed> {
    sys::block(&[libc::SIGTERM, libc::SIGCHLD]);
    confine::die_with_parent(Some(caller), Signal::KILL)?;
    // For all first processes too: each command begins one of its own.
    rustix::process::setsid().doing("start a session")?;
    confine::first_to_go_when_memory_is_short();
    unshare(network)?;
    // Making a user namespace may clear it.
    confine::die_with_parent(Some(caller), Signal::KILL)
}

fn unshare(network: Network) -> Result<(), Failed> {
    let (uid, gid) = (geteuid(), getegid());
    if uid.is_root() {
        // Groups of root must not open anything; an ordinary user may not drop them.
        let _ = rustix::thread::set_thread_groups(&[]);
    }
    let mut flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWUTS
        // One that nobody ever makes a queue in: for commands that make none.
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWCGROUP;
    if network == Network::Loopback {
        // One that nobody ever makes a socket in: for commands that make none.
        flags |= UnshareFlags::NEWNET;
    }
    sys::unshare(flags).doing("make namespaces")?;
    fs::write("/proc/self/setgroups", "deny").doing("deny setgroups")?;
    let (uid, gid) = (uid.as_raw(), gid.as_raw());
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).doing("map the user")?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).doing("map the group")?;
    rustix::system::sethostname(b"codebutler").doing("set the host name")
}
