//! The helper: `codebutler __jail nursery`, for one command after another.
//!
//! It is single-threaded, so it may fork and restrict itself freely. It is
//! started with a socket as standard input, and with nothing else: an empty
//! environment and no other descriptor. Every command comes with a message (see
//! `message`), and runs in processes that are forked for it alone.

pub(crate) mod attack;
mod confine;
mod fallback;
mod filter;
mod first;
mod ground;
mod init;
mod landlock;
mod message;
mod mounts;
mod namespaces;
mod proc;
mod program;
mod quiet;
mod room;
mod start;
mod sys;
mod traces;
mod tree;
mod watch;

use std::{io::Write, os::fd::OwnedFd, path::Path};

use self::message::{Line, Requests};
use crate::spec::{NURSERY, Report, Request, VERSION, Walls};

/// A step of the set-up that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    step: String,
    detail: String,
}

impl Failed {
    fn new(step: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            step: step.into(),
            detail: detail.into(),
        }
    }
}

/// Names the step in which something failed.
trait Doing<T>: Sized {
    fn doing(self, step: impl Into<String>) -> Result<T, Failed>;

    /// The same with a path, which is written down only when it failed.
    fn doing_at(self, step: &str, path: &Path) -> Result<T, Failed>;
}

impl<T, E: ToString> Doing<T> for Result<T, E> {
    fn doing(self, step: impl Into<String>) -> Result<T, Failed> {
        self.map_err(|error| Failed::new(step, error.to_string()))
    }

    fn doing_at(self, step: &str, path: &Path) -> Result<T, Failed> {
        self.map_err(|error| {
            let path = mounts::relative(path).display();
            Failed::new(format!("{step} /{path}"), error.to_string())
        })
    }
}

/// Where a command's output and reports go, out of the way of 0, 1 and 2.
struct Wires {
    output: OwnedFd,
    report: OwnedFd,
}

impl Wires {
    /// Tells the caller. Nothing can be done when the caller does not listen.
    fn tell(&self, report: &Report) {
        if let Ok(mut line) = serde_json::to_vec(report) {
            line.push(b'\n');
            let _ = rustix::io::write(&self.report, &line);
        }
    }

    /// Tells the caller why nothing is run.
    fn fail(&self, Failed { step, detail }: Failed) {
        self.tell(&Report::SetUp { step, detail });
    }
}

/// What `codebutler __jail` does: waits for commands and runs each inside its
/// walls, or, as a command inside them, tries to get out. It never returns and
/// never runs anything unconfined.
pub fn helper_main() -> ! {
    let nursery = std::env::args_os()
        .nth(2)
        .is_some_and(|word| word == NURSERY);
    let outcome = if nursery {
        sys::take_line().map(|line| serve(Line(line)))
    } else {
        sys::take_wires().map(|wires| {
            if let Err(failed) = attack(&wires) {
                wires.fail(failed);
                std::process::exit(71)
            }
        })
    };
    if let Err(error) = outcome {
        let _ = writeln!(std::io::stderr(), "cannot take over descriptors: {error}");
        std::process::exit(70)
    }
    std::process::exit(0)
}

/// Takes the first message, which says what kind of helper this is to be.
fn serve(line: Line) {
    let Some(mut message) = line.next() else {
        return;
    };
    let first = match message.requests.next() {
        Ok(Some(first)) => first,
        Ok(None) => return,
        Err(failed) => return message.wires.fail(failed),
    };
    match first {
        Request::Ground(ground) if ground.version == VERSION => {
            namespaces::serve(ground, message, line);
        }
        Request::Run(spec) if spec.version == VERSION => {
            let stdin = message.stdin(&spec);
            let wires = message.wires;
            let Walls::Landlock { read, write } = &spec.walls else {
                return wires.fail(Failed::new("understand the spec", "there is no ground"));
            };
            let outcome =
                stdin.and_then(|stdin| fallback::enter(&spec, read, write, stdin, &wires));
            if let Err(failed) = outcome {
                wires.fail(failed);
            }
        }
        other => {
            let detail = match other {
                Request::Attack(_) => "it is no command",
                _ => "the executable was replaced while the caller was running",
            };
            let failed = Failed::new("understand the spec", detail);
            message.wires.fail(failed);
        }
    }
}

/// Confined already: tries to get out, and writes one line per attempt.
fn attack(wires: &Wires) -> Result<(), Failed> {
    let Some(Request::Attack(targets)) = Requests(std::io::stdin().lock()).next()? else {
        return Err(Failed::new("understand the spec", "it is no attack"));
    };
    for attempt in attack::all(&targets) {
        let mut line = serde_json::to_vec(&attempt).doing("describe an attack")?;
        line.push(b'\n');
        rustix::io::write(&wires.output, &line).doing("describe an attack")?;
    }
    Ok(())
}
