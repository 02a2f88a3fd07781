//! Grep and Glob against ripgrep on a tree of 60,000 files, in one run.
//!
//! Each round measures both, one right after the other, and the medians are
//! compared: on a shared machine only the ratio means something. Ours runs
//! through the executor; ripgrep's time includes starting its process, which is
//! also measured alone and printed. Needs `rg` in the path. Ends with 1 when one of
//! ours takes longer than the bar.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise and talks"
)]

use std::{
    path::Path,
    process::{Command, ExitCode, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use butler_policy::{Circumstances, Judgement, Overrides};
use butler_protocol::{CallId, Role, ThreadId, ToolCall};
use butler_tools::{Executor, Registry, Surroundings, ToolContext, Workplace};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const FOLDERS: usize = 1200;
const FILES: usize = 50;
const ROUNDS: usize = 9;

/// How many times ripgrep's time ours may take.
const BAR: f64 = 1.3;

fn main() -> ExitCode {
    let scratch = tempfile::tempdir().unwrap();
    grow(scratch.path());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let place = Workplace::open(scratch.path(), Vec::new(), Surroundings::default()).unwrap();
    let context = ToolContext::new(Arc::new(place), CancellationToken::new());
    let executor = Executor::new(Registry::native());
    let ours = |tool: &str, arguments: Value| {
        runtime.block_on(call(&executor, &context, scratch.path(), tool, arguments))
    };
    println!("{} files, medians of {ROUNDS} rounds", FOLDERS * FILES);
    let mut ratios = Vec::new();
    ratios.push(compare(
        "Grep, rare word",
        || ours("Grep", json!({"pattern": "needle_[0-9]+"})),
        || {
            rg(
                scratch.path(),
                &["--hidden", "--line-number", "needle_[0-9]+"],
            )
        },
    ));
    ratios.push(compare(
        "Grep, common word",
        || ours("Grep", json!({"pattern": "value", "mode": "count"})),
        || rg(scratch.path(), &["--hidden", "--count", "value"]),
    ));
    ratios.push(compare(
        "Glob, all files",
        || ours("Glob", json!({"pattern": "**/*"})),
        || rg(scratch.path(), &["--hidden", "--files"]),
    ));
    ratios.push(compare(
        "Glob, by name",
        || ours("Glob", json!({"pattern": "*7.rs"})),
        || rg(scratch.path(), &["--hidden", "--files", "--glob", "*7.rs"]),
    ));
    let started = median((0..ROUNDS).map(|_| timed(|| rg(scratch.path(), &["--version"]))));
    println!("{:<22} {:>8.1} ms", "rg --version alone", ms(started));
    let met = ratios.iter().all(|ratio| *ratio <= BAR);
    println!("bar {BAR}: {}", if met { "met" } else { "MISSED" });
    ExitCode::from(u8::from(!met))
}

/// Sources of a few kilobytes in folders three deep, with some to ignore.
fn grow(root: &Path) {
    std::fs::create_dir(root.join(".git")).unwrap();
    std::fs::write(root.join(".gitignore"), "target/\n*.log\n").unwrap();
    for folder in 0..FOLDERS {
        let path = root.join(format!(
            "area{}/part{}/unit{folder}",
            folder % 8,
            folder % 40
        ));
        std::fs::create_dir_all(&path).unwrap();
        for file in 0..FILES {
            let mut text = String::new();
            for line in 0..60 {
                text.push_str(&format!(
                    "    let value_{line} = compute({folder}, {file}, {line});\n"
                ));
            }
            if folder % 100 == 0 && file == 7 {
                text.push_str(&format!("// needle_{folder}\n"));
            }
            let name = if file % 25 == 24 {
                format!("{file}.log")
            } else {
                format!("file{file}.rs")
            };
            std::fs::write(path.join(name), text).unwrap();
        }
    }
}

async fn call(
    executor: &Executor,
    context: &ToolContext,
    root: &Path,
    tool: &str,
    arguments: Value,
) -> String {
    let thread: ThreadId = "C1/1700000000.000100".parse().unwrap();
    let overrides = Overrides::default();
    let call = ToolCall {
        id: CallId::new("bench"),
        name: tool.to_owned(),
        arguments,
        problem: None,
    };
    let circumstances = Circumstances {
        role: Role::Coder,
        thread: &thread,
        plan_approved: true,
        now_ms: 0,
        approvals: &[],
        overrides: &overrides,
        root: root.to_str().unwrap(),
        home: "/",
        tainted: false,
        known_hosts: &[],
        outside_tools: &[],
        sandboxed: true,
    };
    let Judgement::Run(permit) = executor.judge(&call, &circumstances) else {
        panic!("{tool} was not permitted");
    };
    let outcome = executor.run(&call, permit, context).await;
    assert!(outcome.ok, "{}", outcome.text);
    outcome.text
}

fn rg(root: &Path, args: &[&str]) -> String {
    let done = Command::new("rg")
        .args(args)
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .expect("rg is in the path");
    assert!(done.status.success());
    String::from_utf8(done.stdout).unwrap()
}

fn compare(
    what: &str,
    mut ours: impl FnMut() -> String,
    mut theirs: impl FnMut() -> String,
) -> f64 {
    // Both warm the page cache first, and find the same number of things.
    let first = ours();
    let found: usize = first.split(' ').next().unwrap().parse().unwrap();
    let lines = theirs();
    let expected: usize = if first.contains("matching lines in") && lines.contains(".rs:60") {
        lines
            .lines()
            .map(|line| line.rsplit(':').next().unwrap().parse::<usize>().unwrap())
            .sum()
    } else {
        lines.lines().count()
    };
    assert_eq!(found, expected, "{what}: both find the same");
    let rounds: Vec<(Duration, Duration)> = (0..ROUNDS)
        .map(|_| (timed(&mut ours), timed(&mut theirs)))
        .collect();
    let (us, them) = (
        median(rounds.iter().map(|round| round.0)),
        median(rounds.iter().map(|round| round.1)),
    );
    let ratio = us.as_secs_f64() / them.as_secs_f64();
    println!(
        "{what:<22} {:>8.1} ms, rg {:>8.1} ms, ratio {ratio:.2}",
        ms(us),
        ms(them)
    );
    ratio
}

fn timed(mut work: impl FnMut() -> String) -> Duration {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed()
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
