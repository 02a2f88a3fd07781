//! Slack's own SDKs against the hub, unchanged. They live in a folder made by
//! `tests/sdk/setup.sh <dir>` and named by `CODEBUTLER_SDK_DIR`.

use std::{path::PathBuf, process::Stdio};

use butler_hub::{HubTls, Tokens};
use butler_protocol::Role;
use tokio::{process::Command, time::timeout};

use crate::world::{PATIENCE, World};

/// Where the SDKs are. Without them these tests are skipped at home, and fail
/// where everything must be tried.
#[expect(clippy::print_stderr, reason = "a skipped test must say so")]
fn sdks() -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os("CODEBUTLER_SDK_DIR") {
        return Some(dir.into());
    }
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "CODEBUTLER_SDK_DIR is not set; crates/hub/tests/sdk/setup.sh <dir> makes the folder"
    );
    eprintln!(
        "SKIPPED: no Slack SDKs; run crates/hub/tests/sdk/setup.sh <dir>, set CODEBUTLER_SDK_DIR"
    );
    None
}

async fn run(script: &str) {
    run_in(script, World::start().await, None).await;
}

/// The same with a hub that encrypts, whose certificate the SDK is given as a file.
async fn run_encrypted(script: &str) {
    let mut world = World::start().await;
    world.down().await;
    world.tls = Some(HubTls::Own);
    world.up().await;
    let pem = Tokens::open(world.dir.path()).unwrap().own_certificate();
    let file = world.dir.path().join("certificate.pem");
    std::fs::write(&file, pem.unwrap().unwrap()).unwrap();
    run_in(script, world, Some(file)).await;
}

async fn run_in(script: &str, world: World, certificate: Option<PathBuf>) {
    let Some(dir) = sdks() else { return };
    let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/sdk");
    let program = if script.ends_with(".py") {
        dir.join("venv/bin/python")
    } else {
        PathBuf::from("node")
    };
    let agent = &world.repo.agents[&Role::Coder];
    let mut command = Command::new(program);
    command
        .arg(scripts.join(script))
        .env("HUB", world.base.as_str())
        .env("SDK_DIR", &dir)
        .env("CHANNEL", world.channel().as_str())
        .env("BOT_TOKEN", agent.bot.expose())
        .env("APP_TOKEN", agent.app.expose())
        .env("OTHER_TOKEN", world.repo.agents[&Role::Pm].bot.expose())
        .env("PERSON_TOKEN", world.ana.token.expose())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .kill_on_drop(true)
        .stdin(Stdio::null());
    // The names by which Python and Node know it.
    for name in ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"] {
        command.envs(certificate.iter().map(|file| (name, file)));
    }
    // Python's SDK would send calls to this machine through a proxy.
    for name in [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        command.env_remove(name);
    }
    let output = timeout(PATIENCE * 4, command.output())
        .await
        .unwrap()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success() && text(&output.stdout).contains("ok"),
        "{script}: {}\n{}\n{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
}

#[tokio::test]
async fn python_web_client() {
    run("web_client.py").await;
}

#[tokio::test]
async fn python_web_client_encrypted() {
    run_encrypted("web_client.py").await;
}

#[tokio::test]
async fn node_bolt_encrypted() {
    run_encrypted("bolt_app.mjs").await;
}

#[tokio::test]
async fn python_odd_arguments() {
    run("odd_calls.py").await;
}

#[tokio::test]
async fn python_socket_mode_client() {
    run("socket_client.py").await;
}

#[tokio::test]
async fn python_bolt() {
    run("bolt_app.py").await;
}

#[tokio::test]
async fn node_bolt() {
    run("bolt_app.mjs").await;
}

#[tokio::test]
async fn python_what_bot_authors_expect() {
    run("bot_authors.py").await;
}

#[tokio::test]
async fn python_own_events_and_missing_acknowledgements() {
    run("own_events.py").await;
}

#[tokio::test]
async fn python_bolt_modals_shortcuts_and_commands() {
    run("bolt_modals.py").await;
}

#[tokio::test]
async fn node_bolt_modals_shortcuts_and_commands() {
    run("bolt_modals.mjs").await;
}

#[tokio::test]
async fn python_details_of_answers() {
    run("details.py").await;
}

#[tokio::test]
async fn python_answers_that_come_too_late() {
    run("late_answers.py").await;
}

#[tokio::test]
async fn python_several_connections_answers_fields_and_options() {
    run("connections.py").await;
}
