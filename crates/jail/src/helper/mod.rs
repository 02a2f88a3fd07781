//! The helper: `codebutler __jail`, one process per command.
//!
//! It is single-threaded, so it may fork and restrict itself freely. It is
//! started with the spec as standard input, the command's output as standard
//! output and the report line as standard error, and with nothing else: an empty
//! environment and no other descriptor.

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

use crate::spec::{Report, Spec, VERSION, Walls};

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
    let result = read_spec().and_then(|(spec, stdin)| match &spec.walls {
        Walls::Namespaces { steps, network } => {
            namespaces::enter(&spec, steps, *network, stdin, &wires)
        }
        Walls::Landlock { read, write } => fallback::enter(&spec, read, write, stdin, &wires),
    });
    if let Err(Failed { step, detail }) = result {
        wires.tell(&Report::SetUp { step, detail });
        std::process::exit(71)
    }
    std::process::exit(0)
}

/// Reads the spec and leaves only the command's own bytes behind.
fn read_spec() -> Result<(Spec, Option<Vec<u8>>), Failed> {
    let mut all = Vec::new();
    std::io::stdin()
        .read_to_end(&mut all)
        .doing("read the spec")?;
    let end = all
        .iter()
        .position(|byte| *byte == b'\n')
        .ok_or_else(|| Failed::new("read the spec", "it is not complete"))?;
    let spec: Spec = serde_json::from_slice(&all[..end]).doing("understand the spec")?;
    if spec.version != VERSION {
        let detail = "the executable was replaced while the caller was running";
        return Err(Failed::new("understand the spec", detail));
    }
    let stdin = spec.stdin.map(|length| {
        all.split_off(end + 1)
            .into_iter()
            .take(length as usize)
            .collect()
    });
    Ok((spec, stdin))
}
