//! A person's click, and nothing else, lets a destructive command run; once,
//! and exactly that command. The model does not say it again: it gets the result,
//! or the reason why not.

use serde_json::Value;

use crate::team::{Team, says, story};

const SCENARIO: &str = include_str!("scenarios/approval.yaml");

fn cards(thread: &Value) -> usize {
    let asked = |line: &&String| line.starts_with("codebutler.coder: May I run this?");
    story(thread).iter().filter(asked).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destructive_command_runs_after_the_click_and_not_without() {
    let team = Team::start(SCENARIO).await;
    let root = team.say("the old build is in the way").await;
    team.press(&root, "approve").await;
    let thread = team
        .until(&root, "the first card", |thread| cards(thread) == 1)
        .await;
    assert!(says(&thread, "Why (a model's words)"), "{thread}");
    assert!(says(&thread, "The notes are only in the way."), "{thread}");
    team.press_on(&root, 1, "reject").await;
    team.press_action(&root, "cb-why-not-need").await;
    team.until(&root, "the second card", |thread| cards(thread) == 2)
        .await;
    team.press_on(&root, 2, "approve").await;
    let asked = |thread: &Value| {
        story(thread)
            .iter()
            .any(|line| line.contains("The build is gone"))
    };
    team.until(&root, "the question after it", asked).await;
    let log = team.log(&root, "coder");
    // Each press is written down once, and each command was said once.
    let used: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("\"decision_used\""))
        .collect();
    let choices = ["\"reject\"", "\"approve\""];
    let each = used.iter().zip(choices);
    assert!(
        used.len() == 2 && each.into_iter().all(|(line, choice)| line.contains(choice)),
        "{used:#?}"
    );
    let said = |line: &&str| line.contains("\"assistant\"") && line.contains("rm -rf drafts");
    assert_eq!(
        log.lines().filter(said).count(),
        1,
        "the command was said again"
    );
}

/// A command that asks, and beside it a change of what it would touch.
const BESIDE: &str = r#"
title: a change beside a command that waits
roles:
  pm:
    - call:
        - tool: ProposePlan
          with: { title: Clear drafts, summary: They are in the way., steps: [remove them], criteria: [gone], files: [], complexity: simple }
  coder:
    - call:
        - { tool: Bash, with: { command: "mkdir -p drafts && touch drafts/old" } }
    - call:
        - { tool: Bash, with: { command: "rm -rf drafts" } }
        - { tool: Write, with: { path: new.txt, content: "one\n" } }
    - expect: { tool_result_contains: "an earlier call of this turn waits for a person" }
      call:
        - { tool: Bash, with: { command: "ls" } }
    - call:
        - tool: HandOver
          with: { kind: question, to: pm, text: "Anything else?" }
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_the_same_turn_makes_an_approval_void() {
    let team = Team::start(BESIDE).await;
    let root = team.say("the drafts are in the way").await;
    team.press(&root, "approve").await;
    team.until(&root, "the card", |thread| cards(thread) == 1)
        .await;
    team.press_on(&root, 1, "approve").await;
    let thread = team
        .until(&root, "the question", |thread| {
            says(thread, "Anything else?")
        })
        .await;
    assert!(!says(&thread, "Allowed, and not run"), "{thread:#}");
    let log = team.log(&root, "coder");
    assert!(log.contains("was approved. Its result:"), "{log}");
    assert!(
        !worktree(&team).join("new.txt").exists(),
        "it ran meanwhile"
    );
    assert!(
        !worktree(&team).join("drafts").exists(),
        "what was approved ran"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_that_cannot_be_carried_out_is_told() {
    let team = Team::start(BESIDE).await;
    let root = team.say("the drafts are in the way").await;
    team.press(&root, "approve").await;
    team.until(&root, "the card", |thread| cards(thread) == 1)
        .await;
    std::fs::write(worktree(&team).join("theirs.txt"), "somebody's").unwrap();
    team.press_on(&root, 1, "approve").await;
    team.until(&root, "the word", |thread| {
        says(thread, "Allowed, and not run")
    })
    .await;
    assert!(worktree(&team).join("drafts").exists(), "nothing was run");
}

/// The worktree of the only thread.
fn worktree(team: &Team) -> std::path::PathBuf {
    let branches = team.scratch.root().join(".codebutler/branches");
    let mut own = std::fs::read_dir(branches).unwrap().flatten();
    let own = own.find(|one| !one.file_name().to_string_lossy().starts_with('_'));
    own.unwrap().path()
}
