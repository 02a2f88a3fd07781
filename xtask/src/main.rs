//! The daily verbs, the same at home and in CI: `cargo xtask test`, `lint`, `setup`.
//!
//! `test` is the gate: formatting, lints, licences, every test. It sees to the
//! outside parts that tests need, installs them where it can and names them
//! where it cannot. After a first `setup` it needs no network.

mod bench;
mod dist;
mod facts;
mod gate;
mod licences;
#[cfg(test)]
mod links;
mod nightly;
mod parts;
mod say;
mod spdx;
mod steps;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;

const HELP: &str = "\
The daily verbs of this workspace

Usage: cargo xtask <verb>

  test           formatting, lints, licences and every test; what CI runs
  test --quick   the same with unit tests only
  test --real-model
                 a real small model on a real server answers through our client
  test --real-slack
                 one story in a real workspace, with SLACK_BOT_TOKEN and SLACK_APP_TOKEN
  nightly        every test at its full size, and the ones that take minutes
  lint           formatting, lints and licences
  facts          build the packaged binary and measure what the README says about it
  bench [name]   build the packaged binary and run a bench of bench/, or all: turns, idle, pages, company, load, servers
  bench load --quick
                 the same with few subscribers and messages
  dist           build the packages: archive, .deb, checksums, in target/dist
  dist --binary FILE
                 package a binary that is already built
  setup          fetch crates and the outside parts that tests need
";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => run(|place| gate::test(place, gate::Depth::Full)),
        ["test", "--quick"] => run(|place| gate::test(place, gate::Depth::Quick)),
        ["test", "--real-model"] => run(gate::real_model),
        ["test", "--real-slack"] => run(gate::real_slack),
        ["nightly"] => run(nightly::run),
        ["lint"] => run(gate::lint),
        ["setup"] => run(gate::setup),
        ["facts"] => run(facts::measure),
        ["dist"] => run(|place| dist::run(place, None)),
        ["dist", "--binary", file] => run(|place| dist::run(place, Some(file))),
        ["bench"] => run(|place| bench::run(place, None, false)),
        ["bench", name] if bench::BENCHES.contains(name) => {
            run(|place| bench::run(place, Some(name), false))
        }
        ["bench", "load", "--quick"] => run(|place| bench::run(place, Some("load"), true)),
        ["help" | "--help" | "-h"] => {
            say::line(HELP);
            Ok(true)
        }
        _ => {
            say::line(HELP);
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say::line(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Where the work happens, and by which rules.
#[derive(Debug)]
pub struct Place {
    /// The root of the workspace.
    pub root: PathBuf,
    /// Where cargo builds.
    pub target: PathBuf,
    /// Outside parts that are not system packages live here.
    pub parts: PathBuf,
    /// Whether this is CI, where nothing may be skipped.
    pub ci: bool,
}

fn run(verb: impl Fn(&Place) -> Result<bool>) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."));
    let target = match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root.join(dir),
        None => root.join("target"),
    };
    verb(&Place {
        root: root.to_owned(),
        parts: target.join("parts"),
        target,
        ci: matches!(env::var("CI").as_deref(), Ok("true" | "1")),
    })
}
