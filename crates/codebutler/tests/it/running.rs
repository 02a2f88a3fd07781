//! A process of ours that goes on while the test looks at it.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    time::{Duration, Instant},
};

/// Generous: the machine may be busy. Reaching it is a failure, not a measure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// A process of ours with what it says, line by line. Ends with the test.
pub(crate) struct Running {
    pub child: Child,
    pub out: Receiver<String>,
    pub err: Receiver<String>,
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let piped = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        Self {
            out: lines(child.stdout.take().unwrap()),
            err: lines(child.stderr.take().unwrap()),
            child,
        }
    }

    /// The process's end, and everything that it said.
    pub(crate) fn ended(self) -> (i32, String, String) {
        self.ended_within(PATIENCE)
    }

    /// The same of one that has little to do before it ends.
    pub(crate) fn ended_soon(self) -> (i32, String, String) {
        self.ended_within(PATIENCE / 6)
    }

    fn ended_within(mut self, patience: Duration) -> (i32, String, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < patience, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        let all = |from: &Receiver<String>| from.iter().collect::<Vec<_>>().join("\n");
        (status.code().unwrap(), all(&self.out), all(&self.err))
    }

    /// As Ctrl-C does.
    pub(crate) fn interrupt(&mut self) {
        self.interrupted();
    }

    /// The same: how it ended, and what it said on the error stream from then on.
    pub(crate) fn interrupted(&mut self) -> (Option<i32>, String) {
        self.err.try_iter().for_each(drop);
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &pid]).status();
        assert!(sent.unwrap().success());
        let code = self.child.wait().unwrap().code();
        (code, self.err.iter().collect::<Vec<_>>().join("\n"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The next line that says this.
pub(crate) fn line_with(lines: &Receiver<String>, words: &str) -> String {
    let begun = Instant::now();
    let mut seen = Vec::new();
    while let Some(left) = PATIENCE.checked_sub(begun.elapsed()) {
        let Ok(line) = lines.recv_timeout(left) else {
            break;
        };
        if line.contains(words) {
            return line;
        }
        seen.push(line);
    }
    panic!("nobody said `{words}`: {seen:#?}");
}
