//! A person's click, and nothing else, lets a destructive command run; once,
//! and exactly that command.

use serde_json::Value;

use crate::team::{Team, story};

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
    team.until(&root, "the first card", |thread| cards(thread) == 1)
        .await;
    team.press_on(&root, 1, "reject").await;
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
    assert_eq!(log.matches("\"decision_used\"").count(), 1, "{log}");
}
