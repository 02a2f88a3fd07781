//! What a turn costs: `codebutler exec` with jail and durable log, against a
//! rehearsal model that answers at once, beside the floor, in one run.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result};

use crate::{
    cpu::{self, Used},
    floor, probe, scenario,
    table::Report,
};

const TURNS: [usize; 4] = [25, 100, 400, 1000];
/// Starts that are timed; the median counts.
const STARTS: usize = 21;
/// Runs of floor and agent in turns; of each the one with the least CPU counts:
/// what else the machine does can only add to it.
const ROUNDS: usize = 3;
/// Bytes of an answer of the rehearsal model, roughly.
const ANSWER: usize = 900;

struct Place {
    binary: PathBuf,
    scratch: tempfile::TempDir,
}

impl Place {
    fn folder(&self) -> PathBuf {
        self.scratch.path().join("work")
    }

    fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }
}

/// A model server as a process of its own; ended when dropped.
struct Model {
    child: Child,
    url: String,
}

impl Model {
    fn start(place: &Place, turns: usize) -> Result<Self> {
        let file = place.scratch.path().join(format!("{turns}.yaml"));
        std::fs::write(&file, scenario::of(turns))?;
        let mut child = Command::new(&place.binary)
            .args(["rehearsal", "serve"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().context("no output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let url = line.split_whitespace().nth(1).context("no address")?;
        let url = url.to_owned();
        Ok(Self { child, url })
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn measure(binary: &Path) -> Result<Report> {
    let place = Place {
        binary: binary.to_owned(),
        scratch: tempfile::Builder::new()
            .prefix("codebutler-bench-")
            .tempdir()?,
    };
    std::fs::create_dir(place.folder())?;
    let (start, first, more) = starts(&place)?;
    let floor = floor::serve(ANSWER)?;
    let mut report = Report::new(
        "What a turn costs",
        &[
            "turns",
            "exec, CPU a turn",
            "floor, CPU a turn",
            "ratio",
            "exec, wall a turn",
            "floor, wall a turn",
            "peak memory",
        ],
    );
    let mut runs = Vec::new();
    for turns in TURNS {
        let (mut ours, mut low) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            low.push(run_floor(&floor, turns, (first, more), &place)?);
            ours.push(run_exec(&place, turns)?);
        }
        let (ours, low) = (least(ours)?, least(low)?);
        report.row(row(turns, ours, low));
        runs.push((turns, ours, low));
    }
    bars(&mut report, &runs, start);
    Ok(report)
}

fn least(runs: Vec<Used>) -> Result<Used> {
    let least = runs.into_iter().min_by_key(|run| run.cpu);
    least.context("nothing was run")
}

fn starts(place: &Place) -> Result<(Duration, usize, usize)> {
    let mut seen = Vec::new();
    for _ in 0..STARTS {
        seen.push(probe::once(&place.binary, &place.folder(), &place.home())?);
    }
    seen.sort_by_key(|one| one.start);
    let middle = seen[STARTS / 2];
    Ok((middle.start, middle.first, middle.more))
}

fn run_exec(place: &Place, turns: usize) -> Result<Used> {
    let model = Model::start(place, turns)?;
    let binary = place.binary.display().to_string();
    let most = turns.to_string();
    let argv = [
        &binary,
        "exec",
        "--model-url",
        &model.url,
        "--model",
        "rehearsal/coder",
        "--price",
        "0/0",
        "--window",
        "100000000",
        "--max-turns",
        &most,
        "count",
    ];
    cpu::run(
        &argv,
        &place.folder(),
        &[("CODEBUTLER_HOME", &place.home())],
    )
}

fn run_floor(
    address: &str,
    turns: usize,
    (first, more): (usize, usize),
    place: &Place,
) -> Result<Used> {
    let own = std::env::current_exe()?.display().to_string();
    let (turns, first, more) = (turns.to_string(), first.to_string(), more.to_string());
    let argv = [own.as_str(), "__floor", address, &turns, &first, &more];
    cpu::run(&argv, &place.folder(), &[])
}

fn row(turns: usize, ours: Used, low: Used) -> Vec<String> {
    let each = |time: Duration| format!("{:.2} ms", per_turn(time, turns));
    vec![
        turns.to_string(),
        each(ours.cpu),
        each(low.cpu),
        format!("{:.2}", ours.cpu.as_secs_f64() / low.cpu.as_secs_f64()),
        each(ours.wall),
        each(low.wall),
        format!("{:.1} MiB", mib(ours.peak_kib)),
    ]
}

fn per_turn(time: Duration, turns: usize) -> f64 {
    time.as_secs_f64() * 1e3 / turns as f64
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

/// The last stretch against the first: what a turn costs between turn 400 and
/// 1,000, and up to turn 25, each without what the floor's bytes cost there.
fn bars(report: &mut Report, runs: &[(usize, Used, Used)], start: Duration) {
    let worst = runs
        .iter()
        .map(|(_, ours, low)| ours.cpu.as_secs_f64() / low.cpu.as_secs_f64());
    let worst = worst.fold(0.0, f64::max);
    report.bar("CPU a turn against the floor, at worst", worst, 3.0, "");
    if let [
        (early, ours, low),
        ..,
        (before, ours_before, low_before),
        (all, ours_all, low_all),
    ] = runs
    {
        let over = |ours: Duration, low: Duration, turns: usize| {
            (ours.as_secs_f64() - low.as_secs_f64()) * 1e3 / turns as f64
        };
        let late = over(
            ours_all.cpu.saturating_sub(ours_before.cpu),
            low_all.cpu.saturating_sub(low_before.cpu),
            all - before,
        );
        let early = over(ours.cpu, low.cpu, *early);
        let what = format!("CPU above the floor a turn after turn {before}, against up to turn 25");
        report.bar(&what, late / early, 1.0, "x");
    }
    let peak = runs.iter().map(|(_, ours, _)| ours.peak_kib).max();
    report.bar("peak memory", mib(peak.unwrap_or(0)), 40.0, " MiB");
    let start = start.as_secs_f64() * 1e3;
    report.bar("start to the first request (median)", start, 50.0, " ms");
}
