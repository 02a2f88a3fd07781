//! Whoever is needed is rung at, and thread and pull request lead to each other.

use serde_json::Value;

use crate::{
    story::{REQUEST, SCENARIO},
    team::{Team, button, says},
};

/// The message of Slack that carries a button which ends so.
fn with_button(team: &Team, ending: &str) -> Value {
    let messages = team.slack().messages(&team.channel);
    let mut messages = messages.into_iter();
    let carries = |one: &Value| button(&serde_json::json!({"messages": [one]}), ending).is_some();
    messages.find(carries).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cards_ring_at_whoever_asked_and_the_pull_request_leads_to_the_thread() {
    let team = Team::start_on_slack(SCENARIO).await;
    let ana = format!("<@{}>", team.slack_and_ana().1);
    let root = team.say(REQUEST).await;
    for (choice, what) in [(":approve", "approve"), (":merge", "merge")] {
        team.until(&root, what, |thread| button(thread, choice).is_some())
            .await;
        let card = with_button(&team, choice);
        assert!(card.to_string().contains(&ana), "{what}: {card:#}");
        team.press(&root, what).await;
    }
    team.until(&root, "the merge", |thread| says(thread, "Merged #1 as"))
        .await;
    let pull = team
        .scratch
        .remote_git(&["log", "--patch", "--format=", "refs/codebutler/pr/1"]);
    let address = format!("/archives/{}/p{}", team.channel, root.replace('.', ""));
    assert!(pull.contains(&address), "{address}: {pull}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_rings_beside_its_button() {
    let team = Team::start_on_slack(include_str!("scenarios/empty.yaml")).await;
    let ana = format!("<@{}>", team.slack_and_ana().1);
    let root = team.say("find it").await;
    team.until(&root, "the reason", |thread| {
        button(thread, "cb-retry").is_some()
    })
    .await;
    let told = with_button(&team, "cb-retry");
    assert!(told["text"].as_str().unwrap().contains(&ana), "{told:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_merge_card_leads_to_the_pull_request() {
    let (team, _github) = Team::start_on_github(SCENARIO).await;
    let root = team.say(REQUEST).await;
    team.press(&root, "approve").await;
    let thread = team
        .until(&root, "the card", |thread| {
            button(thread, ":merge").is_some()
        })
        .await;
    assert!(says(&thread, "/pull/1"), "{thread:#}");
}
