//! What the caller says: one message per command, with three descriptors or more.

use std::{
    fs::File,
    io::{BufRead, BufReader, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    cmsg_space,
    io::Errno,
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg},
};

use super::{Doing, Failed, Wires};
use crate::spec::{Request, Spec};

/// Our end of a socket: the helper's, or that of a room.
pub(super) struct Line(pub(super) OwnedFd);

/// One command: what is asked for, and where its output and reports go.
pub(super) struct Message {
    pub(super) requests: Requests<BufReader<File>>,
    pub(super) wires: Wires,
    /// What else the spec speaks of, in this order: what the command reads, and
    /// the line over which others come into its room.
    pub(super) more: std::vec::IntoIter<OwnedFd>,
}

impl Line {
    /// Waits for a message. Nothing when the caller went away, or says what no
    /// caller says.
    pub(super) fn next(&self) -> Option<Message> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(5))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let got = loop {
            let mut into = [IoSliceMut::new(&mut byte)];
            let flags = RecvFlags::CMSG_CLOEXEC;
            match recvmsg(self.0.as_fd(), &mut into, &mut control, flags) {
                Err(Errno::INTR) => {}
                other => break other.ok()?,
            }
        };
        if got.bytes == 0 {
            return None;
        }
        let mut brought = Vec::with_capacity(5);
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                brought.extend(rights);
            }
        }
        let mut brought = brought.into_iter();
        let (spec, output, report) = (brought.next()?, brought.next()?, brought.next()?);
        Some(Message {
            requests: Requests(BufReader::new(File::from(spec))),
            wires: Wires { output, report },
            more: brought,
        })
    }
}

impl Message {
    /// What a command reads: what the caller sent, or nothing.
    pub(super) fn stdin(&mut self, spec: &Spec) -> Result<OwnedFd, Failed> {
        if spec.stdin {
            let sent = self.more.next();
            return sent.ok_or_else(|| Failed::new("take standard input", "it was not sent"));
        }
        Ok(File::open("/dev/null").doing("open /dev/null")?.into())
    }

    /// The line over which others come into the room of this command.
    pub(super) fn room_line(&mut self, spec: &Spec) -> Result<Option<Line>, Failed> {
        if !spec.stays {
            return Ok(None);
        }
        let sent = self.more.next().map(Line);
        let sent = sent.ok_or_else(|| Failed::new("take the line of a room", "it was not sent"))?;
        Ok(Some(sent))
    }
}

/// Requests, line by line.
pub(super) struct Requests<R>(pub(super) R);

impl<R: BufRead> Requests<R> {
    /// The next request. Nothing when the caller went away without one.
    pub(super) fn next(&mut self) -> Result<Option<Request>, Failed> {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line).doing("read the spec")?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') {
            return Err(Failed::new("read the spec", "it is not complete"));
        }
        let request = serde_json::from_slice(&line).doing("understand the spec")?;
        Ok(Some(request))
    }
}
