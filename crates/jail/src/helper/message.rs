//! What the caller says: one message per command, with three descriptors.

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

/// The helper's end of the socket.
pub(super) struct Line(pub(super) OwnedFd);

/// One command: what is asked for, and where its output and reports go.
pub(super) struct Message {
    pub(super) requests: Requests<BufReader<File>>,
    pub(super) wires: Wires,
}

impl Line {
    /// Waits for a message. Nothing when the caller went away, or says what no
    /// caller says.
    pub(super) fn next(&self) -> Option<Message> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(3))];
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
        let mut brought = control.drain().flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(rights) => rights.collect::<Vec<_>>(),
            _ => Vec::new(),
        });
        let (spec, output, report) = (brought.next()?, brought.next()?, brought.next()?);
        Some(Message {
            requests: Requests(BufReader::new(File::from(spec))),
            wires: Wires { output, report },
        })
    }
}

/// Requests, line by line, and what follows the last line.
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

    /// What the command is to read, if it is to read anything.
    pub(super) fn stdin(&mut self, spec: &Spec) -> Result<Option<Vec<u8>>, Failed> {
        if !spec.stdin {
            return Ok(None);
        }
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).doing("read the spec")?;
        Ok(Some(rest))
    }
}
