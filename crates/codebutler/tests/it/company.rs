//! One hub for all repositories: a team sleeps until something is said to it, works to the
//! end, and sleeps again; the next word wakes it.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use butler_testkit::ScratchRepo;
use serde_json::Value;

use crate::{
    said::texts,
    story::{REQUEST, SCENARIO, assert_remote, assert_story, merged},
    team::{Team, Variables, command, home},
};

fn serve(scratch: &ScratchRepo, variables: Variables) -> (Child, String) {
    let log = fs::File::create(scratch.folder().join("up.log")).unwrap();
    let mut serve = command(scratch.root(), &home(scratch))
        .args(["serve", "--listen", "127.0.0.1:0", "--quiet", "0.05"])
        .envs(variables)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(serve.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    let url = line.trim_start_matches("ready").trim().to_owned();
    (serve, url)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_sleeps_until_somebody_speaks_and_again_when_all_is_done() {
    let team = Team::start_kept(SCENARIO, Box::new(serve)).await;
    let online = || async {
        let agents = team.page("v1/agents").await;
        let agents: Value = serde_json::from_str(&agents).unwrap();
        let agents = agents["agents"].as_array().unwrap().clone();
        agents.iter().filter(|one| one["online"] == true).count()
    };
    assert_eq!(online().await, 0, "nobody has spoken yet");
    let root = team.say(REQUEST).await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    let thread = team.until(&root, "the merge", merged).await;
    assert_story(&thread);
    assert_remote(&team);
    let count = |words: &str| team.written().matches(words).count();
    team.wait("sleep", || count(" sleeps") > 0).await;
    while online().await > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let woken = count(" wakes");
    team.reply(&root, "status").await;
    team.until(&root, "the answer", |thread| {
        texts(thread).iter().any(|text| text.contains("spent."))
    })
    .await;
    assert!(count(" wakes") > woken, "{}", team.written());
}
