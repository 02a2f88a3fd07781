//! Settings that change how a team works, each seen at work.

use std::{fs, path::Path};

use butler_testkit::git;
use serde_json::{Value, json};

use crate::team::{Team, says};

fn policy(text: &'static str) -> impl FnOnce(&Path) {
    move |root| {
        fs::write(root.join(".codebutler/policy.json"), text).unwrap();
        git(root, &["add", "--all"]);
        git(root, &["commit", "--quiet", "--message", "policy"]);
        git(root, &["push", "--quiet", "origin", "HEAD:main"]);
    }
}

/// Whether any worktree has this file.
fn built(team: &Team, name: &str) -> bool {
    let branches = team.scratch.root().join(".codebutler/branches");
    let mut all = fs::read_dir(branches).into_iter().flatten().flatten();
    all.any(|one| one.path().join(name).exists())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_plan_gate_off_the_coder_builds_without_a_plan() {
    let scenario = "title: at once\nroles:\n  coder:\n    - call: [{ tool: Write, with: { path: new.txt, content: \"x\" } }]\n    - say: It is written.\n";
    let off = policy("{\"planGate\": false}");
    let team = Team::start_prepared(scenario, |_| (), off).await;
    let root = team.say("@codebutler.coder write new.txt").await;
    team.until(&root, "the answer", |thread| says(thread, "It is written"))
        .await;
    assert!(built(&team, "new.txt"), "{}", team.log(&root, "coder"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_request_to_a_guarded_branch_is_opened_after_a_click_and_not_before() {
    let scenario = include_str!("scenarios/guarded_pull.yaml");
    let asks = policy("{\"require_approval\": {\"create_pr_to\": [\"ma*\"]}}");
    let team = Team::start_prepared(scenario, |_| (), asks).await;
    let root = team.say("say hello").await;
    team.press(&root, "approve").await;
    team.until(&root, "the card", |thread| says(thread, "HandOver"))
        .await;
    let pulls = || {
        team.scratch
            .remote_git(&["for-each-ref", "refs/codebutler/pr"])
    };
    assert_eq!(pulls(), "", "nothing was opened before the click");
    team.press_card(&root, "HandOver", "approve").await;
    team.until(&root, "the pull request", |thread| {
        says(thread, "Is this the greeting you meant?")
    })
    .await;
    assert!(pulls().contains("refs/codebutler/pr/1"), "{}", pulls());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_waits_for_another_as_long_as_the_repo_says() {
    let scenario = "title: a question\nroles:\n  pm:\n    - call: [{ tool: HandOver, with: { kind: question, to: coder, text: \"How?\" } }]\n  coder:\n    - call: [{ tool: AskUser, with: { question: \"Who knows?\" } }]\n";
    let team = Team::start_configured(scenario, |config| {
        config["limits"] = json!({"waitMinutes": 7});
    })
    .await;
    let root = team.say("ask the coder").await;
    team.until(&root, "the question", |thread| says(thread, "Who knows?"))
        .await;
    let log = team.log(&root, "pm");
    let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
    let parked = lines
        .map(|line: Value| line["entry"].clone())
        .find(|entry| entry["record"]["t"] == "parked")
        .unwrap();
    let until = parked["record"]["waiting"]["deadline_ms"].as_i64().unwrap();
    let waits = until - parked["at_ms"].as_i64().unwrap();
    assert!((410_000..=420_000).contains(&waits), "{waits} ms");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_prompt_says_in_which_languages_to_write() {
    let scenario = "title: an answer\nroles:\n  pm:\n    - say: Tudo bem.\n";
    let team = Team::start_configured(scenario, |config| {
        config["language"] = json!({"reply": "Portuguese", "repo": "Spanish"});
    })
    .await;
    let root = team.say("is it fine?").await;
    team.until(&root, "the answer", |thread| says(thread, "Tudo bem"))
        .await;
    let log = team.log(&root, "pm");
    for rule in ["Answer people in Portuguese.", "are in Spanish."] {
        assert!(log.contains(rule), "{rule} is in no prompt");
    }
}
