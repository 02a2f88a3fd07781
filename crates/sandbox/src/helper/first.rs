//! The first process of a cell: confines itself, waits for its
//! command, runs it, and ends. When it ends, the kernel ends everything else in the
//! cell, and nothing of the cell is used again.
//!
//! It is confined itself, and commands run as the same user, but none can
//! reach it: it is hidden from them, the kernel keeps their signals from it, and the
//! filter refuses to change it.

use std::{os::fd::AsFd, path::Path};

use rustix::{process::Pid, thread::UnshareFlags};

use super::{
    Doing, Failed, Wires, confine,
    filter::Filters,
    init,
    landlock::Rules,
    message::{Line, Message},
    namespaces::Outside,
    start, sys, tell, understood,
};
use crate::helper::namespaces::cell::{self, Cell};
use crate::{
    Network,
    spec::{self, Report, Request, Spec},
    view::Step,
};

/// What the sandbox is made of. Gone when it is closed: it leads outside.
pub(super) struct Materials<'a> {
    pub(super) outside: Outside,
    pub(super) cell: Cell<'a>,
    pub(super) rules: Option<Rules>,
}

/// What the first process knows about its cell.
pub(super) struct First<'a> {
    pub(super) base_root: &'a spec::BaseRoot,
    pub(super) wanted: &'a spec::Cell,
    pub(super) filters: &'a Filters,
}

impl First<'_> {
    /// Confines this process and waits for the command.
    pub(super) fn live(&self, materials: Materials<'_>, line: &Line) {
        let rules = match self.confine(materials) {
            Ok(rules) => rules,
            Err(failed) => return line.refuse(failed),
        };
        let Some(mut message) = line.next() else {
            return;
        };
        let Some(wires) = message.wires() else {
            return;
        };
        match self.take(&mut message, rules, &wires) {
            Ok(Some((command, spec))) => {
                let Wires { output, report } = wires;
                // Nobody but the command writes its output from here on.
                drop(output);
                self.follow(command, &spec, report);
            }
            Ok(None) => wires.tell(&Report::Exited(0)),
            Err(failed) => wires.fail(failed),
        }
    }

    /// Closes the sandbox. One that was built for a command without sockets is left open
    /// until it is known whether that is what comes: then the rules are still to be kept.
    fn confine(&self, materials: Materials<'_>) -> Result<Option<Rules>, Failed> {
        let Materials {
            outside,
            cell,
            rules,
        } = materials;
        if self.has_own_network() {
            loopback_up()?;
        }
        cell.enter(&outside, self.wanted)?;
        drop((outside, cell));
        confine::hide()?;
        if self.wanted.sockets {
            self.shut(true, rules)?;
            return Ok(None);
        }
        Ok(rules)
    }

    /// Closes what was left open. A network, queues and terminals can be made only by
    /// who has rights.
    fn shut_for(&self, spec: &Spec, rules: Option<Rules>) -> Result<(), Failed> {
        if self.wanted.sockets {
            return Ok(());
        }
        if spec.sockets {
            sys::unshare(UnshareFlags::NEWIPC).doing("make queues")?;
            cell::complete(&self.wanted.limits)?;
            if self.base_root.network == Network::Loopback {
                sys::unshare(UnshareFlags::NEWNET).doing("make a network")?;
                loopback_up()?;
            }
        }
        self.shut(spec.sockets, rules)
    }

    /// Gives up all rights, and the calls that a command may not make.
    fn shut(&self, sockets: bool, rules: Option<Rules>) -> Result<(), Failed> {
        if let Some(rules) = rules {
            rules.keep()?;
        }
        confine::give_up_capabilities()?;
        if sockets {
            self.filters.usual.install()
        } else {
            self.filters.without_sockets.install()
        }
    }

    /// Whether the cell was built with a network.
    fn has_own_network(&self) -> bool {
        self.wanted.sockets && self.base_root.network == Network::Loopback
    }

    fn writable(&self) -> impl Iterator<Item = &Path> {
        let steps = self.base_root.steps.iter().chain(&self.wanted.steps);
        steps.filter_map(|step| match step {
            Step::Show { path, write: true } => Some(path.path()),
            _ => None,
        })
    }

    /// Starts the command that came, if there is one and it is for this cell: the caller
    /// knows, and a mistake must not become a hole.
    fn take(
        &self,
        message: &mut Message,
        rules: Option<Rules>,
        wires: &Wires,
    ) -> Result<Option<(Pid, Box<Spec>)>, Failed> {
        let spec = match message.requests.next()? {
            Some(Request::Run(spec)) => spec,
            _ => return Err(Failed::new("understand the spec", "it is no command")),
        };
        understood(spec.version)?;
        if spec.landlock.is_some() || spec.unconfined || !spec.limits.same_cell(&self.wanted.limits)
        {
            return Err(Failed::new(
                "understand the spec",
                "it is for another sandbox",
            ));
        }
        self.shut_for(&spec, rules)?;
        if spec.argv.is_empty() {
            return Ok(None);
        }
        let stdin = message.stdin(&spec)?;
        let command = start::spawn(&spec, &stdin, wires)?;
        Ok(Some((command, spec)))
    }

    /// Follows a command until its last process is dead, and says so.
    fn follow(&self, command: Pid, spec: &Spec, wire: impl AsFd) {
        let loopback = self.base_root.network == Network::Loopback;
        let own_network = loopback && (spec.sockets || self.wanted.sockets);
        let members = init::Members::Namespace { own_network };
        let mut ended = init::run(command, &spec.limits, self.writable(), members, &wire);
        // Mostly it left nobody, and then all is said at once.
        if sys::others_are_left() {
            tell(&wire, &ended.take());
            sys::end_all_others();
        }
        tell(&wire, ended.iter().chain([&Report::Over]));
    }
}

fn loopback_up() -> Result<(), Failed> {
    sys::loopback_up().doing("bring up the loopback device")
}
