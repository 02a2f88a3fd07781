//! Stop, with the whole team at work: it is answered, nothing starts until a
//! person speaks, and the next word reaches who was stopped.

use std::time::Duration;

use butler_testkit::Limits;
use serde_json::{Value, json};

use crate::team::{Team, says};

const STOP: &str = include_str!("scenarios/stop.yaml");
const STORY: &str = include_str!("../../demo/scenarios/json-flag.yaml");
/// Real processes; the hub's own test stops two hundred played ones.
const MOMENTS: u64 = 2;
const MOMENTS_AT_NIGHT: u64 = 200;

/// Model calls and tools that were begun in a thread, by any role.
fn begun(team: &Team, root: &str) -> usize {
    let logs = team.logs(root, "");
    let logs = logs
        .iter()
        .map(|name| team.log(root, name.trim_end_matches(".jsonl")));
    let begun = |log: String| {
        ["\"t\":\"reserved\"", "\"t\":\"tool_intent\""].map(|kind| log.matches(kind).count())
    };
    logs.flat_map(begun).sum()
}

/// What the last answer to "status" says.
fn status(thread: &Value) -> Option<String> {
    let messages = thread["messages"].as_array()?.iter();
    let texts = messages.filter_map(|message| message["text"].as_str());
    let mut told = texts.filter(|text| text.contains("spent."));
    told.next_back().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_is_answered_and_the_next_word_reaches_who_was_stopped() {
    let team = Team::start(STOP).await;
    let root = team.say("wait for me").await;
    team.press(&root, "approve").await;
    let runs = || team.log(&root, "coder").contains("\"tool_intent\"");
    team.wait("the command", runs).await;
    let sign = json!({"channel": team.channel, "ts": root, "name": "octagonal_sign"});
    team.post("v1/reactions", &sign).await;
    let stopped = |thread: &Value| says(thread, "Stopped, as the user asked: Coder.");
    team.until(&root, "the answer", stopped).await;
    let ended = || team.log(&root, "coder").contains("\"how\":\"stopped\"");
    team.wait("the stop", ended).await;
    team.reply(&root, "status").await;
    let told = |thread: &Value| status(thread).is_some();
    let thread = team.until(&root, "the status", told).await;
    let said = status(&thread).unwrap();
    assert!(said.contains("Coder: stopped"), "{said}");
    assert!(
        !said.contains("Lead") && !said.contains("Reviewer"),
        "{said}"
    );
    team.reply(&root, "go on").await;
    let on = || {
        let log = team.log(&root, "coder");
        log.contains("\"go on\"") && log.matches("\"activation_started\"").count() == 2
    };
    team.wait("the Coder goes on", on).await;
    let heard = team.log(&root, "pm");
    assert!(!heard.contains("go on"), "it was for the Coder: {heard}");
}

/// Slack makes the hub wait with the Coder's hand-over, and meanwhile somebody
/// stops: it lands later, and the Reviewer does not begin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hand_over_on_its_way_starts_nobody_after_the_stop() {
    let team = Team::start_on_slack(STORY).await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    let at_work = || team.log(&root, "coder").contains("\"Checklist\"");
    team.wait("the Coder", at_work).await;
    let (slack, ana) = team.slack_and_ana();
    slack.limit(Limits {
        burst: 1,
        spacing: Duration::from_secs(3600),
        retry_after: 1,
        ..Limits::default()
    });
    let hands_over = || team.log(&root, "coder").contains("\"tool\":\"HandOver\"");
    team.wait("the hand-over", hands_over).await;
    let refused = slack.refusals();
    team.wait("the hand-over has to wait", || slack.refusals() > refused)
        .await;
    slack.react(ana, &team.channel, &root, "octagonal_sign");
    let heard = || team.log(&root, "coder").contains("\"t\":\"stopped\"");
    team.wait("the stop", heard).await;
    slack.limit(Limits {
        burst: 1000,
        spacing: Duration::ZERO,
        ..Limits::default()
    });
    let answered = |thread: &Value| says(thread, "Stopped, as ana asked: Coder.");
    team.until(&root, "the answer", answered).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let reviewer = team.log(&root, "reviewer");
    assert!(!reviewer.contains("activation_started"), "{reviewer}");
    slack.say(ana, &team.channel, "go on", Some(&root));
    let on = || team.log(&root, "coder").matches("go on").count() > 0;
    team.wait("the Coder", on).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_at_any_moment_holds() {
    let night = std::env::var_os("CODEBUTLER_NIGHTLY").is_some();
    let moments = if night { MOMENTS_AT_NIGHT } else { MOMENTS };
    for moment in 0..moments {
        let team = Team::start(STORY).await;
        let root = team.say("add a --json flag").await;
        team.press(&root, "approve").await;
        tokio::time::sleep(Duration::from_millis(moment * 1237 % 6000)).await;
        team.reply(&root, "stop").await;
        let stopped = |thread: &Value| says(thread, "Stopped, as the user asked");
        team.until(&root, "the answer", stopped).await;
        let before = begun(&team, &root);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(begun(&team, &root), before, "moment {moment}");
        team.reply(&root, "go on").await;
        let on = || begun(&team, &root) > before;
        team.wait("somebody goes on", on).await;
    }
}
