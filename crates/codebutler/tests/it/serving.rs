//! `codebutler mcp serve`: by hand, and with the clients that others use.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};

use crate::{
    scratch::{Scratch, fed, json_lines, ran},
    team::Team,
};

const PLAN: &str = r#"
title: a plan that is turned down
roles:
  pm:
    - expect: { last_user_contains: "add colours" }
      call:
        - tool: ProposePlan
          with:
            title: Add colours
            summary: Notes in colour.
            steps: ["Print colours — notes.sh"]
            criteria: ["notes are coloured"]
            files: ["notes.sh"]
            complexity: simple
    - say: Then it stays as it is.
    - say: I see.
"#;

/// Without a hub the tools are listed, a call says what to do, and nothing ends the
/// talk but the end of the input.
#[test]
fn lines_are_answered_one_by_one_without_a_hub() {
    let scratch = Scratch::new();
    scratch.write(".codebutler/config.json", "{}");
    let meta = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!("garbage"),
        json!({"jsonrpc": "2.0", "id": "b", "method": "tools/list", "params": meta}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params":
            {"name": "ask", "arguments": {"request": "hello"}}}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params":
            {"name": "ask", "arguments": {"wish": "hello"}}}),
    ];
    let mut input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    input.insert_str(0, "not JSON at all\n\n");
    let served = fed(&mut scratch.codebutler(&["mcp", "serve"]), input.as_bytes());
    assert_eq!(served.code, 0, "{served:?}");
    let answers = json_lines(&served.out);
    assert_eq!(answers.len(), 6, "{served:?}");
    let of = |id: Value| {
        let mut all = answers.iter();
        all.find(|one| one["id"] == id).unwrap().clone()
    };
    assert_eq!(of(json!(1))["result"]["protocolVersion"], "2025-06-18");
    let listed = of(json!("b"))["result"].clone();
    assert_eq!(listed["resultType"], "complete");
    assert_eq!(listed["tools"].as_array().unwrap().len(), 7);
    let asked = of(json!(3))["result"].clone();
    assert_eq!(asked["isError"], true);
    let why = asked["content"][0]["text"].as_str().unwrap();
    assert!(
        why.contains("no hub runs") && why.contains("codebutler up"),
        "{why}"
    );
    let odd = of(json!(4))["result"]["content"][0]["text"].clone();
    assert!(odd.as_str().unwrap().contains("wish"), "{odd}");
}

/// Where the SDKs are; nothing where they are not installed.
fn parts() -> Option<PathBuf> {
    let Some(parts) = std::env::var_os("CODEBUTLER_MCP_DIR") else {
        assert!(
            std::env::var_os("CI").is_none(),
            "CODEBUTLER_MCP_DIR is not set; crates/mcp/tests/real/setup.sh <dir> makes the folder"
        );
        return None;
    };
    Some(PathBuf::from(parts).canonicalize().unwrap())
}

/// Runs somebody else's client in the team's repo; what it printed last, as JSON.
fn client(team: &Team, mut command: Command) -> Value {
    command
        .current_dir(team.scratch.root())
        .env("CODEBUTLER_HOME", team.home())
        .stdin(Stdio::null());
    let ran = ran(&mut command);
    assert_eq!(ran.code, 0, "{ran:?}");
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

fn script(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/serving");
    folder.join(name)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sdk_for_python_asks_reads_and_answers_a_card_without_a_handshake() {
    let Some(parts) = parts() else { return };
    let team = Team::start(PLAN).await;
    let mut python = Command::new(parts.join("venv/bin/python"));
    python
        .arg(script("client.py"))
        .arg(cargo_bin!("codebutler"));
    let seen = client(&team, python);
    assert_eq!(seen["tools"].as_array().unwrap().len(), 7, "{seen}");
    assert_eq!(seen["version"], "2026-07-28", "{seen}");
    assert_eq!(seen["asked"][0], true, "{seen}");
    assert_eq!(seen["asked"][1]["cards"][0]["kind"], "plan", "{seen}");
    assert_ne!(seen["progress"], 0, "{seen}");
    let card = &seen["card"];
    assert_eq!(card["choices"], json!(["approve", "modify", "reject"]));
    let text = card["text"].as_str().unwrap();
    assert!(
        text.contains("1. Print colours") && text.contains("notes are coloured"),
        "{text}"
    );
    for (key, why) in [
        ("blind", "not the hash of what the card says"),
        ("odd", "its choices are approve, modify, reject"),
        ("missing", "sha256"),
    ] {
        assert_eq!(seen[key][0], false, "{key}: {seen}");
        assert!(
            seen[key][1].as_str().unwrap().contains(why),
            "{key}: {seen}"
        );
    }
    assert_eq!(seen["open"], 1, "nothing was decided: {seen}");
    assert_eq!(
        seen["decided"],
        json!([true, {"card": card["card"], "decided": "reject"}])
    );
    assert_eq!(seen["after"][1]["cards"], json!([]), "{seen}");
    let said = seen["after"][1]["messages"].to_string();
    assert!(said.contains("too bright"), "{said}");
    assert_eq!(
        seen["status"]["agents"].as_array().unwrap().len(),
        6,
        "{seen}"
    );
    assert!(
        seen["threads"]["threads"]
            .to_string()
            .contains("add colours"),
        "{seen}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sdk_for_javascript_and_the_inspector_are_served() {
    let Some(parts) = parts() else { return };
    let team = Team::start(PLAN).await;
    let mut node = Command::new("node");
    node.arg(script("client.mjs"))
        .arg(&parts)
        .arg(cargo_bin!("codebutler"));
    let seen = client(&team, node);
    assert_eq!(seen["version"]["name"], "codebutler", "{seen}");
    let tools = seen["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 6, "without the one that decides: {seen}");
    assert_eq!(seen["status"]["needs"], 0, "{seen}");
    assert_eq!(seen["odd"]["isError"], true, "{seen}");
    assert!(
        seen["unknown"].as_str().unwrap().contains("answer_card"),
        "{seen}"
    );

    let inspector = parts.join("node_modules/.bin/mcp-inspector");
    for (method, more) in [
        ("tools/list", &[][..]),
        (
            "tools/call",
            &["--tool-name", "list_threads", "--tool-arg", "limit=3"][..],
        ),
    ] {
        let mut command = Command::new(&inspector);
        command
            .args(["--cli", "-e"])
            .arg(format!("CODEBUTLER_HOME={}", team.home().display()))
            .arg(cargo_bin!("codebutler"))
            .args(["mcp", "serve", "--method", method]);
        let seen = client(&team, {
            command.args(more);
            command
        });
        match method {
            "tools/list" => assert_eq!(seen["tools"].as_array().unwrap().len(), 7, "{seen}"),
            _ => assert!(
                seen["content"][0]["text"]
                    .as_str()
                    .unwrap()
                    .contains("threads"),
                "{seen}"
            ),
        }
    }
}
