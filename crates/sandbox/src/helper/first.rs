//! The first process of a cell: confines itself, waits for its
//! command, runs it, and ends. When it ends, the kernel ends everything else in the
//! cell, and nothing of the cell is used again.
//!
//! It is confined itself, and commands run as the same user, but none can
//! reach it: it is hidden from them, the kernel keeps their signals from it, and the
//! filter refuses to change it.

use std::path::Path;

use super::{
    Failed, Wires, confine, filter, init, landlock,
    message::{Line, Message},
    namespaces::Outside,
    start, sys, understood,
};
use crate::helper::namespaces::cell::Cell;
use crate::{
    Network,
    spec::{self, Report, Request, Spec},
    view::Step,
};

/// What the sandbox is made of. Gone when it is closed: it leads outside.
pub(super) struct Materials<'a> {
    pub(super) outside: Outside,
    pub(super) cell: Cell<'a>,
    pub(super) filter: &'a filter::Program,
}

/// What the first process knows about its cell.
pub(super) struct First<'a> {
    pub(super) base_root: &'a spec::BaseRoot,
    pub(super) wanted: &'a spec::Cell,
}

impl First<'_> {
    /// Confines this process and waits for the command.
    pub(super) fn live(&self, materials: Materials<'_>, line: &Line) {
        if let Err(failed) = self.confine(materials) {
            return line.refuse(failed);
        }
        let Some(mut message) = line.next() else {
            return;
        };
        let Some(wires) = message.wires() else {
            return;
        };
        if let Err(failed) = self.take(&mut message, &wires) {
            wires.fail(failed);
        }
    }

    /// Closes the sandbox.
    fn confine(&self, materials: Materials<'_>) -> Result<(), Failed> {
        let Materials {
            outside,
            cell,
            filter,
        } = materials;
        if self.base_root.network == Network::Loopback {
            use super::Doing;
            sys::loopback_up().doing("bring up the loopback device")?;
        }
        cell.enter(&outside.base_root, &self.wanted.limits)?;
        drop((outside, cell));
        confine::no_more_rights()?;
        landlock::second_layer(self.writable())?;
        filter.install()
    }

    fn writable(&self) -> impl Iterator<Item = &Path> {
        let steps = self.base_root.steps.iter().chain(&self.wanted.steps);
        steps.filter_map(|step| match step {
            Step::Show { path, write: true } => Some(path.path()),
            _ => None,
        })
    }

    /// Runs the command that came, if it is for this cell: the caller knows, and a
    /// mistake must not become a hole.
    fn take(&self, message: &mut Message, wires: &Wires) -> Result<(), Failed> {
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
        if spec.argv.is_empty() {
            wires.tell(&Report::Exited(0));
            return Ok(());
        }
        self.run(&spec, message, wires)
    }

    /// Runs a command until its last process is dead.
    fn run(&self, spec: &Spec, message: &mut Message, wires: &Wires) -> Result<(), Failed> {
        let stdin = message.stdin(spec)?;
        let command = start::spawn(spec, &stdin, wires)?;
        drop(stdin);
        let own_network = self.base_root.network == Network::Loopback;
        let members = init::Members::Namespace { own_network };
        init::run(command, &spec.limits, self.writable(), members, wires);
        sys::end_all_others();
        wires.tell(&Report::Over);
        Ok(())
    }
}
