//! The helper: `codebutler __sandbox helper pool`, for one command after another.
//!
//! It is single-threaded, so it may fork and restrict itself freely. It is
//! started with a socket as standard input, and with nothing else: an empty
//! environment and no other descriptor. Every command has a cell built for it alone,
//! comes with a message (see `message`), and runs in processes of that cell.

mod addresses;
pub(crate) mod attack;
mod confine;
mod fallback;
mod filter;
mod first;
mod init;
mod landlock;
mod message;
mod namespaces;
mod start;
mod sys;
mod tree;
mod watch;
mod weaker;

use std::{
    io::Write,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use self::message::{Line, Message, Requests};
use crate::spec::{HELPER_POOL, Report, Request, VERSION, WEAKER};

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
            let path = namespaces::mounts::relative(path).display();
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
    /// Tells the caller.
    fn tell(&self, report: &Report) {
        tell(&self.report, [report]);
    }

    /// Tells the caller why nothing is run.
    fn fail(&self, Failed { step, detail }: Failed) {
        self.tell(&Report::SetUp { step, detail });
    }
}

/// Tells the caller, all at once. Nothing can be done when the caller does not listen.
fn tell<'a>(wire: impl AsFd, reports: impl IntoIterator<Item = &'a Report>) {
    let mut lines = Vec::new();
    for report in reports {
        if serde_json::to_writer(&mut lines, report).is_ok() {
            lines.push(b'\n');
        }
    }
    let _ = rustix::io::write(wire, &lines);
}

/// What `codebutler __sandbox` does: waits for commands and runs each inside its
/// sandbox, or, as a command inside it, tries to get out. It never returns and
/// never runs anything unconfined for somebody else. Somebody at a terminal can have
/// it play a weaker kernel.
pub fn helper_main() -> ! {
    let mut words = std::env::args_os().skip(2);
    let word = words.next();
    if word.as_ref().is_some_and(|word| word == WEAKER) {
        let Failed { step, detail } = weaker::play(words);
        let _ = writeln!(std::io::stderr(), "cannot {step}: {detail}");
        std::process::exit(70)
    }
    let outcome = if word.is_some_and(|word| word == HELPER_POOL) {
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
    match message.requests.next() {
        Ok(Some(Request::BaseRoot(base_root))) => namespaces::serve(base_root, message, line),
        Ok(None) => {}
        first => {
            if let Some(wires) = message.wires() {
                let outcome =
                    first.and_then(|first| run_without_namespaces(first, message, &wires));
                if let Err(failed) = outcome {
                    wires.fail(failed);
                }
            }
        }
    }
}

fn run_without_namespaces(
    first: Option<Request>,
    mut message: Message,
    wires: &Wires,
) -> Result<(), Failed> {
    let Some(Request::Run(spec)) = first else {
        return Err(Failed::new("understand the spec", "it is no command"));
    };
    understood(spec.version)?;
    // Either confined, or by somebody's word unconfined; never neither.
    if spec.landlock.is_some() == spec.unconfined {
        return Err(Failed::new("understand the spec", "nothing confines it"));
    }
    let stdin = message.stdin(&spec)?;
    fallback::enter(&spec, stdin, wires)
}

fn understood(version: u32) -> Result<(), Failed> {
    if version == VERSION {
        return Ok(());
    }
    let detail = "the executable was replaced while the caller was running";
    Err(Failed::new("understand the spec", detail))
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
