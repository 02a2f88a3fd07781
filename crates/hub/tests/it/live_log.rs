//! The team's live log: lines in by agents, out to people.

use std::collections::BTreeMap;

use butler_protocol::{
    AgentFacts, BranchClash, BranchName, LogBatch, LogLevel, LogLine, Outlook, PullStatus,
    RoadmapEntry, Role,
};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    views::news,
    world::{PATIENCE, World, client, secret},
};

fn line(level: LogLevel, message: &str) -> LogLine {
    LogLine {
        at_ms: 1,
        level,
        // Neither is believed: the token says who speaks.
        process: "hub".into(),
        role: Some(Role::Lead),
        thread: Some("C1-17-0".into()),
        turn: Some(2),
        tool: Some("Bash".into()),
        message: message.into(),
        fields: BTreeMap::from([("said".to_owned(), json!(format!("it is {}", secret())))]),
    }
}

fn batch(lines: &[(LogLevel, &str)]) -> LogBatch {
    let lines = lines.iter().map(|(level, text)| line(*level, text));
    LogBatch {
        lines: lines.collect(),
    }
}

async fn messages(world: &World, query: &str) -> Vec<String> {
    let answer = world.get(&world.ana, &format!("v1/log{query}")).await;
    assert_eq!(answer["ok"], true, "{answer}");
    let lines = answer["lines"].as_array().unwrap();
    let text = |line: &Value| line["message"].as_str().unwrap().to_owned();
    lines.iter().map(text).collect()
}

#[tokio::test]
async fn lines_are_shown_by_role_and_level_and_without_secrets() {
    let world = World::start().await;
    let coder = batch(&[(LogLevel::Info, "one"), (LogLevel::Warn, "two")]);
    world.control(Role::Coder).log(&coder).await.unwrap();
    let pm = batch(&[(LogLevel::Error, "three")]);
    world.control(Role::Pm).log(&pm).await.unwrap();
    assert_eq!(messages(&world, "").await, ["one", "two", "three"]);
    assert_eq!(messages(&world, "?role=coder").await, ["one", "two"]);
    assert!(messages(&world, "?role=lead").await.is_empty());
    assert_eq!(messages(&world, "?level=warn").await, ["two", "three"]);
    assert_eq!(messages(&world, "?after=1&limit=1").await, ["three"]);
    let all = world.get(&world.ana, "v1/log").await;
    assert!(!all.to_string().contains(&secret()), "{all}");
    assert_eq!(all["lines"][0]["role"], "coder");
    assert_eq!(all["lines"][0]["tool"], "Bash");
}

#[tokio::test]
async fn the_agents_say_what_they_are_and_what_went_wrong() {
    let world = World::start().await;
    let coder = world.control(Role::Coder);
    let facts = AgentFacts {
        version: "1.2.3".into(),
        host: "box".to_owned(),
        models: vec!["big/model".into(), "small/model".into()],
        resting: vec!["big/model".into()],
        ..AgentFacts::default()
    };
    // It counts as failing while it is there, whatever it does.
    let _there = world.socket(Role::Coder).await;
    coder.facts(&facts).await.unwrap();
    coder
        .log(&batch(&[
            (LogLevel::Error, "the disk is full"),
            (LogLevel::Info, "later"),
        ]))
        .await
        .unwrap();
    let all = world.get(&world.ana, "v1/agents").await;
    let all = all["agents"].as_array().unwrap();
    let of = |role: &str| all.iter().find(|one| one["role"] == role).unwrap();
    assert_eq!(of("coder")["resting"], json!(["big/model"]));
    assert_eq!(of("coder")["last_error"]["text"], "the disk is full");
    assert_eq!(of("coder")["spent_today"], 0);
    assert_eq!(of("pm")["last_error"], Value::Null);
    let page = crate::page::Browser::login(&world)
        .await
        .get("/agents")
        .await;
    let cards: Vec<&str> = page.split("<article").collect();
    let coder = cards.iter().find(|card| card.contains(">Coder ")).unwrap();
    for wanted in [
        "1.2.3",
        "class=\"state failing\"",
        "big/model",
        "keeps failing",
        "small/model",
        "the disk is full",
    ] {
        assert!(coder.contains(wanted), "{wanted} in {coder}");
    }
    assert!(!page.contains(&secret()), "{page}");
    assert!(page.contains("dot failing"), "also at the side: {page}");
}

#[tokio::test]
async fn the_board_shows_what_is_ahead() {
    let world = World::start().await;
    let root = world.say("build it", None).await;
    let branch = BranchName::new("codebutler/build-it-abc123");
    let mut pull = news(&world, &root, PullStatus::Open, None);
    pull.branch = Some(branch.clone());
    world.control(Role::Coder).pull(&pull).await.unwrap();
    let browser = crate::page::Browser::login(&world).await;
    let board = browser.get("/board").await;
    assert!(!board.contains("Forecast") && !board.contains("Roadmap"));
    let item = |number, state: &str, depends_on| RoadmapEntry {
        number,
        title: format!("Item {state}"),
        state: state.into(),
        why: String::new(),
        depends_on,
    };
    let outlook = Outlook {
        roadmap: vec![item(1, "done", vec![]), item(2, "ready", vec![1])],
        clashes: vec![BranchClash {
            one: branch.clone(),
            other: Some(BranchName::new("codebutler/other-abc124")),
            files: vec!["notes.sh".into()],
        }],
        order: vec![branch],
    };
    let facts = AgentFacts {
        outlook,
        ..AgentFacts::default()
    };
    world.control(Role::Pm).facts(&facts).await.unwrap();
    let board = browser.get("/board").await;
    for wanted in [
        "1 of 2 done",
        "2. Item ready",
        "codebutler/other-abc124",
        "notes.sh",
    ] {
        assert!(board.contains(wanted), "{wanted} in {board}");
    }
    // A branch with a pull request is known by that.
    assert!(
        !board.contains("codebutler/build-it-abc123</code> and"),
        "{board}"
    );
}

#[tokio::test]
async fn somebody_who_watches_sees_what_was_and_what_comes_once() {
    let world = World::start().await;
    let coder = world.control(Role::Coder);
    coder
        .log(&batch(&[(LogLevel::Info, "before")]))
        .await
        .unwrap();
    let request = client()
        .get(world.base.join("v1/log?role=coder").unwrap())
        .bearer_auth(world.ana.token.expose())
        .header("accept", "text/event-stream");
    let mut stream = request.send().await.unwrap();
    let mut heard = String::new();
    let listen = async {
        let mut told = false;
        while !heard.contains("after") {
            let bytes = stream.chunk().await.unwrap().unwrap();
            heard.push_str(&String::from_utf8_lossy(&bytes));
            if !told && heard.contains("before") {
                told = true;
                let news = batch(&[(LogLevel::Info, "after")]);
                coder.log(&news).await.unwrap();
            }
        }
    };
    timeout(PATIENCE, listen).await.unwrap();
    assert_eq!(heard.matches("event: line").count(), 2, "{heard}");
    assert!(
        heard.contains("id: 1") && heard.contains("id: 2"),
        "{heard}"
    );
}

#[tokio::test]
async fn a_stranger_neither_writes_nor_reads() {
    let world = World::start().await;
    let url = world.base.join("v1/log").unwrap();
    assert_eq!(client().get(url).send().await.unwrap().status(), 401);
    let url = world.base.join("agent/v1/log").unwrap();
    let post = client().post(url).json(&json!({"lines": []}));
    assert_eq!(post.send().await.unwrap().status(), 401);
}
