//! A cell that was built on a helper's base root and waits for its command: one, and
//! then it goes. Its first process takes the command over a line of its own.
//!
//! What is mounted in it was the host's when it was built. A file that is replaced
//! since (git writes a new one and renames it) loses its cover in the cell, so one
//! that was built ahead is used only while every place leads to the very file it led
//! to then. That file is held open: otherwise its number could be given to another.

use std::{
    fs, io,
    os::{
        fd::OwnedFd,
        unix::{fs::MetadataExt, net::UnixStream},
    },
};

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};

use crate::{
    process::{
        helper_pool::{Ends, hand_over},
        spawn::Prepared,
    },
    spec,
    view::Step,
};

/// The caller's side of a cell.
#[derive(Debug)]
pub(crate) struct Cell {
    line: UnixStream,
    pub(crate) wanted: spec::Cell,
    /// Per step the file that its place led to.
    held: Vec<OwnedFd>,
}

impl Cell {
    /// A cell for one command, and its end of the line.
    pub(crate) fn new(wanted: spec::Cell) -> io::Result<(Self, UnixStream)> {
        let (line, its_line) = UnixStream::pair()?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = wanted.steps.iter().filter(|step| is_host(step));
        let held = held.map(|step| openat(CWD, step.place(), flags, Mode::empty()));
        let cell = Self {
            line,
            held: held.collect::<Result<_, _>>()?,
            wanted,
        };
        Ok((cell, its_line))
    }

    /// Whether a cell that is built for the command now would be the same.
    pub(crate) fn suits(&self, wanted: &spec::Cell) -> bool {
        let places = self.wanted.steps.iter().filter(|step| is_host(step));
        self.wanted.steps == wanted.steps
            && self.wanted.limits.same_cell(&wanted.limits)
            && places.zip(&self.held).all(|(step, held)| {
                let (Ok(now), Ok(then)) = (fs::symlink_metadata(step.place()), fstat(held)) else {
                    return false;
                };
                (now.dev(), now.ino()) == (then.st_dev, then.st_ino)
            })
    }

    /// Hands its command to the first process. Nothing else can follow.
    pub(crate) fn run(self, prepared: &Prepared, ends: &Ends) -> io::Result<()> {
        hand_over(&self.line, prepared, ends)
    }
}

/// Whether the step is about a file of the host, which can be replaced.
fn is_host(step: &Step) -> bool {
    !matches!(step, Step::Link { .. })
}
