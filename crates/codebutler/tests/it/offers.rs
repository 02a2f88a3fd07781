//! Buttons that decide nothing, and the marks on a request: neither promises what
//! is not so any more.

use serde_json::Value;

use crate::{
    story::{REQUEST, SCENARIO, merged},
    team::{Team, button, says},
};

/// Two plans, both rejected.
const REJECTED: &str = "
title: two plans
roles:
  pm:
    - call: &plan
        - tool: ProposePlan
          with: { title: Add it, summary: It is wanted., steps: [write it], criteria: [it is there], files: [new.txt], complexity: simple }
    - say: Understood, smaller then.
    - call: *plan
    - say: Understood, blue then.
";

fn marks(thread: &Value) -> String {
    thread["messages"][0]["reactions"].to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_buttons_under_why_go_with_a_press_and_with_words() {
    let team = Team::start(REJECTED).await;
    let root = team.say("add a file").await;
    team.press(&root, "reject").await;
    team.press_action(&root, "cb-why-big").await;
    let thread = team
        .until(&root, "the answer", |thread| says(thread, "smaller then"))
        .await;
    assert_eq!(button(&thread, "cb-why-big"), None, "used");
    assert!(says(&thread, "chose *Too big*"), "{thread:#}");
    team.reply(&root, "and now?").await;
    team.press(&root, "reject").await;
    team.until(&root, "the question", |thread| {
        button(thread, "cb-why-wrong").is_some()
    })
    .await;
    team.reply(&root, "it must be blue").await;
    let thread = team
        .until(&root, "the answer", |thread| says(thread, "blue then"))
        .await;
    assert!(says(&thread, "Rejected. Why?"));
    assert_eq!(team.scratch.remote_branches(), ["main"], "given back");
    team.until(&root, "no buttons", |thread| {
        button(thread, "cb-why-wrong").is_none()
    })
    .await;
}

/// 👀 while somebody is at it, ✅ when it is done: not when it was passed on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_being_built_is_not_marked_as_answered() {
    let team = Team::start(SCENARIO).await;
    let root = team.say(REQUEST).await;
    team.press(&root, "approve").await;
    let thread = team
        .until(&root, "the merge card", |thread| {
            button(thread, ":merge").is_some()
        })
        .await;
    let (seen, answered) = ("\"eyes\"", "\"white_check_mark\"");
    assert!(marks(&thread).contains(seen), "{}", marks(&thread));
    assert!(!marks(&thread).contains(answered), "{}", marks(&thread));
    team.press(&root, "merge").await;
    let thread = team.until(&root, "the merge", merged).await;
    assert!(marks(&thread).contains(answered), "{}", marks(&thread));
}
