//! A person reviews by clicks: a comment on a line becomes a finding for the Coder, the
//! Coder fixes it, and what is merged is the fix. Real processes, the page in a browser.

use std::{path::Path, process::Stdio};

use tokio::process::Command;

use crate::{browser::driver, team::Team};

const STORY: &str = include_str!("scenarios/line_comment.yaml");

async fn story(size: &str) {
    let Some(dir) = driver() else { return };
    let team = Team::start(STORY).await;
    let root = team.say("greet people").await;
    let link = team.command().args(["link"]).output().unwrap();
    let link = String::from_utf8(link.stdout).unwrap();
    let link = link
        .split_whitespace()
        .find(|word| word.contains("/login?code="));
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hub/tests/browser");
    let output = Command::new("node")
        .arg(scripts.join("line_comment.mjs"))
        .env("BROWSER_DIR", dir)
        .env("LOGIN", link.unwrap())
        .env("THREAD", format!("/c/{}/{root}", team.channel))
        .env("SIZE", size)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{size}: {}\n{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    let merged = team.scratch.remote_git(&["show", "main:greeting.txt"]);
    assert_eq!(merged.trim(), "hello ana");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_comment_on_a_line_becomes_a_finding_and_a_fix_on_a_desktop() {
    story("desktop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_comment_on_a_line_becomes_a_finding_and_a_fix_on_a_phone() {
    story("phone").await;
}
