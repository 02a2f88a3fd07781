//! Benches on the built binary, each against a floor or a bar in the same run:
//! `turns` (what a turn of `codebutler exec` costs), `idle` (what a team
//! that waits holds in memory), `pages` (what open pages cost the hub), `company` (what 200 sleeping teams cost),
//! `load` (what a hub carries, on both engines), `servers` (what MCP servers cost that nobody
//! uses) and `threads` (what late threads cost against early ones).
//! Figures are printed as a table and written to a
//! file; a bar that is not met is said and makes the exit code 1.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod company;
mod cpu;
mod floor;
mod idle;
mod load;
mod pages;
mod probe;
mod scenario;
mod servers;
mod table;
mod threads;
mod turns;

use std::{env, path::PathBuf, process::ExitCode};

use anyhow::{Result, bail};

const HELP: &str = "\
Usage: butler-bench <bench> --binary <codebutler> [--out <file>] [--quick]

  turns   CPU, memory and start of `codebutler exec` at 25, 100, 400 and 1,000 turns
  idle    memory of a hub and six agents that wait
  pages   a thread of 2,000 messages, and 200 open pages at one hub
  company 200 repositories whose 1,200 agents sleep, and how long waking takes
  load    what a hub carries, in a file and in PostgreSQL; `--quick` for a small one
  servers what five configured MCP servers cost before anybody uses them
  threads 120 scripted threads in a row: the late ones against the early ones
";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error:#}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn run(words: &[String]) -> Result<bool> {
    let flag = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1).cloned()
    };
    let binary = || -> Result<PathBuf> {
        match flag("--binary") {
            Some(path) => Ok(PathBuf::from(path).canonicalize()?),
            None => bail!("--binary is missing"),
        }
    };
    let report = match words.first().map(String::as_str) {
        // What the floor runs; a process of its own, so that it is measured alike.
        Some("__floor") => return floor::run(&words[1..]).map(|()| true),
        Some("turns") => turns::measure(&binary()?)?,
        Some("idle") => idle::measure(&binary()?)?,
        Some("pages") => pages::measure(&binary()?)?,
        Some("company") => company::measure(&binary()?)?,
        Some("load") => load::measure(&binary()?, words.iter().any(|word| word == "--quick"))?,
        Some("servers") => servers::measure(&binary()?)?,
        Some("threads") => threads::measure(&binary()?)?,
        _ => bail!("which bench?"),
    };
    let text = report.render();
    println!("{text}");
    if let Some(file) = flag("--out") {
        std::fs::write(file, &text)?;
    }
    Ok(report.met())
}
