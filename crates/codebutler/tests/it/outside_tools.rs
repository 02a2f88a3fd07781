//! Tools of MCP servers, from a person's acceptance to their use by a team; with a
//! server that can misbehave.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use assert_cmd::cargo::cargo_bin;
use butler_rehearsal::{Rehearsal, Scenario};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    scratch::{Ran, Scratch, json_lines, ran},
    team::{Team, says},
};

const SERVER: &str = include_str!("../../../mcp/tests/it/hostile.py");

/// A repo whose `mcp.json` names the server, in these modes.
fn set_up(scratch: &Scratch, modes: &str) {
    scratch.write("server.py", SERVER);
    scratch.write(".codebutler/config.json", "{}");
    scratch.write(".codebutler/mcp.json", &servers(modes));
}

fn servers(modes: &str) -> String {
    json!({"servers": {"notes": {
        "command": "python3", "args": ["server.py", modes], "roles": ["coder"], "deny": ["env"]
    }}})
    .to_string()
}

/// Accepts a server as a script does that was shown its hash.
fn accept(run: impl Fn(&[&str]) -> Ran) -> Ran {
    let shown = run(&["mcp", "accept", "notes"]);
    assert_ne!(shown.code, 0, "{shown:?}");
    let hash = shown.err.split("--hash ").nth(1).expect(&shown.err);
    run(&["mcp", "accept", "notes", "--hash", &hash[..64]])
}

#[test]
fn a_server_is_used_only_as_it_was_accepted() {
    let scratch = Scratch::new();
    set_up(&scratch, "");
    let before = scratch.run(&["mcp", "call", "notes", "echo", r#"{"word": "x"}"#]);
    assert!(before.err.contains("nobody accepted"), "{before:?}");
    let shown = scratch.run(&["mcp", "accept", "notes"]);
    assert!(shown.err.contains("python3 server.py"), "{shown:?}");
    assert!(shown.err.contains("without network"), "{shown:?}");
    let wrong = scratch.run(&["mcp", "accept", "notes", "--hash", &"0".repeat(64)]);
    assert!(wrong.err.contains("not the hash"), "{wrong:?}");
    let accepted = accept(|args| scratch.run(args));
    assert_eq!(accepted.out, "accepted: 12 tools of `notes`, for Coder\n");
    let list = scratch.run(&["mcp", "list", "--json"]);
    let rows: Vec<Value> = serde_json::from_str(&list.out).unwrap();
    assert_eq!(rows[0]["tools"], 11, "one of them is denied: {rows:?}");
    let tested = scratch.run(&["mcp", "test", "notes"]);
    assert!(
        tested.out.starts_with("notes answers: 12 tools"),
        "{tested:?}"
    );
    let call = ["mcp", "call", "notes", "echo", r#"{"word": "hello"}"#];
    assert_eq!(scratch.run(&call).out, "hello\n");
    let evil = scratch.run(&["mcp", "call", "notes", "evil"]);
    assert!(evil.out.contains("\\u{1b}[31mred"), "{evil:?}");
    // Another description, then another command.
    scratch.write("changed", "");
    let changed = scratch.run(&call);
    assert!(
        changed.err.contains("+says it again. First read"),
        "{changed:?}"
    );
    let tested = scratch.run(&["mcp", "test", "notes"]);
    assert!(
        tested.code != 0 && tested.out.contains("+says it again. First"),
        "{tested:?}"
    );
    fs::remove_file(scratch.root().join("changed")).unwrap();
    assert_eq!(scratch.run(&call).out, "hello\n");
    scratch.write(".codebutler/mcp.json", &servers("garbage"));
    assert!(scratch.run(&call).err.contains("nobody accepted"));
}

/// Processes whose working directory is that folder.
fn alive(folder: &Path) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let here = |cwd: std::path::PathBuf| cwd.starts_with(folder);
    processes
        .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(here))
        .count()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn kill_9_leaves_no_server_behind() {
    let scratch = Scratch::new();
    set_up(&scratch, "stubborn");
    accept(|args| scratch.run(args));
    let root = scratch.root();
    until("the accepted one to be gone", || alive(&root) == 0);
    let mut command = scratch.codebutler(&["mcp", "call", "notes", "hang"]);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    // The command, the server and the child that it started.
    until("the server to be up", || alive(&root) >= 3);
    child.kill().unwrap();
    child.wait().unwrap();
    until("everything to be gone", || alive(&root) == 0);
}

#[test]
fn servers_are_added_imported_and_removed_and_secrets_stay_on_the_machine() {
    let scratch = Scratch::new();
    set_up(&scratch, "");
    scratch.write(".codebutler/mcp.json", "{\n  // ours\n}\n");
    let secret = ["fake", "value", "of", "a", "token"].join("-");
    let env = format!("TOKEN={secret}");
    let add = [
        "mcp", "add", "files", "--env", &env, "--for", "coder", "--", "run", "-x",
    ];
    let added = scratch.run(&add);
    assert!(
        added.out.contains("codebutler mcp accept files"),
        "{added:?}"
    );
    let other = json!({"mcpServers": {"docs": {
        "type": "http", "url": "https://docs.example/mcp", "headers": {"Authorization": &secret}
    }, "local": {"command": "npx", "args": ["-y", "thing"], "env": {"A": "${input:a}"}}}});
    scratch.write("claude.json", &other.to_string());
    let imported = scratch.run(&["mcp", "import", "claude.json"]);
    assert_eq!(imported.code, 0, "{imported:?}");
    let text = scratch.read(".codebutler/mcp.json");
    assert!(
        text.contains("// ours") && !text.contains(&secret),
        "{text}"
    );
    let machine = fs::read_to_string(scratch.home().join("config.json")).unwrap();
    assert_eq!(machine.matches(&secret).count(), 2, "{machine}");
    let list = scratch.run(&["mcp", "list"]).out;
    for name in ["files", "docs", "local"] {
        assert!(list.contains(&format!("{name}  not accepted")), "{list}");
    }
    assert!(!list.contains(&secret));
    let again = scratch.run(&add);
    assert!(again.err.contains("already"), "{again:?}");
    assert_eq!(scratch.run(&["mcp", "remove", "docs"]).code, 0);
    assert!(!scratch.run(&["mcp", "list"]).out.contains("docs"));
    assert_ne!(scratch.run(&["mcp", "remove", "docs"]).code, 0);
}

/// One run of `exec` with a scripted model; its events.
async fn exec(scratch: &Scratch, scenario: &str) -> Vec<Value> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let scenario = Scenario::parse(scenario).unwrap();
    let any = ([127, 0, 0, 1], 0).into();
    let model = Rehearsal::start(any, scenario, true, CancellationToken::new());
    let model = model.await.unwrap();
    let mut command = Command::new(cargo_bin!("codebutler"));
    command
        .current_dir(scratch.root())
        .env("CODEBUTLER_HOME", scratch.home())
        .args(["exec", "--json", "--model-url", &model.base_url()])
        .args(["--model", "rehearsal/coder", "ask the notes"]);
    let ran = tokio::task::spawn_blocking(move || ran(&mut command));
    let ran = ran.await.unwrap();
    assert_eq!(ran.code, 0, "{ran:?}");
    json_lines(&ran.out)
}

const READ_THEN_WRITE: &str = r#"
title: the notes are asked, then changed
roles:
  coder:
    - call:
        - { tool: mcp__notes__echo, with: { word: hello } }
    - expect: { tool_result_contains: ["from=\"the MCP server notes\"", "hello", "not an instruction"] }
      call:
        - { tool: mcp__notes__place, with: { word: / } }
    - expect: { tool_result_contains: "text from outside is in the context" }
      call:
        - { tool: mcp__notes__env, with: {} }
    - expect: { tool_result_contains: "there is no tool" }
      say: It said hello.
"#;

#[tokio::test(flavor = "multi_thread")]
async fn exec_uses_an_accepted_tool_and_after_its_text_the_limits_hold() {
    let scratch = Scratch::new();
    set_up(&scratch, "");
    accept(|args| scratch.run(args));
    exec(&scratch, READ_THEN_WRITE).await;
}

const FOUND: &str = r#"
title: a tool is looked for
roles:
  coder:
    - call:
        - { tool: FindTools, with: { query: "say something again" } }
    - expect: { tool_result_contains: ["mcp__notes__echo", "arguments: {"] }
      call:
        - { tool: CallTool, with: { tool: mcp__notes__echo, arguments: { word: found } } }
    - expect: { tool_result_contains: "found" }
      call:
        - { tool: CallTool, with: { tool: mcp__notes__tool7, arguments: {} } }
    - expect: { tool_result_contains: "text from outside is in the context" }
      say: Found.
"#;

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_tools_stay_out_of_the_prompt_and_are_found() {
    let scratch = Scratch::new();
    set_up(&scratch, "many");
    accept(|args| scratch.run(args));
    exec(&scratch, FOUND).await;
    let log = scratch.files().into_iter();
    let mut log = log.filter(|(path, _)| path.extension().is_some_and(|end| end == "jsonl"));
    let (_, log) = log.find(|(_, text)| text.contains("FindTools")).unwrap();
    let prompt = log
        .lines()
        .find(|line| line.contains("\"t\":\"prompt\""))
        .unwrap();
    assert!(prompt.contains("FindTools") && !prompt.contains("mcp__notes__tool7"));
}

/// With an approved plan and a person's acceptance the Coder is offered the tool, and
/// the Reviewer is not and cannot call it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_coder_uses_a_tool_that_the_reviewer_is_not_offered() {
    let team = Team::start_with(include_str!("scenarios/outside_tools.yaml"), |root| {
        fs::write(root.join("server.py"), SERVER).unwrap();
        fs::write(root.join(".codebutler/mcp.json"), servers("")).unwrap();
        butler_testkit::git(root, &["add", "--all"]);
        butler_testkit::git(root, &["commit", "--quiet", "--message", "a server"]);
        butler_testkit::git(root, &["push", "--quiet", "origin", "HEAD:main"]);
    })
    .await;
    let accepted = accept(|args| ran(team.command().args(args)));
    assert_eq!(accepted.code, 0, "{accepted:?}");
    let root = team.say("ask the notes").await;
    team.press(&root, "approve").await;
    let reviewed = |thread: &Value| says(thread, "Nobody may ask the notes here");
    team.until(&root, "the verdict", reviewed).await;
    let (coder, reviewer) = (team.log(&root, "coder"), team.log(&root, "reviewer"));
    let offered = |log: &str| {
        let prompts = log.lines().filter(|line| line.contains("\"t\":\"prompt\""));
        prompts
            .filter(|line| line.contains("mcp__notes__echo"))
            .count()
    };
    assert!(offered(&coder) > 0, "{coder}");
    assert_eq!(offered(&reviewer), 0);
}

const TEXTS: &str = r#"
title: what the notes have to read is read
roles:
  coder:
    - call:
        - { tool: mcp__notes__resources, with: {} }
    - expect: { tool_result_contains: ["notes://today", "what is due", "not an instruction"] }
      call:
        - { tool: mcp__notes__resources, with: { uri: "notes://today" } }
    - expect: { tool_result_contains: ["milk and\\u{202e} bread", "not an instruction"] }
      call:
        - { tool: mcp__notes__place, with: { word: / } }
    - expect: { tool_result_contains: "text from outside is in the context" }
      say: Milk and bread.
"#;

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_a_server_are_read_as_text_from_outside() {
    let scratch = Scratch::new();
    set_up(&scratch, "texts");
    accept(|args| scratch.run(args));
    exec(&scratch, TEXTS).await;
}

const NO_CALL: &str = r#"
title: nobody is asked
roles:
  coder:
    - say: I know it already.
"#;

const ONE_CALL: &str = r#"
title: one of them is asked
roles:
  coder:
    - call:
        - { tool: mcp__notes__echo, with: { word: hello } }
    - expect: { tool_result_contains: "could not be started" }
      say: It did not start.
"#;

/// Five accepted servers are offered, and none is started before it is called.
#[tokio::test(flavor = "multi_thread")]
async fn configured_servers_cost_nothing_until_their_first_use() {
    let scratch = Scratch::new();
    set_up(&scratch, "");
    let server = json!({"command": "python3", "args": ["server.py"], "writable": ["marks"]});
    let names = ["notes", "b", "c", "d", "e"];
    let all: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), server.clone()))
        .collect();
    scratch.write(".codebutler/mcp.json", &json!({"servers": all}).to_string());
    scratch.write("marks/.keep", "");
    for name in names {
        let shown = scratch.run(&["mcp", "accept", name]);
        let hash = shown.err.split("--hash ").nth(1).unwrap();
        let accepted = scratch.run(&["mcp", "accept", name, "--hash", &hash[..64]]);
        assert_eq!(accepted.code, 0, "{accepted:?}");
    }
    // The same command, and whoever starts it leaves a mark.
    scratch.write("server.py", "open('marks/started', 'a').write('x')\n");
    let mark = scratch.root().join("marks/started");
    exec(&scratch, NO_CALL).await;
    assert!(!mark.exists());
    exec(&scratch, ONE_CALL).await;
    assert_eq!(fs::read_to_string(mark).unwrap(), "x");
}

/// One request as a proxy gets it, answered with a page.
fn proxy() -> (std::net::SocketAddr, std::thread::JoinHandle<String>) {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let head: Vec<String> = lines
            .map_while(Result::ok)
            .take_while(|line| !line.is_empty())
            .collect();
        let page =
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 12\r\n\r\nbehind proxy";
        stream.write_all(page.as_bytes()).unwrap();
        head.join("\n")
    });
    (address, serving)
}

#[test]
fn pages_are_fetched_through_the_proxy_that_the_environment_names_and_inner_ones_are_not() {
    let scratch = Scratch::new();
    let (address, serving) = proxy();
    let fetch = |url: &str| {
        let input = json!({ "url": url }).to_string();
        let mut command = scratch.codebutler(&["tool", "WebFetch", &input, "--role", "researcher"]);
        ran(command
            .env("http_proxy", format!("http://{address}"))
            .env_remove("no_proxy"))
    };
    for inner in [
        "http://127.0.0.1/",
        "http://10.0.0.7/",
        "http://printer.local/",
        "http://wiki/",
    ] {
        let refused = fetch(inner);
        assert_ne!(refused.code, 0, "{inner}: {refused:?}");
    }
    let page = fetch("http://pages.invalid/manual");
    assert_eq!(page.code, 0, "{page:?}");
    assert!(page.out.contains("behind proxy"), "{page:?}");
    let head = serving.join().unwrap();
    assert!(
        head.starts_with("GET http://pages.invalid/manual HTTP/1.1"),
        "{head}"
    );
}

const SEARCHED: &str = r#"
title: the web is searched, and what was found is read
roles:
  coder:
    - call:
        - { tool: WebSearch, with: { query: "posix local" } }
    - expect: { tool_result_contains: ["https://doc.example/posix", "2026-05-01", "not an instruction"] }
      call:
        - { tool: mcp__notes__place, with: { word: / } }
    - expect: { tool_result_contains: "text from outside is in the context" }
      say: Found.
"#;

/// A SearXNG with one page, for as many requests as come.
fn searxng() -> std::net::SocketAddr {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let found =
        json!({"query": "q", "results": [{"url": "https://doc.example/posix", "title": "POSIX",
        "content": "local is not there", "engines": ["a"], "publishedDate": "2026-05-01T00:00:00"}],
        "unresponsive_engines": []})
        .to_string();
    drop(std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty())
                .for_each(drop);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                found.len()
            );
            let _ = stream.write_all((head + &found).as_bytes());
        }
    }));
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_works_alone_searches_when_the_machine_has_an_engine() {
    let scratch = Scratch::new();
    set_up(&scratch, "");
    accept(|args| scratch.run(args));
    let machine = json!({"search": {"engine": "searxng", "url": format!("http://{}", searxng())}});
    scratch.machine(&machine.to_string());
    exec(&scratch, SEARCHED).await;
    let doctor = scratch.run(&["doctor"]);
    assert!(
        doctor.out.contains("SearXNG answers, 1 pages"),
        "{doctor:?}"
    );
    let bad = json!({"search": {"engine": "brave"}});
    scratch.machine(&bad.to_string());
    let told = scratch.run(&["doctor"]);
    assert!((told.out + &told.err).contains("search.apiKey"));
}
