//! Servers that people use, as they are published on npm and PyPI. Installed by
//! `tests/real/setup.sh <dir>` and named by `CODEBUTLER_MCP_DIR`; without a network.

use std::{path::PathBuf, time::Duration};

use butler_mcp::{Answer, McpError, Reach, Server, ServerSpec, Times, ToolInfo};
use butler_sandbox::{Command, Profile, Stdin, scrubbed_env};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::world::World;

struct Real {
    parts: PathBuf,
    folder: TempDir,
}

impl Real {
    /// Nothing where they are not installed.
    fn new() -> Option<Self> {
        let Some(parts) = std::env::var_os("CODEBUTLER_MCP_DIR") else {
            assert!(
                std::env::var_os("CI").is_none(),
                "CODEBUTLER_MCP_DIR is not set; crates/mcp/tests/real/setup.sh <dir> makes the folder"
            );
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("note.txt"), "remember the milk\n").unwrap();
        let parts = PathBuf::from(parts).canonicalize().unwrap();
        Some(Self { parts, folder })
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// A server of npm (`node_modules/.bin`) or of PyPI (`venv/bin`).
    fn server(&self, name: &str, args: &[&str], env: &[(&str, &str)]) -> Server {
        let places = ["node_modules/.bin", "venv/bin"].map(|bin| self.parts.join(bin).join(name));
        let found = places.iter().find(|place| place.exists());
        let program = found.unwrap_or_else(|| panic!("{name} is not installed"));
        let argv = std::iter::once(program.as_os_str()).chain(args.iter().map(AsRef::as_ref));
        let extra = env.iter().map(|(name, value)| (name.into(), value.into()));
        let mut profile = Profile::new(self.root());
        profile.protected = vec![self.parts.clone()];
        profile.limits.wall = Duration::from_secs(3600);
        Server::new(ServerSpec {
            name: name.to_owned(),
            reach: Reach::Program {
                command: Command {
                    argv: argv.map(Into::into).collect(),
                    env: scrubbed_env("/nobody".as_ref(), extra),
                    cwd: self.root(),
                    stdin: Stdin::Null,
                    direct: Vec::new(),
                    sockets: true,
                },
                profile: Box::new(profile),
            },
            times: Times::default(),
            accepted: None,
        })
    }
}

async fn call(server: &Server, tool: &str, arguments: Value) -> Result<Answer, McpError> {
    let arguments = arguments.as_object().unwrap().clone();
    let cancel = CancellationToken::new();
    let sandbox = Some(World::sandbox());
    server.call(tool, arguments, sandbox, &cancel, None).await
}

/// Lists, calls what must answer with these words and what must fail, and ends it.
async fn check(
    server: Server,
    tools: usize,
    works: Option<(&str, Value, &str)>,
    fails: (&str, Value),
) {
    let name = server.name().to_owned();
    let listing = server.listing(Some(World::sandbox())).await;
    let listing = listing.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(
        listing.tools.len() >= tools,
        "{name}: {}",
        listing.tools.len()
    );
    for tool in &listing.tools {
        assert!(
            tool.parameters()["properties"].is_object(),
            "{name} {}",
            tool.name
        );
    }
    if let Some((tool, arguments, words)) = works {
        let answer = call(&server, tool, arguments).await.unwrap();
        assert!(
            answer.ok && answer.text.contains(words),
            "{name}: {answer:?}"
        );
    }
    let (tool, arguments) = fails;
    match call(&server, tool, arguments).await {
        Ok(answer) => assert!(!answer.ok, "{name}: {answer:?}"),
        Err(error) => assert!(matches!(error, McpError::Refused { .. }), "{name}: {error}"),
    }
    let since = std::time::Instant::now();
    server.end().await;
    assert!(
        since.elapsed() < Duration::from_secs(8),
        "{name} did not end"
    );
}

#[tokio::test]
async fn servers_of_npm_that_need_nobody() {
    let Some(real) = Real::new() else { return };
    let root = real.root();
    let root = root.to_str().unwrap();
    let note = format!("{root}/note.txt");
    let files = real.server("mcp-server-filesystem", &[root], &[]);
    let read = Some(("read_text_file", json!({"path": note}), "remember the milk"));
    check(
        files,
        10,
        read,
        ("read_text_file", json!({"path": "/etc/passwd"})),
    )
    .await;
    let thinking = real.server("mcp-server-sequential-thinking", &[], &[]);
    let thought =
        json!({"thought": "x", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1});
    let works = Some(("sequentialthinking", thought, "totalThoughts"));
    check(thinking, 1, works, ("nothing", json!({}))).await;
    let postgres = real.server("mcp-server-postgres", &["postgres://127.0.0.1:9/x"], &[]);
    check(postgres, 1, None, ("query", json!({"sql": "select 1"}))).await;
}

#[tokio::test]
async fn the_server_that_has_everything() {
    let Some(real) = Real::new() else { return };
    let server = real.server("mcp-server-everything", &[], &[]);
    let listing = server.listing(Some(World::sandbox())).await.unwrap();
    let names: Vec<&str> = listing
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert!(listing.resources);
    let (sandbox, cancel) = (Some(World::sandbox()), CancellationToken::new());
    let lines = server.resources(sandbox, &cancel).await.unwrap();
    let uri = lines[0].split(' ').next().unwrap();
    let text = server.read(uri, sandbox, &cancel).await.unwrap();
    assert!(!text.text.is_empty(), "{lines:?}");
    let picture = names.iter().find(|name| name.contains("image")).unwrap();
    let picture = call(&server, picture, json!({})).await.unwrap();
    assert_eq!(picture.images.len(), 1, "{picture:?}");
    let structured = names
        .iter()
        .find(|name| name.contains("tructured"))
        .unwrap();
    let structured = call(&server, structured, json!({"location": "New York"}))
        .await
        .unwrap();
    assert!(structured.text.contains("temperature"), "{structured:?}");
    let echo = Some(("echo", json!({"message": "hi"}), "hi"));
    check(server, 10, echo, ("echo", json!({}))).await;
}

#[tokio::test]
async fn what_a_server_keeps_is_there_after_it_was_started_again() {
    let Some(real) = Real::new() else { return };
    let file = real.root().join("memory.jsonl");
    let env = [("MEMORY_FILE_PATH", file.to_str().unwrap())];
    let server = real.server("mcp-server-memory", &[], &env);
    let milk =
        json!({"entities": [{"name": "milk", "entityType": "food", "observations": ["white"]}]});
    assert!(call(&server, "create_entities", milk).await.unwrap().ok);
    server.end().await;
    let graph = Some(("read_graph", json!({}), "white"));
    check(
        server,
        5,
        graph,
        ("create_entities", json!({"entities": 7})),
    )
    .await;
}

#[tokio::test]
async fn servers_of_services_answer_without_their_service() {
    let Some(real) = Real::new() else { return };
    let token = ["fake", "token"].join("-");
    let env = |name: &'static str| [(name, token.as_str())];
    let github = real.server(
        "mcp-server-github",
        &[],
        &env("GITHUB_PERSONAL_ACCESS_TOKEN"),
    );
    let issue = json!({"owner": "you", "repo": "app", "issue_number": 1});
    check(github, 20, None, ("get_issue", issue)).await;
    let both = [("SLACK_BOT_TOKEN", token.as_str()), ("SLACK_TEAM_ID", "T1")];
    let slack = real.server("mcp-server-slack", &[], &both);
    let listing = slack.listing(Some(World::sandbox())).await.unwrap();
    assert!(listing.tools.len() > 5);
    // This one says that it failed in words only.
    let answer = call(&slack, "slack_list_channels", json!({}))
        .await
        .unwrap();
    assert!(answer.text.contains("error"), "{answer:?}");
    slack.end().await;
    let figma = real.server("figma-developer-mcp", &["--stdio"], &env("FIGMA_API_KEY"));
    check(figma, 1, None, ("nothing", json!({}))).await;
    let context7 = real.server("context7-mcp", &[], &[]);
    check(context7, 2, None, ("nothing", json!({}))).await;
}

/// The two whose descriptions are too large for a prompt.
#[tokio::test]
async fn large_descriptions_come_whole() {
    let Some(real) = Real::new() else { return };
    let token = ["fake", "token"].join("-");
    let sentry = format!("--access-token={token}");
    let sentry = real.server("sentry-mcp", &[&sentry], &[]);
    let notion = real.server(
        "notion-mcp-server",
        &[],
        &[("NOTION_TOKEN", token.as_str())],
    );
    for server in [sentry, notion] {
        let listing = server.listing(Some(World::sandbox())).await.unwrap();
        let bytes = serde_json::to_string(&listing).unwrap().len();
        assert!(bytes > 30_000, "{}: {bytes}", server.name());
        // More than the room that tools of servers have in a prompt, so a model is told of
        // FindTools instead (`few_tools_are_offered_by_name…` of the tools).
        let described = listing.tools.iter().map(ToolInfo::described);
        assert!(described.sum::<usize>() > 16 << 10, "{}", server.name());
        check(server, 10, None, ("nothing", json!({}))).await;
    }
}

#[tokio::test]
async fn servers_of_pypi() {
    let Some(real) = Real::new() else { return };
    let root = real.root();
    let root = root.to_str().unwrap();
    let git = std::process::Command::new("git")
        .args(["init", "--quiet", root])
        .status();
    assert!(git.unwrap().success());
    let status = Some(("git_status", json!({"repo_path": root}), "note.txt"));
    let git = real.server("mcp-server-git", &["--repository", root], &[]);
    check(
        git,
        5,
        status,
        ("git_status", json!({"repo_path": "/nowhere"})),
    )
    .await;
    let time = real.server("mcp-server-time", &["--local-timezone", "UTC"], &[]);
    let now = Some(("get_current_time", json!({"timezone": "UTC"}), "UTC"));
    check(
        time,
        2,
        now,
        ("get_current_time", json!({"timezone": "nowhere"})),
    )
    .await;
    let fetch = real.server("mcp-server-fetch", &[], &[]);
    check(
        fetch,
        1,
        None,
        ("fetch", json!({"url": "http://127.0.0.1:9/"})),
    )
    .await;
}
