//! The questions of `init`, answered at a real terminal.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::OwnedFd,
    process::Child,
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use crate::scratch::Scratch;

const DOWN: &str = "\u{1b}[B";
const ESCAPE: &str = "\u{1b}";

/// A program at a terminal of our own.
struct Terminal {
    child: Child,
    keys: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn start(scratch: &Scratch, args: &[&str]) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let ours = openpt(flags).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let theirs = || -> OwnedFd { ioctl_tiocgptpeer(&ours, flags).unwrap() };
        let mut command = scratch.codebutler(args);
        command.env("TERM", "xterm");
        command.stdin(theirs()).stdout(theirs()).stderr(theirs());
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
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until a text appears. The bound only keeps a failing test from hanging.
    fn expect(&mut self, text: &str) {
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
    fn end(mut self) -> (i32, String) {
        while let Ok(bytes) = self.screen.recv_timeout(Duration::from_secs(60)) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        (self.child.wait().unwrap().code().unwrap(), self.seen)
    }
}

#[test]
fn three_answers_set_up_a_repository() {
    let scratch = Scratch::new();
    scratch.write("go.mod", "module x\n");
    let mut terminal = Terminal::start(&scratch, &["init"]);
    terminal.expect("Channel for this repository?");
    terminal.press("-two\r");
    terminal.expect("Where do the models answer?");
    terminal.press("\r");
    terminal.expect("OpenRouter key (empty for later):");
    let key = ["sk-", "or-", "typed"].concat();
    terminal.press(&format!("{key}\r"));
    terminal.expect("Run these checks?");
    terminal.press("\r");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(
        !screen.contains(&key),
        "a key must not show while it is typed"
    );
    let machine = std::fs::read_to_string(scratch.home().join("config.json")).unwrap();
    assert!(machine.contains(&key), "{machine}");
    assert!(
        scratch
            .read(".codebutler/config.json")
            .contains("go test ./...")
    );
}

#[test]
fn a_machine_that_is_set_up_is_not_asked_about_models_again() {
    let scratch = Scratch::new();
    scratch.machine(r#"{"openrouter": {"apiKey": "known"}}"#);
    let mut terminal = Terminal::start(&scratch, &["init"]);
    terminal.expect("Channel for this repository?");
    terminal.press("\r");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(
        !screen.contains("models answer") && !screen.contains("Run these"),
        "{screen}"
    );
}

#[test]
fn stopping_in_the_middle_writes_nothing() {
    let scratch = Scratch::new();
    let before = scratch.files();
    let mut terminal = Terminal::start(&scratch, &["init"]);
    terminal.expect("Channel for this repository?");
    terminal.press("\r");
    terminal.expect("Where do the models answer?");
    terminal.press(DOWN);
    terminal.press(ESCAPE);
    let (code, screen) = terminal.end();
    assert_eq!(code, 4, "{screen}");
    assert!(screen.contains("nothing was written"), "{screen}");
    assert_eq!(scratch.files(), before);
}
