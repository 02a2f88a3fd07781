//! A program at a real terminal, with somebody who reads and types.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use crate::scratch::Scratch;

/// A program at a terminal of our own.
pub(crate) struct Terminal {
    child: Child,
    keys: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
    /// What was seen before what is expected next.
    past: String,
}

impl Terminal {
    /// The binary in a repo.
    pub(crate) fn start(scratch: &Scratch, args: &[&str]) -> Self {
        Self::of(scratch.codebutler(args), None)
    }

    /// Any program; it reads what is typed, or something else.
    pub(crate) fn of(mut command: Command, input: Option<Stdio>) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let ours = openpt(flags).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let theirs = || -> OwnedFd { ioctl_tiocgptpeer(&ours, flags).unwrap() };
        command.env("TERM", "xterm");
        command.stdin(input.unwrap_or_else(|| theirs().into()));
        command.stdout(theirs()).stderr(theirs());
        let child = command.spawn().unwrap();
        // The command holds copies of their side; without them the end of the program is seen.
        drop(command);
        let keys = File::from(ours);
        let mut reader = keys.try_clone().unwrap();
        let (sender, screen) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            keys,
            screen,
            seen: String::new(),
            past: String::new(),
        }
    }

    /// What was shown so far.
    pub(crate) fn seen(&self) -> &str {
        &self.seen
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// As Ctrl-C does; it is not the terminal of a session, so the key does nothing.
    pub(crate) fn interrupt(&self) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Reads until a text appears behind what was expected before.
    pub(crate) fn expect_next(&mut self, text: &str) {
        self.expect(text);
        let at = self.seen.find(text).unwrap_or_default() + text.len();
        let rest = self.seen.split_off(at);
        self.past.push_str(&self.seen);
        self.seen = rest;
    }

    /// Reads until a text appears. The bound only keeps a failing test from hanging.
    pub(crate) fn expect(&mut self, text: &str) {
        while !self.seen.contains(text) {
            let Ok(bytes) = self.screen.recv_timeout(Duration::from_secs(60)) else {
                panic!("{text} did not appear in: {}", self.seen);
            };
            let part = String::from_utf8_lossy(&bytes).into_owned();
            // The program asks where the cursor is, as every terminal can tell.
            if part.contains("\u{1b}[6n") {
                self.press("\u{1b}[1;1R");
            }
            self.seen.push_str(&part);
        }
    }

    /// Waits for the end; the exit code.
    pub(crate) fn end(mut self) -> (i32, String) {
        while let Ok(bytes) = self.screen.recv_timeout(Duration::from_secs(60)) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        let screen = format!("{}{}", self.past, self.seen);
        (self.child.wait().unwrap().code().unwrap(), screen)
    }
}
