//! `!draft` … `!done`: nothing happens in between, one request comes out, and
//! the person sends, refines or discards it.

use serde_json::Value;

use crate::{
    said::texts,
    team::{Team, says},
};

fn action(thread: &Value, verb: &str) -> Option<String> {
    let blocks: Vec<String> = thread["messages"]
        .as_array()?
        .iter()
        .map(|message| message["blocks"].to_string())
        .collect();
    let start = format!("cb-draft-{verb}-");
    let last = blocks.iter().rev().find(|text| text.contains(&start))?;
    let at = last.find(&start)?;
    last[at..].split('"').next().map(str::to_owned)
}

fn message_with(thread: &Value, words: &str) -> Value {
    let mut messages = thread["messages"].as_array().unwrap().iter();
    let found = messages.find(|one| one["text"].as_str().unwrap().contains(words));
    found.unwrap()["ts"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_are_collected_refined_and_sent_as_one_request() {
    let team = Team::start(include_str!("scenarios/draft.yaml")).await;
    let root = team.say("!draft a --json flag").await;
    team.until(&root, "the draft", |thread| {
        says(thread, "I collect what you write")
    })
    .await;
    team.reply(&root, "but only for lists").await;
    // A word for the runtime is no note.
    team.reply(&root, "help").await;
    team.until(&root, "help", |thread| says(thread, "Write what you want"))
        .await;
    assert_eq!(team.log(&root, "pm"), "", "nobody began to work");
    team.reply(&root, "!done").await;
    let offered = |words: &'static str| move |thread: &Value| says(thread, words);
    let thread = team
        .until(
            &root,
            "the request",
            offered("Add a --json flag, for lists only."),
        )
        .await;
    assert!(
        !texts(&thread)
            .iter()
            .any(|text| text.starts_with("I understood")),
        "an offer starts nothing"
    );
    team.press_action(&root, &action(&thread, "refine").unwrap())
        .await;
    team.until(
        &root,
        "an invitation",
        offered("write what should be different"),
    )
    .await;
    team.reply(&root, "and say so in the manual").await;
    // A kill in between forgets nothing.
    team.kill("pm");
    team.reply(&root, "!done").await;
    let thread = team
        .until(
            &root,
            "the second request",
            offered("describe it in the manual"),
        )
        .await;
    let send = action(&thread, "send").unwrap();
    team.press_action(&root, &send).await;
    let thread = team
        .until(&root, "the work", offered("I understood: a flag"))
        .await;
    let log = team.log(&root, "pm");
    assert!(log.contains("Add a --json flag for lists, and describe it in the manual."));
    // Which of them is settled already differs from run to run.
    let calls = thread["cost"]["calls"].as_array().unwrap().iter();
    let calls: i64 = calls.filter_map(|one| one["calls"].as_i64()).sum();
    assert_eq!(calls, 3, "two requests and a turn: {}", thread["cost"]);
    // The draft is over, and so are its buttons: a press that comes late is refused.
    let ts = message_with(&thread, "in the manual");
    let thread = team
        .until(&root, "no buttons", |thread| {
            action(thread, "send").is_none()
        })
        .await;
    assert_eq!(action(&thread, "refine"), None, "of the first draft either");
    let late = serde_json::json!({"channel": team.channel, "ts": ts, "action_id": send});
    assert_eq!(team.post("v1/actions", &late).await["ok"], false);
    assert_eq!(
        team.log(&root, "pm")
            .matches("\"activation_started\"")
            .count(),
        1
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_discarded_draft_starts_nothing() {
    let team = Team::start(include_str!("scenarios/draft.yaml")).await;
    let root = team.say("!draft only for lists").await;
    team.until(&root, "the draft", |thread| {
        says(thread, "I collect what you write")
    })
    .await;
    team.reply(&root, "!done").await;
    let thread = team
        .until(&root, "the request", |thread| {
            action(thread, "discard").is_some()
        })
        .await;
    team.press_action(&root, &action(&thread, "discard").unwrap())
        .await;
    team.until(&root, "the end", |thread| {
        says(thread, "nothing was started")
    })
    .await;
    assert!(!team.log(&root, "pm").contains("\"activation_started\""));
    let thread = team.thread(&root).await.unwrap();
    assert_eq!(action(&thread, "send"), None, "its buttons are gone");
    team.reply(&root, "!done").await;
    team.until(&root, "a word", |thread| {
        says(thread, "You have no draft open")
    })
    .await;
}
