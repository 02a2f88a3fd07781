//! What the caller says: requests, and the descriptors that they speak of.

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

/// Our end of a socket: the helper's, or that of a cell.
pub(super) struct Line(pub(super) OwnedFd);

/// What is asked for, and what came with it.
pub(super) struct Message {
    pub(super) requests: Requests<BufReader<File>>,
    brought: std::vec::IntoIter<OwnedFd>,
}

impl Line {
    /// Waits for a message. Nothing when the caller went away, or says what no
    /// caller says.
    pub(super) fn next(&self) -> Option<Message> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(4))];
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
        let mut brought = Vec::with_capacity(4);
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                brought.extend(rights);
            }
        }
        let mut brought = brought.into_iter();
        Some(Message {
            requests: Requests(BufReader::new(File::from(brought.next()?))),
            brought,
        })
    }

    /// Tells whoever comes for a command that there is none, and why.
    pub(super) fn refuse(&self, failed: Failed) {
        if let Some(wires) = self.next().and_then(|mut message| message.wires()) {
            wires.fail(failed);
        }
    }
}

impl Message {
    /// Where a command's output and reports go.
    pub(super) fn wires(&mut self) -> Option<Wires> {
        Some(Wires {
            output: self.brought.next()?,
            report: self.brought.next()?,
        })
    }

    /// What a command reads: what the caller sent, or nothing.
    pub(super) fn stdin(&mut self, spec: &Spec) -> Result<OwnedFd, Failed> {
        if spec.stdin {
            let sent = self.brought.next();
            return sent.ok_or_else(|| Failed::new("take standard input", "it was not sent"));
        }
        Ok(File::open("/dev/null").doing("open /dev/null")?.into())
    }

    /// The line over which the command comes into its cell.
    pub(super) fn cell_line(&mut self) -> Option<Line> {
        self.brought.next().map(Line)
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
