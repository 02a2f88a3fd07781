//! The helper: `codebutler __jail`, one process per command.
//!
//! It is single-threaded, so it may fork and restrict itself freely. It is
//! started with the spec as standard input, the command's output as standard
//! output and the report line as standard error, and with nothing else: an empty
//! environment and no other descriptor.

pub(crate) mod attack;
mod confine;
mod fallback;
mod filter;
mod init;
mod landlock;
mod mounts;
mod namespaces;
mod proc;
mod quick;
mod start;
mod sys;
mod tree;
mod watch;

use std::{
    io::{BufRead, Read, StdinLock, Write},
    os::fd::OwnedFd,
};

use crate::spec::{Report, Request, Spec, VERSION, Walls};

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
trait Doing<T> {
    fn doing(self, step: impl Into<String>) -> Result<T, Failed>;
}

impl<T, E: ToString> Doing<T> for Result<T, E> {
    fn doing(self, step: impl Into<String>) -> Result<T, Failed> {
        self.map_err(|error| Failed::new(step, error.to_string()))
    }
}

/// The three descriptors the caller gave us, out of the way of 0, 1 and 2.
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

    /// Lets go of all three, so that they are the other process's alone.
    fn hang_up(&mut self) -> std::io::Result<()> {
        let null = std::io::stderr();
        rustix::stdio::dup2_stdin(&null)?;
        rustix::io::dup2(&null, &mut self.output)?;
        Ok(rustix::io::dup2(&null, &mut self.report)?)
    }
}

/// What `codebutler __jail` does: reads its spec, restricts itself, runs the
/// command, reports, ends. It never returns and never runs anything unconfined.
pub fn helper_main() -> ! {
    let mut wires = match sys::take_wires() {
        Ok(wires) => wires,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "cannot take over descriptors: {error}");
            std::process::exit(70)
        }
    };
    if let Err(Failed { step, detail }) = serve(&mut wires) {
        wires.tell(&Report::SetUp { step, detail });
        std::process::exit(71)
    }
    std::process::exit(0)
}

fn serve(wires: &mut Wires) -> Result<(), Failed> {
    let mut requests = Requests(std::io::stdin().lock());
    match requests.next()? {
        None => Ok(()),
        Some(Request::Ground(ground)) => {
            understood(ground.version)?;
            namespaces::enter(&ground, requests, wires)
        }
        Some(Request::Run(spec)) => {
            understood(spec.version)?;
            let Walls::Landlock { read, write } = &spec.walls else {
                return Err(Failed::new("understand the spec", "there is no ground"));
            };
            let stdin = requests.stdin(&spec)?;
            fallback::enter(&spec, read, write, stdin, wires)
        }
        Some(Request::Attack(targets)) => attack(&targets, wires),
    }
}

fn understood(version: u32) -> Result<(), Failed> {
    if version == VERSION {
        return Ok(());
    }
    let detail = "the executable was replaced while the caller was running";
    Err(Failed::new("understand the spec", detail))
}

/// Confined already: tries to get out, and writes one line per attempt.
fn attack(targets: &attack::Targets, wires: &Wires) -> Result<(), Failed> {
    for attempt in attack::all(targets) {
        let mut line = serde_json::to_vec(&attempt).doing("describe an attack")?;
        line.push(b'\n');
        rustix::io::write(&wires.output, &line).doing("describe an attack")?;
    }
    Ok(())
}

/// What the caller says, line by line, and what follows the last line.
struct Requests(StdinLock<'static>);

impl Requests {
    /// The next request. Nothing when the caller went away without one.
    fn next(&mut self) -> Result<Option<Request>, Failed> {
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
    fn stdin(&mut self, spec: &Spec) -> Result<Option<Vec<u8>>, Failed> {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).doing("read the spec")?;
        Ok(spec.stdin.then_some(rest))
    }
}
