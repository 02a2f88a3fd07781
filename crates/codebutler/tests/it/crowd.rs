//! Many threads that wake at once are worked off in their order, so many at a
//! time; as many that sleep cost nothing. More of them in the nightly run than
//! where every run has to pay for it.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use butler_rehearsal::{Rehearsal, Scenario};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{activation_world::World, chaos::nightly};

fn crowd() -> usize {
    if nightly() { 1000 } else { 150 }
}

/// As configured where nobody says otherwise.
const AT_ONCE: usize = 3;
const PATIENCE: Duration = Duration::from_secs(3600);
/// How far a thread may be overtaken: they come in one by one, and what each has
/// to read before it queues takes one longer than another.
const OVERTAKEN: usize = 50;
/// For how long a sleeping process is watched.
const WATCHED: Duration = Duration::from_secs(3);

const ANSWER: &str = "
title: everybody gets an answer
roles:
  coder:
    - say: It is so.
";

/// When a thread got its slot and when it gave it back, in milliseconds.
fn worked(world: &World, root: &str) -> Option<(i64, i64)> {
    let text = fs::read_to_string(world.conversation(root)).ok()?;
    let lines = text.lines().map(serde_json::from_str::<Value>);
    let entries: Vec<Value> = lines.map_while(Result::ok).collect();
    let at = |kind: &str| {
        let entries = entries.iter().map(|line| &line["entry"]);
        let mut found = entries.filter(|entry| entry["record"]["t"] == kind);
        found.next().and_then(|entry| entry["at_ms"].as_i64())
    };
    Some((at("reserved")?, at("activation_ended")?))
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let look = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let seen = tokio::time::timeout(PATIENCE, look).await;
    assert!(seen.is_ok(), "{what} did not happen");
}

/// Threads that were at work at the same moment, at most.
fn at_once(spans: &[(i64, i64)]) -> usize {
    let ends = spans.iter().map(|(_, end)| (*end, 0));
    let starts = spans.iter().map(|(start, _)| (*start, 1));
    // Whoever ends in the same millisecond has freed one.
    let mut moments: Vec<(i64, i32)> = ends.chain(starts).collect();
    moments.sort_unstable();
    let (mut now, mut most) = (0usize, 0);
    for (_, kind) in moments {
        if kind == 0 {
            now = now.saturating_sub(1);
        } else {
            now += 1;
            most = most.max(now);
        }
    }
    most
}

/// Memory of its own in KiB and processor time in ticks. Pages of the program are
/// left out: how many they count for depends on who else runs it.
fn usage(pid: u32) -> (i64, i64) {
    let memory = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let pss = memory
        .lines()
        .find_map(|line| line.strip_prefix("Pss_Anon:"));
    let pss = pss.unwrap().trim().trim_end_matches(" kB");
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<i64>().unwrap();
    (pss.parse().unwrap(), ticks(11) + ticks(12))
}

/// A fresh Coder that has nothing to do: its memory, and what it used while it
/// was watched.
async fn asleep(world: &World) -> (i64, i64) {
    let (before, lives) = (world.coder(), world.lives());
    world.kill_coder();
    until("another life", || {
        world.coder() != before && world.lives() > lives
    })
    .await;
    let (_, start) = usage(world.coder());
    tokio::time::sleep(WATCHED).await;
    let (memory, end) = usage(world.coder());
    (memory, end - start)
}

/// Threads are taken up for a day after their last line; these are older.
fn grow_old(threads: &Path) {
    let old = SystemTime::now() - Duration::from_secs(2 * 24 * 60 * 60);
    for thread in fs::read_dir(threads).unwrap().flatten() {
        let log = thread.path().join("conversations/coder.jsonl");
        if let Ok(file) = fs::File::options().append(true).open(log) {
            file.set_modified(old).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_of_threads_is_worked_off_in_order_and_costs_nothing_asleep() {
    let count = crowd();
    let scenario = Scenario::parse(ANSWER).unwrap();
    let any = ([127, 0, 0, 1], 0).into();
    let model = Rehearsal::start(any, scenario, true, CancellationToken::new());
    let model = model.await.unwrap();
    let gate = tempfile::tempdir().unwrap();
    let open = gate.path().join("open");
    let waits = format!("until [ -e {} ]; do sleep 0.05; done", open.display());
    let world = World::start_in(&model.base_url(), None, Some(&waits)).await;
    let mut roots = Vec::new();
    for number in 0..count {
        let words = format!("@codebutler.coder is it so, {number}?");
        roots.push(world.person().open(&words).await);
    }
    fs::write(&open, "").unwrap();
    let mut spans: Vec<(i64, i64)> = Vec::new();
    until("the last answer", || {
        while let Some(span) = roots.get(spans.len()).and_then(|root| worked(&world, root)) {
            spans.push(span);
        }
        spans.len() == count
    })
    .await;
    assert!(at_once(&spans) <= AT_ONCE, "{}", at_once(&spans));
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|number| spans[*number].0);
    let overtaken = order
        .iter()
        .enumerate()
        .map(|(at, number)| at.abs_diff(*number));
    let overtaken = overtaken.max().unwrap();
    println!(
        "{count} threads, {} at once, overtaken by {overtaken}",
        at_once(&spans)
    );
    assert!(overtaken <= OVERTAKEN, "overtaken by {overtaken}");

    grow_old(&world.threads());
    let many = asleep(&world).await;
    let threads = world.threads();
    fs::rename(&threads, threads.with_extension("away")).unwrap();
    let none = asleep(&world).await;
    println!("asleep, KiB and ticks: {many:?} with {count} threads, {none:?} with none");
    assert!(many.0 - none.0 < 1024, "memory: {many:?} {none:?}");
    assert!(many.1 - none.1 <= 2, "processor: {many:?} {none:?}");
}
