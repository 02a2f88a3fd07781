//! A fresh worktree is made ready to build: by the repo's own commands, in the
//! jail, once, and again after a kill.

use std::{fs, path::PathBuf};

use butler_testkit::git;
use serde_json::{Value, json};

use crate::team::{Team, says};

/// Counts its runs, waits for the word if there is to be one, and installs.
fn set_up(config: &mut Value) {
    config["prepare"] = json!(["sh setup.sh"]);
    config["checks"] = json!({"test": "cat node_modules/installed"});
}

fn script(team_root: &std::path::Path, text: &str) {
    fs::write(team_root.join("setup.sh"), text).unwrap();
    git(team_root, &["add", "setup.sh"]);
    git(team_root, &["commit", "--quiet", "--message", "set-up"]);
    git(team_root, &["push", "--quiet", "origin", "HEAD:main"]);
}

/// The folder of the thread's worktree, or of its review.
fn folder(team: &Team, review: bool) -> Option<PathBuf> {
    let branches = team.scratch.root().join(".codebutler/branches");
    fs::read_dir(branches).ok()?.flatten().find_map(|one| {
        let name = one.file_name().into_string().ok()?;
        let wanted = if review {
            name.starts_with("_review-")
        } else {
            !name.starts_with('_')
        };
        wanted.then(|| one.path())
    })
}

fn runs(team: &Team, review: bool) -> usize {
    let file = folder(team, review).map(|folder| folder.join("node_modules/runs"));
    let text = file.and_then(|file| fs::read_to_string(file).ok());
    text.unwrap_or_default().lines().count()
}

fn told(thread: &Value, words: &str) -> usize {
    let messages = thread["messages"].as_array().into_iter().flatten();
    messages
        .filter(|one| {
            one["text"]
                .as_str()
                .is_some_and(|text| text.contains(words))
        })
        .count()
}

/// Coder and Reviewer are green only because `prepare` ran; it ran once in each
/// folder, saw no keys, and what it installed is no part of the change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checks_that_need_the_preparation_are_green_for_coder_and_reviewer() {
    let team = Team::start_prepared(include_str!("scenarios/prepare.yaml"), set_up, |root| {
        let keys = root.parent().unwrap().join("machine/config.json");
        assert!(keys.exists());
        let text = format!(
            "mkdir -p node_modules && echo run >> node_modules/runs && ! cat {} && echo yes > node_modules/installed\n",
            keys.display()
        );
        script(root, &text);
    })
    .await;
    let root = team.say("add a file").await;
    let thread = team
        .until(&root, "the word that it is prepared", |thread| {
            says(thread, "The worktree is prepared: `sh setup.sh`")
        })
        .await;
    assert_eq!(told(&thread, "Preparing"), 0, "one message, edited");
    team.press(&root, "approve").await;
    let thread = team
        .until(&root, "the verdict", |thread| {
            says(thread, "The file says too little")
        })
        .await;
    assert_eq!(told(&thread, "is prepared"), 2, "worktree and review");
    assert_eq!((runs(&team, false), runs(&team, true)), (1, 1));
    let files = git(
        &folder(&team, false).unwrap(),
        &["ls-tree", "-r", "--name-only", "HEAD"],
    );
    assert!(
        files.contains("new.txt") && !files.contains("node_modules"),
        "{files}"
    );
}

/// `kill -9` in the middle: the role comes back, begins again, and tells it in the
/// same message.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_preparation_is_begun_again_and_ends_once() {
    let team = Team::start_prepared(include_str!("scenarios/prepare.yaml"), set_up, |root| {
        script(
            root,
            "mkdir -p node_modules && echo run >> node_modules/runs\nuntil [ -e node_modules/go ]; do sleep 0.05; done\necho yes > node_modules/installed\n",
        );
    })
    .await;
    let root = team.say("add a file").await;
    team.wait("the preparation", || runs(&team, false) == 1)
        .await;
    team.until(&root, "the plan", |thread| says(thread, ":approve"))
        .await;
    team.kill("pm");
    team.wait("the second preparation", || runs(&team, false) == 2)
        .await;
    let thread = team.thread(&root).await.unwrap();
    assert_eq!(told(&thread, "Preparing the worktree"), 1);
    team.press(&root, "approve").await;
    let go = folder(&team, false).unwrap().join("node_modules/go");
    fs::write(go, "").unwrap();
    let thread = team
        .until(&root, "the hand-over", |thread| {
            says(thread, "pull request #1 is ready")
        })
        .await;
    assert_eq!(told(&thread, "The worktree is prepared"), 1);
    assert_eq!(runs(&team, false), 2);
    // The Reviewer's checkout waits for its own word; let it go.
    team.wait("the review's preparation", || runs(&team, true) == 1)
        .await;
    let go = folder(&team, true).unwrap().join("node_modules/go");
    fs::write(go, "").unwrap();
}

/// A failure is told with the end of what was written, and the thread goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_preparation_is_told_and_stops_nothing() {
    let team = Team::start_prepared(include_str!("scenarios/unprepared.yaml"), set_up, |root| {
        script(root, "echo the registry said no\nexit 7\n");
    })
    .await;
    let root = team.say("add a file").await;
    let thread = team
        .until(&root, "the failure", |thread| {
            says(thread, "preparation failed: `sh setup.sh`, exit 7")
        })
        .await;
    assert!(says(&thread, "the registry said no"));
    team.press(&root, "approve").await;
    team.until(&root, "the Coder's word", |thread| {
        says(thread, "There is nothing installed here")
    })
    .await;
}
