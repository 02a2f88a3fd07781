//! A second worktree of the same repo costs next to nothing: what the first one
//! installed is taken over, without a registry.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use butler_testkit::git;
use serde_json::{Value, json};

use crate::{ecosystems::is_here, registries::Registries, team::Team};

/// As far away as a registry often is. Thirty packages need each other one after the
/// other, so that nobody can ask for them at once.
const FAR: Duration = Duration::from_millis(200);

const PACKAGE: &str = r#"{"name": "app", "version": "1.0.0", "dependencies": {"link-1": "1.0.0"}}"#;

/// What is known of the preparation of a thread's worktree.
fn marker(team: &Team, root: &str) -> PathBuf {
    let thread = format!("{}-{}", team.channel, root.replace('.', "-"));
    let threads = team.scratch.root().join(".codebutler/threads");
    threads.join(thread).join("prepared-worktree.json")
}

fn is_done(marker: &Path) -> bool {
    let text = fs::read_to_string(marker).unwrap_or_default();
    let known: Value = serde_json::from_str(&text).unwrap_or_default();
    known["state"] == "done"
}

/// How long a fresh worktree took from the first look to the last.
async fn takes(team: &Team) -> (Duration, Value) {
    let root = team.say("add a file").await;
    let marker = marker(team, &root);
    team.wait("the preparation", || is_done(&marker)).await;
    let known = fs::read_to_string(&marker).unwrap();
    let known: Value = serde_json::from_str(&known).unwrap();
    let begun = Duration::from_millis(known["at_ms"].as_u64().unwrap());
    let ended = fs::metadata(&marker).unwrap().modified().unwrap();
    let ended = ended.duration_since(UNIX_EPOCH).unwrap();
    (ended - begun, team.thread(&root).await.unwrap())
}

async fn a_tenth(tool: &str, files: &[(&str, &str)], prepare: &[&str], installed: &str) {
    if !is_here(tool) {
        return;
    }
    let registries = Registries::start_slow(FAR);
    let team = Team::start_prepared_in(
        include_str!("scenarios/prepare.yaml"),
        |config| config["prepare"] = json!(prepare),
        |root| {
            for (name, text) in files {
                fs::write(root.join(name), text).unwrap();
            }
            git(root, &["add", "--all"]);
            git(root, &["commit", "--quiet", "--message", "the project"]);
            git(root, &["push", "--quiet", "origin", "HEAD:main"]);
        },
        &registries.variables(),
    )
    .await;
    let (first, thread) = takes(&team).await;
    assert!(registries.asked() >= 30, "{thread:#}");
    let (second, thread) = takes(&team).await;
    assert_eq!(registries.asked(), 0, "no network: {thread:#}");
    let branches = fs::read_dir(team.scratch.root().join(".codebutler/branches")).unwrap();
    let filled = branches.flatten().filter(|one| {
        let own = !one.file_name().to_string_lossy().starts_with('_');
        own && one.path().join(installed).exists()
    });
    assert_eq!(filled.count(), 2, "both have {installed}");
    assert!(
        second * 10 <= first,
        "the first took {first:?}, the second {second:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_node_project_is_ready_in_a_tenth_of_the_time_and_without_network() {
    let files = [("package.json", PACKAGE)];
    let prepare = ["npm install --no-package-lock"];
    a_tenth("npm", &files, &prepare, "node_modules/link-30").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_python_project_is_ready_in_a_tenth_of_the_time_and_without_network() {
    let files = [("requirements.txt", "link-1==1.0.0\n")];
    let prepare = [
        "python3 -m venv .venv",
        ".venv/bin/pip install -r requirements.txt",
    ];
    let installed = ".venv/bin/pip";
    a_tenth("python3", &files, &prepare, installed).await;
}
