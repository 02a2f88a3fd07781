//! Limits are told, not suffered in silence.

use serde_json::{Value, json};

use crate::{said::texts, team::Team};

/// At its limit of calls the team says so once, waits, and can be stopped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_calls_in_an_hour_are_told_once_and_waited_for() {
    let scenario = include_str!("../../demo/scenarios/json-flag.yaml");
    let team = Team::start_configured(scenario, |config| {
        config["limits"] = json!({"maxCallsPerHour": 2, "maxCallsPerPersonHour": 100});
    })
    .await;
    let root = team.say("add a --json flag").await;
    let told = |thread: &Value| {
        let words = "this repository has 2 model calls an hour (`limits.maxCallsPerHour`)";
        let all = texts(thread);
        all.iter().filter(|text| text.contains(words)).count()
    };
    team.until(&root, "the limit", |thread| told(thread) == 1)
        .await;
    // The wait is no deafness.
    team.reply(&root, "status").await;
    let thread = team
        .until(&root, "the status", |thread| {
            texts(thread).iter().any(|text| text.contains("spent."))
        })
        .await;
    assert_eq!(told(&thread), 1);
    let calls = &thread["cost"]["calls"];
    assert_eq!(calls[0]["calls"], json!(2), "{calls}");
    team.reply(&root, "stop").await;
    let stopped = || team.log(&root, "pm").contains("\"how\":\"stopped\"");
    team.wait("the stop", stopped).await;
}
