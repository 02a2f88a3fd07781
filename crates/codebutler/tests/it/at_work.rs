//! An agent in the middle of something: killed or told to end while a command
//! runs, stopped by a person, one of its threads in trouble, more threads than it
//! may work on at once.

use std::{fs, path::Path, time::Duration};

use butler_rehearsal::{Rehearsal, Scenario};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{activation, activation_world::World};

const PATIENCE: Duration = Duration::from_secs(300);

/// A command that runs until a file appears, and a hand-over.
async fn model(command: &str) -> Rehearsal {
    let text = format!(
        r#"
title: a command that takes its time
roles:
  coder:
    - when: {{ interrupted: true }}
      call: [{{ tool: Read, with: {{ path: README.md }} }}]
    - call: [{{ tool: Bash, with: {{ command: "{command}" }} }}]
    - call: [{{ tool: HandOver, with: {{ kind: answer, to: pm, text: "All of it is done." }} }}]
"#
    );
    let scenario = Scenario::parse(&text).unwrap();
    let any = ([127, 0, 0, 1], 0).into();
    let started = Rehearsal::start(any, scenario, true, CancellationToken::new());
    started.await.unwrap()
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let look = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let seen = tokio::time::timeout(PATIENCE, look).await;
    assert!(seen.is_ok(), "{what} did not happen");
}

/// Processes whose command line holds `mark`.
fn running(mark: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|one| fs::read(one.path().join("cmdline")).ok());
    lines
        .filter(|line| String::from_utf8_lossy(line).contains(mark))
        .count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_killed_during_a_command_leaves_no_child_and_does_not_repeat_it() {
    let mark = format!("98765.{}", std::process::id());
    let model = model(&format!("echo started >> starts.log; sleep {mark}")).await;
    let mut world = World::start(&model.base_url(), None).await;
    let root = world.begin(|_| ()).await.unwrap();
    until("the command", || {
        running(&mark) > 0 && world.starts()[0] == 1
    })
    .await;
    world.kill_coder();
    until("the end of its children", || running(&mark) == 0).await;
    world.until_said(&root, "All of it is done.").await;
    assert_eq!((world.starts()[0], running(&mark)), (1, 0));
}

/// The Coder's log without what differs, as (epoch, record).
fn written(world: &World, root: &str) -> Vec<(u64, Value)> {
    let text = fs::read_to_string(world.conversation(root)).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines
        .map(|line: Value| {
            let epoch = line["entry"]["epoch"].as_u64().unwrap();
            (epoch, line["entry"]["record"].clone())
        })
        .collect()
}

fn result_of_bash(log: &[(u64, Value)]) -> usize {
    let intent = log.iter().find(|(_, record)| record["tool"] == "Bash");
    let call = &intent.unwrap().1["call"];
    let is_result =
        |(_, record): &(u64, Value)| record["t"] == "tool_result" && record["call"] == *call;
    log.iter().position(is_result).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_told_to_end_writes_what_its_tool_did_and_begins_nothing_new() {
    let model = model("echo started >> starts.log; until [ -e go ]; do sleep 0.1; done").await;
    let mut world = World::start(&model.base_url(), None).await;
    let root = world.begin(|_| ()).await.unwrap();
    until("the command", || world.starts()[0] == 1).await;
    world.signal_coder("-TERM");
    until("the grace", || {
        world.logs().contains("the tools get a moment")
    })
    .await;
    let_go(world.worktree());
    world.until_said(&root, "All of it is done.").await;
    let log = written(&world, &root);
    let at = result_of_bash(&log);
    let (epoch, record) = &log[at];
    assert_eq!(
        (*epoch, &record["outcome"]["ok"]),
        (1, &Value::Bool(true)),
        "{record}"
    );
    assert!(
        log[at + 1..].iter().all(|(epoch, _)| *epoch == 2),
        "{log:#?}"
    );
    assert_eq!((world.starts()[0], world.deaths()), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_outlives_the_grace_is_ended_and_not_repeated() {
    let mark = format!("98766.{}", std::process::id());
    let model = model(&format!("echo started >> starts.log; sleep {mark}")).await;
    let mut world = World::start(&model.base_url(), None).await;
    let root = world.begin(|_| ()).await.unwrap();
    until("the command", || {
        running(&mark) > 0 && world.starts()[0] == 1
    })
    .await;
    world.signal_coder("-TERM");
    until("the end of its children", || running(&mark) == 0).await;
    world.until_said(&root, "All of it is done.").await;
    let log = written(&world, &root);
    let (epoch, record) = &log[result_of_bash(&log)];
    let text = record["outcome"]["text"].as_str().unwrap();
    assert!(*epoch == 2 && text.starts_with("interrupted"), "{record}");
    assert_eq!(
        (world.starts()[0], running(&mark), world.deaths()),
        (1, 0, 1)
    );
}

/// A child whose heart beats every tenth of a second.
fn heart(mark: &str) -> String {
    format!(
        ": {mark}; echo started >> starts.log; until [ -e go ]; do echo >> beats.log; sleep 0.1; done"
    )
}

fn beats(worktree: &Path) -> usize {
    fs::read_to_string(worktree.join("beats.log")).map_or(0, |text| text.lines().count())
}

/// Measured by the child's own heart, which a busy machine slows down too, and
/// against an ordinary message, which takes the same way to the agent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_reaches_the_child_of_a_running_command_within_a_second() {
    let mark = format!("heart-{}", std::process::id());
    let model = model(&heart(&mark)).await;
    let mut world = World::start(&model.base_url(), None).await;
    for how in ["the word", "the mark"] {
        let root = world.begin(|_| ()).await.unwrap();
        let worktree = world.worktree().to_owned();
        until("a beating heart", || beats(&worktree) > 2).await;
        let before = beats(&worktree);
        world
            .person()
            .reply(&root, "@codebutler.coder take your time")
            .await;
        let heard = || fs::read_to_string(world.conversation(&root)).unwrap();
        until("the message", || heard().contains("take your time")).await;
        let way = beats(&worktree) - before;
        let before = beats(&worktree);
        match how {
            "the word" => world.person().reply(&root, "stop").await,
            _ => world.person().react(&root, "octagonal_sign").await,
        }
        until("the stop", || heard().contains(r#""how":"stopped""#)).await;
        let at_stop = beats(&worktree);
        until("the end of the child", || running(&mark) == 0).await;
        let after = beats(&worktree);
        assert!(
            after - before <= way + 10,
            "{how}: {before} {at_stop} {after}, way {way}"
        );
        let_go(&worktree);
        assert_eq!(beats(&worktree), after, "{how}: the heart still beats");
    }
    assert_eq!(world.deaths(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_one_thread_is_told_there_and_the_others_go_on() {
    let model = activation::model().await;
    let panics = Some("coder/agent.before-tool:2!");
    let mut world = World::start_in(&model.base_url(), panics, None).await;
    let root = world.begin(|_| ()).await.unwrap();
    world
        .until_said(&root, "I had to stop: an internal error")
        .await;
    // The same process answers in another thread, and takes up this one.
    let other = world.begin(|_| ()).await.unwrap();
    world.finish(&other).await.unwrap();
    let said = world.thread(&other).await["messages"].to_string();
    assert!(!said.contains("internal error"), "{said}");
    world.until_said(&root, "Shall I go on?").await;
    assert_eq!(world.deaths(), 0);
}

fn let_go(worktree: &Path) {
    fs::write(worktree.join("go"), "").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_has_to_wait_is_told_its_place_and_its_turn() {
    let model = model("echo started >> starts.log; until [ -e go ]; do sleep 0.1; done").await;
    let mut world = World::start(&model.base_url(), None).await;
    let mut threads = Vec::new();
    // Three may work at once; the fourth and the fifth wait, in this order.
    for number in 0..5 {
        let root = world.begin(|_| ()).await.unwrap();
        let worktree = world.worktree().to_owned();
        if number < 3 {
            until("the command", || worktree.join("starts.log").exists()).await;
        } else {
            let place = format!("number {} in the queue", number - 2);
            world.until_said(&root, &place).await;
        }
        threads.push((root, worktree));
    }
    let calls = |thread: &Value| thread["cost"]["calls"].as_array().map(Vec::len);
    assert_eq!(calls(&world.thread(&threads[4].0).await), Some(0));
    let_go(&threads[0].1);
    world.until_said(&threads[3].0, "this thread's turn").await;
    world
        .until_said(&threads[4].0, "number 1 in the queue")
        .await;
    for (_, worktree) in &threads[1..] {
        let_go(worktree);
    }
    for (root, _) in &threads {
        world.until_said(root, "All of it is done.").await;
    }
    let last = world.thread(&threads[4].0).await;
    let told = last["messages"].to_string().matches("turn").count();
    assert_eq!(told, 1, "one message, edited: {last}");
}
