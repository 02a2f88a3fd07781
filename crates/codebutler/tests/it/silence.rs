//! A thread that nobody speaks in: asked, put to sleep, and awake again.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    said::texts,
    team::{Team, says},
};

const ASKED: &str = "It has been quiet here";

/// The worktree that the Coder has written to.
fn worktree(team: &Team) -> PathBuf {
    let folder = team.scratch.root().join(".codebutler/branches");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.find(|path| path.join("half.txt").exists()).unwrap()
}

fn questions(thread: &Value) -> usize {
    let texts = texts(thread);
    texts.iter().filter(|text| text.contains(ASKED)).count()
}

/// Presses a button under the newest question.
async fn answer(team: &Team, root: &str, verb: &str) {
    let thread = team.thread(root).await.unwrap();
    let messages = thread["messages"].as_array().unwrap().iter().rev();
    let pressed = messages
        .filter_map(|message| {
            let blocks = message["blocks"].to_string();
            let at = blocks.find(&format!("cb-quiet-{verb}-"))?;
            let action = blocks[at..].split('"').next()?.to_owned();
            Some(json!({"channel": team.channel, "ts": message["ts"], "action_id": action}))
        })
        .next();
    let answer = team.post("v1/actions", &pressed.unwrap()).await;
    assert_eq!(answer["ok"], json!(true), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_thread_is_asked_then_sleeps_and_wakes_as_it_was() {
    let scenario = include_str!("scenarios/silence.yaml");
    let team = Team::start_configured(scenario, |config| {
        // Three seconds, and two more.
        config["limits"] = json!({"quietHours": 0.0009, "sleepHours": 0.0006});
    })
    .await;
    let root = team.say("begin something").await;
    team.press(&root, "approve").await;
    team.until(&root, "half of it", |thread| {
        says(thread, "Shall we go on?")
    })
    .await;
    let worktree = worktree(&team);

    team.until(&root, "the question", |thread| questions(thread) == 1)
        .await;
    answer(&team, &root, "keep").await;
    team.until(&root, "the answer", |thread| {
        says(thread, "Kept open by the user")
    })
    .await;
    assert!(worktree.join("half.txt").exists(), "it was kept open");

    let thread = team
        .until(&root, "the sleep", |thread| {
            says(thread, "to sleep. Branch")
        })
        .await;
    assert_eq!(questions(&thread), 2, "asked again, once");
    team.wait("the worktree's sleep", || !worktree.exists())
        .await;

    team.reply(&root, "go on").await;
    team.until(&root, "the rest", |thread| says(thread, "It is all there."))
        .await;
    let half = fs::read_to_string(worktree.join("half.txt")).unwrap();
    assert_eq!(half, "half\n", "what was never committed is back");

    team.until(&root, "one more question", |thread| questions(thread) == 3)
        .await;
    answer(&team, &root, "close").await;
    team.until(&root, "the end", |thread| {
        says(thread, "Closed by the user")
    })
    .await;
    team.wait("the end of the worktree", || !worktree.exists())
        .await;
}

/// What the Coder has written when its work rests survives its folder: somebody deletes it,
/// the process dies, and the next activation goes on with the work. What is half way in a
/// worktree when the team starts is saved before anybody goes on there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_survives_its_folder() {
    let team = Team::start(include_str!("scenarios/silence.yaml")).await;
    let root = team.say("begin something").await;
    team.press(&root, "approve").await;
    team.until(&root, "half of it", |thread| {
        says(thread, "Shall we go on?")
    })
    .await;
    let gone = worktree(&team);
    let git = |args: &[&str]| butler_testkit::git(team.scratch.root(), args);
    let kept = ["for-each-ref", "refs/codebutler/work"];
    team.wait("the kept work", || !git(&kept).is_empty()).await;
    let here = |args: &[&str]| butler_testkit::git(&gone, args);
    let merging = gone.join(here(&["rev-parse", "--git-path", "MERGE_HEAD"]).trim());
    fs::write(&merging, here(&["rev-parse", "HEAD"])).unwrap();
    let saved = ["for-each-ref", "refs/codebutler/saved"];
    let before = git(&saved);
    team.kill("pm");
    team.wait("the saved state", || git(&saved) != before).await;
    fs::remove_file(merging).unwrap();
    fs::remove_dir_all(&gone).unwrap();
    team.kill("coder");
    team.reply(&root, "go on").await;
    team.until(&root, "the rest", |thread| says(thread, "It is all there."))
        .await;
    let half = fs::read_to_string(worktree(&team).join("half.txt")).unwrap();
    assert_eq!(half, "half\n");
    let on_branches = ["log", "--branches", "--remotes", "--format=%s", "--"];
    let on_branches = git(&[&on_branches[..], &["half.txt"]].concat());
    assert_eq!(on_branches.trim(), "", "beside the branch only");
}
