//! Measures what the README says about the binary: size, start-up, crates.
//! Figures are for people; no test depends on them.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use crate::{Place, say, steps::succeeds};

/// Starts that are timed; the median counts.
const STARTS: usize = 101;

/// Builds the binary as it is packaged and prints the rows of the README's table.
pub(crate) fn measure(place: &Place) -> Result<bool> {
    let build = [
        "cargo",
        "build",
        "--profile",
        "dist",
        "--package",
        "codebutler",
    ];
    if !succeeds(&place.root, &build, &[])? {
        return Ok(false);
    }
    let binary = place.target.join("dist/codebutler");
    let bytes = binary.metadata().context("no packaged binary")?.len();
    let mut times: Vec<Duration> = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let begin = Instant::now();
        let output = Command::new(&binary).arg("--version").output()?;
        times.push(begin.elapsed());
        ensure!(output.status.success(), "--version failed");
    }
    times.sort();
    say::heading("facts");
    say::line("| what | measured |\n| --- | --- |");
    say::line(&format!(
        "| size of the packaged binary | {:.1} MB |",
        bytes as f64 / 1e6
    ));
    say::line(&format!(
        "| `codebutler --version`, process start to end | {:.1} ms (median of {STARTS}) |",
        times[STARTS / 2].as_secs_f64() * 1e3
    ));
    Ok(true)
}
