//! The first process of a room: closes the walls around itself, then runs a
//! command, and others over the room's line while each leaves the room as it
//! found it. When it ends, the kernel ends everything else in the room.
//!
//! It is behind the walls itself, and commands run as the same user, but none can
//! reach it: it is hidden from them, the kernel keeps their signals from it, the
//! filter refuses to change it, and what may be changed all the same is looked at.

use std::os::fd::OwnedFd;

use super::{
    Failed, Wires, confine, filter, init, landlock,
    message::{Line, Message},
    namespaces::Outside,
    quiet,
    room::Room,
    start, sys,
    traces::Traces,
};
use crate::{
    spec::{self, Report, Request, Spec},
    view::Step,
};

/// A command, with what it reads and where its output goes.
pub(super) struct Job {
    pub(super) spec: Box<Spec>,
    pub(super) stdin: OwnedFd,
    pub(super) wires: Wires,
}

/// What the walls are made of. Gone when they are closed: it leads outside.
pub(super) struct Walls<'a> {
    pub(super) outside: Outside,
    pub(super) room: Room<'a>,
    pub(super) filter: &'a filter::Program,
}

/// What the first process knows about its room.
pub(super) struct First<'a> {
    pub(super) wanted: &'a spec::Ground,
    pub(super) steps: &'a [Step],
}

impl First<'_> {
    /// Closes the walls around this process and runs the command. With a line, the
    /// next ones too.
    pub(super) fn live(&self, walls: Walls<'_>, job: Job, line: Option<&Line>) {
        let traces = match self.confine(walls, &job.spec, line.is_some()) {
            Ok(traces) => traces,
            Err(failed) => return job.wires.fail(failed),
        };
        if job.spec.argv.is_empty() {
            return job.wires.tell(&Report::Exited(0));
        }
        let mut job = Some(job);
        while let Some(Job { spec, stdin, wires }) = job.take() {
            if let Err(failed) = self.run(&spec, stdin, &wires) {
                return wires.fail(failed);
            }
            if !quiet::is_as_new() {
                return wires.tell(&Report::Worn);
            }
            let (Some(traces), Some(line)) = (&traces, line) else {
                return;
            };
            if !traces.none() {
                return wires.tell(&Report::Used);
            }
            wires.tell(&Report::AsNew);
            // From here on the caller knows that the last process is dead.
            drop(wires);
            job = line.next().and_then(|message| self.next(message, &spec));
        }
    }

    /// Closes the walls. What the room is like then, if others are to come.
    fn confine(
        &self,
        walls: Walls<'_>,
        spec: &Spec,
        stays: bool,
    ) -> Result<Option<Traces>, Failed> {
        let Walls {
            outside,
            room,
            filter,
        } = walls;
        let queues = room.enter(&outside.ground, &spec.limits)?;
        drop((outside, room));
        confine::no_more_rights()?;
        landlock::second_layer(self.writable())?;
        filter.install()?;
        if !stays {
            return Ok(None);
        }
        Traces::note(self.steps, queues).map(Some)
    }

    fn writable(&self) -> impl Iterator<Item = &std::path::Path> {
        let steps = self.wanted.steps.iter().chain(self.steps);
        steps.filter_map(|step| match step {
            Step::Show { path, write: true } => Some(path.path()),
            _ => None,
        })
    }

    /// Runs a command until its last process is dead.
    fn run(&self, spec: &Spec, stdin: OwnedFd, wires: &Wires) -> Result<(), Failed> {
        let command = start::spawn(spec, &stdin, wires)?;
        drop(stdin);
        let members = init::Members::Namespace;
        init::run(command, &spec.limits, self.writable(), members, wires);
        sys::end_all_others();
        Ok(())
    }

    /// The command that came over the room's line. It must be for this very room;
    /// the caller knows, and a mistake must not become a hole.
    fn next(&self, mut message: Message, before: &Spec) -> Option<Job> {
        let job = match message.requests.next() {
            Ok(Some(Request::Run(spec))) if self.is_home_of(&spec, before) => {
                message.stdin(&spec).map(|stdin| (spec, stdin))
            }
            Ok(None) => return None,
            Ok(Some(_)) => Err(Failed::new("understand the spec", "it is for other walls")),
            Err(failed) => Err(failed),
        };
        match job {
            Ok((spec, stdin)) => Some(Job {
                spec,
                stdin,
                wires: message.wires,
            }),
            Err(failed) => {
                message.wires.fail(failed);
                None
            }
        }
    }

    fn is_home_of(&self, spec: &Spec, before: &Spec) -> bool {
        matches!(&spec.walls, spec::Walls::Namespaces { steps } if steps == self.steps)
            && spec.limits.same_room(&before.limits)
            && !spec.argv.is_empty()
    }
}
