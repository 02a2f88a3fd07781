//! What a model is offered of the tools of servers.

use std::{path::Path, sync::Arc};

use butler_mcp::{Accepted, Reach, Server, ServerSpec, Times, ToolInfo};
use butler_protocol::Tier;
use butler_tools::{OutsideServer, OutsideTools, Registry, ServerPlace};
use serde_json::{Value, json};

fn info(name: &str, description: &str, read_only: bool) -> ToolInfo {
    let entry = json!({
        "name": name, "description": description, "readOnly": read_only,
        "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}}
    });
    serde_json::from_value(entry).unwrap()
}

/// Tools of a server that is never started.
fn offering(tools: Vec<ToolInfo>) -> OutsideTools {
    let server = Server::new(ServerSpec {
        name: "tracker".into(),
        reach: Reach::Address {
            client: reqwest::Client::builder()
                .tls_backend_preconfigured(butler_tls::plain())
                .build()
                .unwrap(),
            url: "http://127.0.0.1:9/".into(),
            headers: Vec::new(),
        },
        times: Times::default(),
        accepted: None,
    });
    OutsideTools::new(&[OutsideServer {
        server: Arc::new(server),
        tools,
        goes_out: true,
        resources: false,
    }])
}

#[test]
fn few_tools_are_offered_by_name_and_many_words_by_search() {
    let few = offering(vec![
        info("list", "Lists.", true),
        info("close", "Closes.", false),
    ]);
    let names = ["mcp__tracker__list", "mcp__tracker__close"];
    assert_eq!(few.offered(false), names);
    // As large as the servers of Sentry and Notion.
    let long = "Words about what it does. ".repeat(110);
    let many: Vec<ToolInfo> = (0..24)
        .map(|n| info(&format!("tool{n}"), &long, true))
        .collect();
    let many = offering(many);
    assert_eq!(many.offered(false), ["FindTools", "CallTool"]);
    assert!(many.names().contains(&"mcp__tracker__tool7".to_owned()));
    // As Notion: what is left after cutting and flattening would fit.
    let mut notion = info("search", &"Words. ".repeat(20), true);
    notion.input_schema["$defs"] = json!({"rich": {"description": "x".repeat(40_000)}});
    assert_eq!(
        offering(vec![notion]).offered(false),
        ["FindTools", "CallTool"]
    );
    let middle: Vec<ToolInfo> = (0..4)
        .map(|n| info(&format!("tool{n}"), &long, true))
        .collect();
    let middle = offering(middle);
    assert_eq!(middle.offered(false).len(), 4);
    assert_eq!(middle.offered(true), ["FindTools", "CallTool"]);
    assert!(OutsideTools::default().offered(false).is_empty());
}

#[test]
fn what_may_change_something_reaches_further_and_native_tools_win() {
    let outside = offering(vec![
        info("list", "Lists.", true),
        info("close", "Closes.", false),
    ]);
    let mut registry = Registry::native();
    let native = registry.names().count();
    for tool in outside.tools() {
        registry.add(tool);
    }
    assert_eq!(registry.names().count(), native + 4);
    let tier = |name: &str, input: &Value| registry.get(name).unwrap().tier_of(input);
    assert_eq!(tier("mcp__tracker__list", &json!({})), Tier::Read);
    assert_eq!(tier("mcp__tracker__close", &json!({})), Tier::WriteVisible);
    // Through the other door it is the same tool.
    for (name, expected) in [
        ("list", Tier::Read),
        ("close", Tier::WriteVisible),
        ("x", Tier::WriteVisible),
    ] {
        let input = json!({"tool": format!("mcp__tracker__{name}"), "arguments": {}});
        assert_eq!(tier("CallTool", &input), expected, "{name}");
    }
    assert!(registry.get("Bash").is_some());
}

#[test]
fn a_server_cannot_be_given_folders_outside_the_repo() {
    let scratch = tempfile::tempdir().unwrap();
    let writable = ["reports", "../elsewhere", "/etc", "a/../../b"].map(str::to_owned);
    let place = ServerPlace {
        repo: Path::new("/work/app"),
        home: scratch.path(),
        person_home: Path::new("/home/you"),
        env: &std::collections::BTreeMap::new(),
        writable: &writable,
        network: false,
    };
    let Reach::Program { profile, .. } = place.program("files", "run", &[]).unwrap() else {
        panic!("a program");
    };
    assert_eq!(profile.writable, [Path::new("/work/app/reports")]);
    assert!(profile.hidden.contains(&"/home/you/.ssh".into()));
    assert!(profile.hidden.contains(&scratch.path().to_owned()));
}

#[test]
fn an_acceptance_survives_being_written_down() {
    let accepted: Accepted =
        serde_json::from_value(json!({"version": "x 1", "tools": [info("list", "Lists.", true)]}))
            .unwrap();
    let again: Accepted = serde_json::from_str(&serde_json::to_string(&accepted).unwrap()).unwrap();
    assert_eq!(accepted.changed_to(&again), None);
}
