//! What people say counts at once: what they want remembered is a card without a
//! thought of a model, and a few words decide about all of them.

use serde_json::Value;

use crate::team::{Team, command, says};

const LEARNINGS: &str = include_str!("scenarios/learnings.yaml");
const SLOW_ANSWER: &str = r#"
title: an answer that takes its time
roles:
  pm:
    - call:
        - { tool: Read, with: { path: notes.sh } }
    - delay_ms: 4000
      say: One line then.
    - say: Done.
"#;

fn open(thread: &Value, kind: &str) -> usize {
    let all = thread["decisions"].as_array().into_iter().flatten();
    let open = all.filter(|one| one["asked"]["kind"] == kind && one["decided"].is_null());
    open.count()
}

fn on_main(team: &Team, name: &str) -> String {
    let file = team
        .scratch
        .remote_file("main", &format!(".codebutler/{name}"));
    file.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_wants_remembered_is_a_card_at_once_and_costs_nothing() {
    let team = Team::start(SLOW_ANSWER).await;
    let words = "remember for the coder: when a flag is added, write its test first";
    let root = team.say(words).await;
    let asked = |thread: &Value| open(thread, "learning") == 1;
    let thread = team.until(&root, "the card", asked).await;
    for part in ["coder.md", "when a flag is added", "write its test first"] {
        assert!(says(&thread, part), "{part}: {thread:#}");
    }
    team.reply(&root, "yes").await;
    team.press_card(&root, "Keep what was learned", "merge")
        .await;
    let thread = team
        .until(&root, "the merge", |thread| says(thread, "Merged #1"))
        .await;
    let coder = on_main(&team, "coder.md");
    assert!(
        coder.contains("- **Rule:** write its test first"),
        "{coder}"
    );
    assert!(coder.contains("- **Id:** "), "{coder}");
    let calls = thread["cost"]["calls"].as_array().unwrap();
    assert!(calls.is_empty(), "{calls:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_that_is_given_to_somebody_at_work_is_offered_for_keeping() {
    let team = Team::start(SLOW_ANSWER).await;
    let root = team.say("what does notes.sh do?").await;
    let read = |thread: &Value| thread.to_string().contains("tool_result");
    team.until(&root, "the look at the code", read).await;
    team.reply(&root, "Always answer in one line").await;
    let thread = team
        .until(&root, "the card", |thread| open(thread, "learning") == 1)
        .await;
    assert!(says(&thread, "pm.md") && says(&thread, "In the words of"));
    team.until(&root, "the answer", |thread| says(thread, "One line then"))
        .await;
    assert!(team.log(&root, "pm").contains("Always answer in one line"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_few_words_decide_about_all_of_them() {
    let team = Team::start(LEARNINGS).await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    let all = |thread: &Value| open(thread, "learning") == 3 && open(thread, "merge") == 1;
    let thread = team.until(&root, "the cards", all).await;
    assert!(says(&thread, "Number"), "{thread:#}");
    team.reply(&root, "remove 2").await;
    let two = |thread: &Value| open(thread, "learning") == 2;
    team.until(&root, "one less", two).await;
    team.reply(&root, "add: name a note by its number").await;
    let three = |thread: &Value| open(thread, "learning") == 3;
    team.until(&root, "one more", three).await;
    team.reply(&root, "accept all").await;
    let none = |thread: &Value| open(thread, "learning") == 0;
    team.until(&root, "all decided", none).await;
    team.press(&root, "merge").await;
    team.until(&root, "the report", |thread| says(thread, "What it took"))
        .await;
    assert!(on_main(&team, "coder.md").contains("### Tests first"));
    assert!(on_main(&team, "workflows.md").contains("## polish"));
    let global = on_main(&team, "global.md");
    assert!(!global.contains("Everything is a note"), "{global}");
    assert!(global.contains("### name a note by its number"), "{global}");

    // What is kept has an id; the command shows it, and can try it.
    let root = team.scratch.root();
    butler_testkit::git(root, &["pull", "--quiet", "origin", "main"]);
    let run = |args: &[&str]| {
        let output = command(root, &team.home()).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let shown: Value = serde_json::from_str(&run(&["memory", "--json"])).unwrap();
    let shown = shown.as_array().unwrap();
    let tests = shown.iter().find(|one| one["title"] == "Tests first");
    let id = tests.unwrap()["id"].as_str().unwrap().to_owned();
    assert!(run(&["memory"]).contains("too few threads to tell"));
    let said = run(&["memory", "trial", &id]);
    assert!(said.contains("half of the new threads"), "{said}");
    assert!(run(&["memory"]).contains("on trial"));
    run(&["memory", "trial", &id, "--end"]);
    assert!(!run(&["memory"]).contains("on trial"));
}
