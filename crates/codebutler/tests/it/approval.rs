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
