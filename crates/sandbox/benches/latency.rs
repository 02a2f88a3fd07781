//! What the sandbox costs: `bash -c 'exit 0'` plain and confined, in turns, in one
//! run. `cargo bench -p butler-sandbox` prints medians and what was added, and ends with
//! 1 when the namespaces add more than the bars.
//!
//! A model thinks between two commands, and that is when the kernel clears away
//! what the last one had; so most figures are taken after a short rest, and one
//! without.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise and prints its figures"
)]

use std::{
    process::{ExitCode, Stdio},
    time::{Duration, Instant},
};

use butler_sandbox::{Profile, Sandbox, shell};
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 200;
/// What a model needs at the very least for a turn.
const REST: Duration = Duration::from_millis(25);

/// What they may add when they were built before the command came.
const AHEAD: Duration = Duration::from_millis(1);
/// And when they are built for it.
const BUILT: Duration = Duration::from_millis(3);

#[tokio::main]
async fn main() -> ExitCode {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_butler-sandbox-helper").into()).unwrap();
    let weaker = sandbox.clone().without_namespaces("bench").unwrap();
    let mut profile = Profile::new(folder.path());
    for name in [".git", ".codebutler"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        profile.protected.push(folder.path().join(name));
    }
    let mut missing = profile.clone();
    missing
        .protected
        .push(folder.path().join(".vscode/tasks.json"));
    let (mut plain, mut confined_times, mut again) = (Vec::new(), Vec::new(), Vec::new());
    let (mut covered, mut landlock, mut at_once) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        tokio::time::sleep(REST).await;
        plain.push(bare().await);
        tokio::time::sleep(REST).await;
        // The last one in namespaces saw other places, so its cell is built now.
        confined_times.push(confined(&sandbox, &profile).await);
        tokio::time::sleep(REST).await;
        again.push(confined(&sandbox, &profile).await);
        at_once.push(confined(&sandbox, &profile).await);
        tokio::time::sleep(REST).await;
        covered.push(confined(&sandbox, &missing).await);
        tokio::time::sleep(REST).await;
        landlock.push(confined(&weaker, &profile).await);
    }
    println!(
        "`bash -c 'exit 0'`, {ROUNDS} rounds in turns, {:?}",
        sandbox.strength()
    );
    let base = report("plain spawn", plain, None);
    let built = report("built then", confined_times, Some(base)).saturating_sub(base);
    report("one missing", covered, Some(base));
    let ahead = report("built ahead", again, Some(base)).saturating_sub(base);
    report("without rest", at_once, Some(base));
    report("landlock only", landlock, Some(base));
    cpu(&sandbox, &profile).await;
    let met =
        [("built ahead", ahead, AHEAD), ("built then", built, BUILT)].map(|(name, added, bar)| {
            let met = added < bar;
            println!(
                "bar {bar:?} added, {name}: {}",
                if met { "met" } else { "MISSED" }
            );
            met
        });
    ExitCode::from(u8::from(met.contains(&false)))
}

/// Processor time of a command: of this process, the helper and all below it, by
/// the kernel's count. Taken in turns, because other programs disturb it.
async fn cpu(sandbox: &Sandbox, profile: &Profile) {
    let (mut plain, mut confined_times, mut quiet) = (Vec::new(), Vec::new(), Vec::new());
    // What was used before is not these commands'.
    butler_sandbox::end_helpers();
    for _ in 0..BATCHES {
        let before = used();
        for _ in 0..BATCH {
            bare().await;
        }
        let between = used();
        for _ in 0..BATCH {
            confined(sandbox, profile).await;
        }
        // Waited for, so that its time counts; started again, which counts too.
        butler_sandbox::end_helpers();
        plain.push(between - before);
        confined_times.push(used() - between);
        let before = used();
        for _ in 0..BATCH {
            confined_with(sandbox, profile, false).await;
        }
        butler_sandbox::end_helpers();
        quiet.push(used() - before);
    }
    println!("processor time, {BATCHES} batches of {BATCH} commands in turns");
    let base = report("plain spawn", plain, None);
    report("confined", confined_times, Some(base));
    report("no sockets", quiet, Some(base));
}

const BATCHES: usize = 7;
const BATCH: u32 = 100;

/// What this process and all that it waited for have used, per command of a batch.
fn used() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, figures) = stat.rsplit_once(") ").unwrap();
    let figures = figures.split(' ').skip(11).take(4);
    let ticks: u32 = figures.map(|figure| figure.parse::<u32>().unwrap()).sum();
    // A hundred in a second on every Linux.
    Duration::from_millis(10) * ticks / BATCH
}

async fn bare() -> Duration {
    let since = Instant::now();
    let status = tokio::process::Command::new("/bin/bash")
        .args(["--noprofile", "--norc", "-c", "exit 0"])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .await;
    assert!(status.unwrap().success());
    since.elapsed()
}

async fn confined(sandbox: &Sandbox, profile: &Profile) -> Duration {
    confined_with(sandbox, profile, true).await
}

async fn confined_with(sandbox: &Sandbox, profile: &Profile, sockets: bool) -> Duration {
    let mut command = shell("exit 0", &profile.root);
    command.sockets = sockets;
    let since = Instant::now();
    let exit = sandbox
        .run(&command, profile, &CancellationToken::new(), None)
        .await;
    assert!(exit.unwrap().success());
    since.elapsed()
}

fn report(name: &str, mut times: Vec<Duration>, base: Option<Duration>) -> Duration {
    times.sort();
    let (median, slow) = (times[times.len() / 2], times[times.len() * 9 / 10]);
    let best = times[times.len() / 10].as_secs_f64() * 1e3;
    let added = base.map_or(String::new(), |base| {
        format!(
            ", added {:.2} ms",
            (median.saturating_sub(base)).as_secs_f64() * 1e3
        )
    });
    let (m, s) = (median.as_secs_f64() * 1e3, slow.as_secs_f64() * 1e3);
    println!("{name:>14}: p10 {best:.2} ms, median {m:.2} ms, p90 {s:.2} ms{added}");
    median
}
