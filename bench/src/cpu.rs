//! Runs a command and says what it used: CPU of itself and of every child it
//! waited for, and its own peak of memory.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

/// What a run used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    pub cpu: Duration,
    pub wall: Duration,
    /// Of the process alone, in KiB.
    pub peak_kib: u64,
}

/// bash's own clock: milliseconds, children included, and no unsafe code here.
const TIMED: &str = r#"TIMEFORMAT="cpu %3U %3S"; time "$@" >"$OUTPUT" 2>"$ERRORS""#;

/// Runs `argv` in `folder` to its end. Its output goes to a file there.
pub(crate) fn run(argv: &[&str], folder: &Path, env: &[(&str, &Path)]) -> Result<Used> {
    let out = tempfile::NamedTempFile::new()?;
    let err = tempfile::NamedTempFile::new()?;
    let begin = Instant::now();
    let mut command = Command::new("bash");
    command
        .args(["--noprofile", "--norc", "-c", TIMED, "bash"])
        .args(argv)
        .current_dir(folder)
        .env("OUTPUT", out.path())
        .env("ERRORS", err.path())
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    for (name, value) in env {
        command.env(name, value);
    }
    let shell = command.spawn().context("bash is needed for its clock")?;
    let pid = shell.id();
    // Ends by itself when the process is gone.
    let watcher = std::thread::spawn(move || peak(pid));
    let output = shell.wait_with_output()?;
    let wall = begin.elapsed();
    let errors = fs::read_to_string(err.path()).unwrap_or_default();
    ensure!(output.status.success(), "{argv:?} failed: {errors}");
    let text = String::from_utf8(output.stderr)?;
    let line = text.lines().last().context("bash told no times")?;
    let seconds: f64 = line
        .split_whitespace()
        .skip(1)
        .filter_map(|figure| figure.parse::<f64>().ok())
        .sum();
    Ok(Used {
        cpu: Duration::from_secs_f64(seconds),
        wall,
        peak_kib: watcher.join().unwrap_or(0),
    })
}

/// The high-water mark of the one child of `shell`, looked at until it ends.
fn peak(shell: u32) -> u64 {
    let children = format!("/proc/{shell}/task/{shell}/children");
    let mut peak = 0;
    while let Ok(list) = fs::read_to_string(&children) {
        let child = list.split_whitespace().next().map(str::to_owned);
        if let Some(kib) = child.and_then(|pid| status(&pid, "VmHWM:")) {
            peak = peak.max(kib);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    peak
}

/// A figure of `/proc/<pid>/status`, in KiB.
fn status(pid: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
