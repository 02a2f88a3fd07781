//! What a turn costs: `codebutler exec` with sandbox and durable log, against a
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
/// Bytes of an answer of the rehearsal model, roughly.
const ANSWER: usize = 900;

/// Runs of floor and agent in turns; of each the one with the least CPU counts:
/// what else the machine does can only add to it. A short run needs more of them to
/// meet a quiet moment.
fn rounds(turns: usize) -> usize {
    (1000 / turns).clamp(5, 40)
}

/// One length of conversation: what we used, the floor, and the CPU of the floor
/// as a script.
struct Run {
    turns: usize,
    ours: Used,
    floor: Used,
    script: Duration,
}

pub(crate) struct Place {
    pub binary: PathBuf,
    pub scratch: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new(binary: &Path) -> Result<Self> {
        Ok(Self {
            binary: binary.to_owned(),
            scratch: tempfile::Builder::new()
                .prefix("codebutler-bench-")
                .tempdir()?,
        })
    }

    fn folder(&self) -> PathBuf {
        self.scratch.path().join("work")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }
}

/// A model server as a process of its own; ended when dropped.
pub(crate) struct Model {
    child: Child,
    pub url: String,
}

impl Model {
    pub(crate) fn start(place: &Place, turns: usize) -> Result<Self> {
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

pub(crate) fn measure(binary: &Path) -> Result<Report> {
    let place = Place::new(binary)?;
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
            "as a script",
            "ratio",
            "exec, wall a turn",
            "floor, wall a turn",
            "peak memory",
        ],
    );
    let mut runs = Vec::new();
    for turns in TURNS {
        let (mut ours, mut low, mut script) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds(turns) {
            low.push(run_floor(&floor, turns, (first, more), &place)?);
            script.push(run_script(&floor, turns, (first, more))?);
            ours.push(run_exec(&place, turns)?);
        }
        let run = Run {
            turns,
            ours: least(ours)?,
            floor: least(low)?,
            script: script.into_iter().min().context("nothing was run")?,
        };
        report.row(run.row());
        runs.push(run);
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

/// The CPU of the few lines of a script that does the same.
fn run_script(address: &str, turns: usize, (first, more): (usize, usize)) -> Result<Duration> {
    let output = Command::new("python3")
        .args(["-c", floor::SCRIPT, address, scenario::COMMAND])
        .args([turns, first, more].map(|figure| figure.to_string()))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("python3 is needed for the floor as a script")?;
    let seconds = String::from_utf8(output.stdout)?.trim().parse()?;
    Ok(Duration::from_secs_f64(seconds))
}

impl Run {
    fn row(&self) -> Vec<String> {
        let each = |time: Duration| format!("{:.2} ms", per_turn(time, self.turns));
        vec![
            self.turns.to_string(),
            each(self.ours.cpu),
            each(self.floor.cpu),
            format!("{:.2}", self.against(self.floor.cpu)),
            each(self.script),
            format!("{:.2}", self.against(self.script)),
            each(self.ours.wall),
            each(self.floor.wall),
            format!("{:.1} MiB", mib(self.ours.peak_kib)),
        ]
    }

    fn against(&self, floor: Duration) -> f64 {
        self.ours.cpu.as_secs_f64() / floor.as_secs_f64()
    }
}

fn per_turn(time: Duration, turns: usize) -> f64 {
    time.as_secs_f64() * 1e3 / turns as f64
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

/// The last stretch against the first: what a turn costs between turn 400 and
/// 1,000, and up to turn 25, each without what the floor's bytes cost there.
fn bars(report: &mut Report, runs: &[Run], start: Duration) {
    let worst = runs.iter().map(|run| run.against(run.floor.cpu));
    let worst = worst.fold(0.0, f64::max);
    report.bar("CPU a turn against the floor, at worst", worst, 3.0, "");
    if let [early, .., before, all] = runs {
        let over = |ours: Duration, low: Duration, turns: usize| {
            (ours.as_secs_f64() - low.as_secs_f64()) * 1e3 / turns as f64
        };
        let late = over(
            all.ours.cpu.saturating_sub(before.ours.cpu),
            all.floor.cpu.saturating_sub(before.floor.cpu),
            all.turns - before.turns,
        );
        let first = over(early.ours.cpu, early.floor.cpu, early.turns);
        let what = format!(
            "CPU above the floor a turn after turn {}, against up to turn {}",
            before.turns, early.turns
        );
        report.bar(&what, late / first, 1.0, "x");
    }
    let peak = runs.iter().map(|run| run.ours.peak_kib).max();
    report.bar("peak memory", mib(peak.unwrap_or(0)), 40.0, " MiB");
    let start = start.as_secs_f64() * 1e3;
    report.bar("start to the first request (median)", start, 50.0, " ms");
}
