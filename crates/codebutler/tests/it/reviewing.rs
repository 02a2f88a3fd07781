//! The Reviewer's protocol, kept by the runtime: what a change is judged by
//! first, missing tests before logic, numbers that last, three rounds.

use serde_json::{Value, json};

use crate::{
    said::{ended, place, texts},
    team::{Team, says},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_has_two_passes_and_asks_for_tests_before_logic() {
    let team = Team::start_configured(include_str!("scenarios/protocol.yaml"), |config| {
        config["models"]["reviewer"] = json!({
            "model": "full/reviewer", "firstPass": "quick/reviewer", "twoPass": true,
        });
    })
    .await;
    let root = team.say("count the lines").await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    let thread = team.until(&root, "the report", ended).await;
    let said = |words: &str| place(&thread, words);
    // The first pass finds a missing test, and nothing else is talked about.
    let first = said("round 1: asks for changes");
    let back = &texts(&thread)[first];
    assert!(
        back.contains("F1 [test/high] no unit test: a file of one line"),
        "{back}"
    );
    let plan = said("what I review");
    let second = said("round 2: asks for changes");
    assert!(first < plan && plan < second);
    assert!(texts(&thread)[second].contains("F2 [quality/medium] lines.sh:1 no argument hangs"));
    let last = said("this was the last round, so the Lead decides");
    assert!(texts(&thread)[last].contains("F2 [quality/medium] lines.sh:1 without an argument"));
    let commit = team
        .scratch
        .remote_git(&["log", "-1", "--format=%B", "main"]);
    assert!(
        commit.contains("Open concerns") && commit.contains("F2 [quality/medium]"),
        "{commit}"
    );
    the_passes_have_their_models(&thread);
    assert!(says(&thread, "3 review rounds"));
}

/// Until the first pass is clean the quick model answers, then the full one.
fn the_passes_have_their_models(thread: &Value) {
    let records = thread["records"].as_array().unwrap().iter();
    let reviewer = records.filter(|line| line["role"] == "reviewer");
    let records = reviewer.map(|line| &line["entry"]["record"]);
    let models: Vec<&str> = records
        .filter(|record| record["t"] == "assistant")
        .map(|record| record["model"].as_str().unwrap())
        .collect();
    let (quick, full) = ("quick/reviewer", "full/reviewer");
    assert_eq!(models, [quick, quick, quick, quick, full, full, full]);
}
