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
mod start;
mod sys;
mod tree;
mod watch;

use std::{
    io::{Read, Write},
    os::fd::OwnedFd,
};

use crate::{
    Network,
    spec::{Report, Request, Spec, VERSION, WAITING, Walls},
};

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
}

/// What `codebutler __jail` does: reads its spec, restricts itself, runs the
/// command, reports, ends. It never returns and never runs anything unconfined.
pub fn helper_main() -> ! {
    let wires = match sys::take_wires() {
        Ok(wires) => wires,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "cannot take over descriptors: {error}");
            std::process::exit(70)
        }
    };
    if let Err(Failed { step, detail }) = serve(&wires) {
        wires.tell(&Report::SetUp { step, detail });
        std::process::exit(71)
    }
    std::process::exit(0)
}

fn serve(wires: &Wires) -> Result<(), Failed> {
    let waiting = std::env::var(WAITING)
        .ok()
        .and_then(|caller| caller.parse().ok());
    if let Some(caller) = waiting {
        namespaces::leave_host(caller, Network::Loopback)?;
    }
    match read_request()? {
        None => Ok(()),
        Some((Request::Run(spec), rest)) => run(&spec, rest, waiting.is_some(), wires),
        Some((Request::Attack(targets), _)) => attack(&targets, wires),
    }
}

fn run(spec: &Spec, rest: Vec<u8>, outside: bool, wires: &Wires) -> Result<(), Failed> {
    if spec.version != VERSION {
        let detail = "the executable was replaced while the caller was running";
        return Err(Failed::new("understand the spec", detail));
    }
    let stdin = spec.stdin.then_some(rest);
    match &spec.walls {
        Walls::Namespaces { steps, network } => {
            if !outside {
                namespaces::leave_host(spec.caller, *network)?;
            }
            namespaces::enter(spec, steps, *network, stdin, wires)
        }
        Walls::Landlock { read, write } => fallback::enter(spec, read, write, stdin, wires),
    }
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

/// Reads the request, one line, and what follows it. Nothing when the caller
/// went away without one.
fn read_request() -> Result<Option<(Request, Vec<u8>)>, Failed> {
    let mut all = Vec::new();
    std::io::stdin()
        .read_to_end(&mut all)
        .doing("read the spec")?;
    if all.is_empty() {
        return Ok(None);
    }
    let end = all
        .iter()
        .position(|byte| *byte == b'\n')
        .ok_or_else(|| Failed::new("read the spec", "it is not complete"))?;
    let rest = all.split_off(end);
    let request = serde_json::from_slice(&all).doing("understand the spec")?;
    Ok(Some((request, rest[1..].to_vec())))
}
