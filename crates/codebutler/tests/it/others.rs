//! Several threads at once, other hosts, other workflows.

use serde_json::Value;

use crate::team::{Team, says, story};

const STORY: &str = include_str!("../../demo/scenarios/json-flag.yaml");

fn ended(thread: &Value) -> bool {
    says(thread, "What it took")
}

/// Two threads change the same file at once: the second plan names the first,
/// both are merged, and the one that was open is told when the other landed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_threads_on_the_same_file_both_finish_and_the_second_is_warned() {
    let team = Team::start(include_str!("scenarios/both.yaml")).await;
    let first = team.say("say hello at the top").await;
    team.press(&first, "approve").await;
    team.until(&first, "the first merge card", |thread| {
        says(thread, "Ready to merge")
    })
    .await;
    let second = team.say("say goodbye at the bottom").await;
    let thread = team
        .until(&second, "the second plan", |thread| {
            says(thread, "Say goodbye")
        })
        .await;
    assert!(
        says(&thread, "Others are at work on these files"),
        "{:#?}",
        story(&thread)
    );
    assert!(says(&thread, "“Say hello”"), "{thread:#}");
    team.press(&second, "approve").await;
    team.until(&second, "the second merge card", |thread| {
        says(thread, "Ready to merge")
    })
    .await;
    team.press(&first, "merge").await;
    team.until(&first, "the first merge", ended).await;
    team.until(&second, "the notice", |thread| {
        says(thread, "was merged and changed `README.md`")
    })
    .await;
    team.press(&second, "merge").await;
    team.until(&second, "the second merge", ended).await;
    let readme = team.scratch.remote_file("main", "README.md").unwrap();
    assert!(
        readme.starts_with("Hello.\n") && readme.ends_with("Goodbye.\n"),
        "{readme}"
    );
}

/// Both threads write the same line. The second one's merge is refused by git; the
/// Coder finds both sides in its worktree, settles them, and what follows is the
/// usual way: checks, review, a new card, a merge.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conflict_is_settled_by_the_team_and_merged() {
    let team = Team::start(include_str!("scenarios/conflict.yaml")).await;
    let card = |thread: &Value| says(thread, "Ready to merge");
    let mut roots = Vec::new();
    for words in ["please greet first", "now take leave"] {
        let root = team.say(words).await;
        team.press(&root, "approve").await;
        team.until(&root, "the merge card", card).await;
        roots.push(root);
    }
    team.press(&roots[0], "merge").await;
    team.until(&roots[0], "the first merge", ended).await;
    team.press(&roots[1], "merge").await;
    let again = |thread: &Value| says(thread, "say goodbye too");
    let thread = team.until(&roots[1], "a new card", again).await;
    let evidence = "1 file changed, 1 line added, 0 removed: `greeting.txt`";
    assert!(says(&thread, evidence), "{thread:#}");
    team.press_card(&roots[1], "say goodbye too", "merge").await;
    team.until(&roots[1], "the second merge", ended).await;
    let greeting = team.scratch.remote_file("main", "greeting.txt");
    assert_eq!(greeting.as_deref(), Some("hello\ngoodbye\n"));
    assert_eq!(team.scratch.remote_branches(), ["main"]);
    assert_eq!(team.model.left_over(), Vec::<String>::new());
}

/// The whole story with the real `gh` and a stand-in for GitHub.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_becomes_a_merge_on_github() {
    if std::process::Command::new("gh")
        .arg("--version")
        .output()
        .is_err()
    {
        assert!(
            std::env::var_os("CODEBUTLER_REQUIRE_GH").is_none(),
            "gh is required here"
        );
        eprintln!("SKIPPED: gh is not installed");
        return;
    }
    let (team, github) = Team::start_on_github(STORY).await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    team.until(&root, "the merge", ended).await;
    assert!(github.count("POST", "/pulls") >= 1);
    assert_eq!(github.count("PUT", "/pulls/1/merge"), 1);
    let mut notes = github.notes(1);
    assert_eq!(notes.len(), 1, "the verdict stands on the pull request");
    assert_eq!(github.comments(1), 2, "its finding stands at its line too");
    let statuses = github.statuses();
    let receipt = "success test passed (5 passed, 0 failed, 0 skipped)";
    assert_eq!(statuses, [receipt], "our receipt stands at the commit");
    let note = notes.remove(0);
    assert!(note.starts_with("Review of #1"), "{note}");
    assert!(
        !note.contains("@codebutler"),
        "a stranger is called: {note}"
    );
    let program = team.scratch.remote_file("main", "notes.sh").unwrap();
    assert!(program.contains("list_json()"));
    assert_eq!(team.scratch.remote_branches(), ["main"]);
}

/// A refactor with a Reviewer who never agrees: after three rounds the Lead
/// decides, and what stays open is in the pull request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_three_rounds_the_lead_decides_and_open_concerns_are_kept() {
    let team = Team::start(include_str!("scenarios/stubborn.yaml")).await;
    let root = team.say("refactor: name the numbers").await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    let thread = team.until(&root, "the report", ended).await;
    assert!(says(
        &thread,
        "this was the last round, so the Lead decides"
    ));
    assert!(says(&thread, "3 review rounds"), "{:#?}", story(&thread));
    let commit = team
        .scratch
        .remote_git(&["log", "-1", "--format=%B", "main"]);
    assert!(
        commit.contains("Open concerns") && commit.contains("the name is still short"),
        "{commit}"
    );
}

/// The Coder's model follows the plan's complexity, and moves to the strongest
/// one when the checks keep failing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_coder_gets_the_model_of_the_plan_and_a_stronger_one_when_stuck() {
    let team = Team::start_configured(include_str!("scenarios/escalation.yaml"), |config| {
        config["models"]["coder"] = serde_json::json!({
            "simple": "small/coder", "medium": "middle/coder", "complex": "strong/coder",
        });
    })
    .await;
    let root = team.say("make it green").await;
    let thread = team
        .until(&root, "the plan", |thread| says(thread, "Make it green"))
        .await;
    assert!(
        says(&thread, "Built by: ") && says(&thread, "small/coder"),
        "{thread:#}"
    );
    team.press(&root, "approve").await;
    team.until(&root, "the question", |thread| says(thread, "It stays red"))
        .await;
    let log = team.log(&root, "coder");
    let first = log.find("\"model\":\"small/coder\"").unwrap();
    let second = log.find("\"model\":\"strong/coder\"").unwrap();
    assert!(first < second && log.contains("the checks keep failing"));
}

/// Words that no story of the demo knows get a friendly answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn off_the_script_the_demo_names_its_stories() {
    let scenarios = crate::demo_talk::stories();
    let requests: Vec<String> = scenarios
        .iter()
        .map(|one| one.request().to_owned())
        .collect();
    let team = Team::start_playing(scenarios, false).await;
    let root = team.say("write me a poem").await;
    let thread = team
        .until(&root, "an answer", |thread| {
            says(thread, "knows these stories")
        })
        .await;
    for request in &requests {
        assert!(says(&thread, request), "{request}");
    }
    assert!(says(&thread, "codebutler init"));
}
