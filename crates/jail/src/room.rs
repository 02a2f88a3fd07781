//! A room that stands on a helper's ground: commands that see the same places
//! follow each other in it. Its first process takes them over a line of its own.
//!
//! What is mounted in it was the host's when it was made. A file that is replaced
//! since (git writes a new one and renames it) loses its cover in the room, so a
//! room is used only while every place leads to the very file it led to then. That
//! file is held open: otherwise its number could be given to another one.

use std::{
    fs, io,
    os::{
        fd::OwnedFd,
        unix::{fs::MetadataExt, net::UnixStream},
    },
};

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};

use crate::{
    Limits,
    nursery::{Ends, send},
    spawn::Prepared,
    spec::Walls,
    view::Step,
};

/// The caller's side of a room.
#[derive(Debug)]
pub(crate) struct Room {
    line: UnixStream,
    steps: Vec<Step>,
    limits: Limits,
    /// Per step the file that its place led to.
    held: Vec<OwnedFd>,
}

impl Room {
    /// A room for this command and others like it, and its end of the line.
    pub(crate) fn new(prepared: &Prepared) -> io::Result<(Self, UnixStream)> {
        let (line, its_line) = UnixStream::pair()?;
        let steps = steps(prepared).to_vec();
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = steps.iter().filter(|step| is_host(step));
        let held = held.map(|step| openat(CWD, step.place(), flags, Mode::empty()));
        let room = Self {
            line,
            held: held.collect::<Result<_, _>>()?,
            steps,
            limits: prepared.spec.limits,
        };
        Ok((room, its_line))
    }

    /// Whether the command would be in the same room if it had one of its own.
    pub(crate) fn suits(&self, prepared: &Prepared) -> bool {
        let places = self.steps.iter().filter(|step| is_host(step));
        self.steps == steps(prepared)
            && self.limits.same_room(&prepared.spec.limits)
            && places.zip(&self.held).all(|(step, held)| {
                let (Ok(now), Ok(then)) = (fs::symlink_metadata(step.place()), fstat(held)) else {
                    return false;
                };
                (now.dev(), now.ino()) == (then.st_dev, then.st_ino)
            })
    }

    /// Hands a command to the first process.
    pub(crate) fn send(&self, prepared: &Prepared, ends: &Ends) -> io::Result<()> {
        send(&self.line, None, prepared, ends, None)
    }
}

fn steps(prepared: &Prepared) -> &[Step] {
    match &prepared.spec.walls {
        Walls::Namespaces { steps } => steps,
        Walls::Landlock { .. } => &[],
    }
}

/// Whether the step is about a file of the host, which can be replaced.
fn is_host(step: &Step) -> bool {
    !matches!(step, Step::Link { .. })
}
