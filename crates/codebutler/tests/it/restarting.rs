//! `!restart`: the running turns end, every agent is started anew, the channel
//! reads one line about it, and the work goes on. For approvers only.

use std::{fs, path::Path};

use butler_protocol::Role;
use serde_json::{Value, json};

use crate::{
    story::{REQUEST, SCENARIO, merged},
    team::{Team, button, says},
};

fn pids(team: &Team) -> Vec<Option<i32>> {
    let pid = |role: Role| team.pid(role.as_str());
    Role::ALL.into_iter().map(pid).collect()
}

async fn said_in_channel(team: &Team, words: &str) -> usize {
    let path = format!("v1/channels/{}/messages", team.channel);
    team.page(&path).await.matches(words).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_that_is_told_to_restart_does_and_goes_on() {
    let team = Team::start(SCENARIO).await;
    let root = team.say(REQUEST).await;
    let planned = |thread: &Value| button(thread, ":approve").is_some();
    team.until(&root, "the plan", planned).await;
    let before = pids(&team);
    team.reply(&root, "!restart").await;
    let answered = |thread: &Value| says(thread, "I restart as soon as");
    team.until(&root, "the answer", answered).await;
    let renewed = || {
        let now = pids(&team);
        let is_new = |(before, now): (&Option<i32>, &Option<i32>)| now.is_some() && now != before;
        before.iter().zip(&now).all(is_new)
    };
    team.wait("new processes", renewed).await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    team.until(&root, "the merge", merged).await;
    assert_eq!(said_in_channel(&team, "I am back, version").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_no_approver_restarts_nobody() {
    let only_ana = |root: &Path| {
        let file = root.parent().unwrap().join("machine/config.json");
        let mut config: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        config["approvers"] = json!(["U0ANA"]);
        butler_config::write_private(&file, &config.to_string()).unwrap();
    };
    let team = Team::start_with(SCENARIO, only_ana).await;
    let before = pids(&team);
    let root = team.say("!restart").await;
    let refused = |thread: &Value| says(thread, "Only the machine's approvers may restart");
    team.until(&root, "the answer", refused).await;
    assert_eq!(pids(&team), before);
    assert_eq!(said_in_channel(&team, "I am back").await, 0);
}
