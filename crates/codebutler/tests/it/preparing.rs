//! A fresh worktree is made ready to build: by the repo's own commands, in the
//! sandbox, once, and again after a kill.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
};

use butler_testkit::git;
use serde_json::{Value, json};

use crate::team::{Team, says};

/// Counts its runs, waits for the word if there is to be one, and installs.
fn set_up(config: &mut Value) {
    config["prepare"] = json!(["sh setup.sh"]);
    config["checks"] = json!({"test": "cat node_modules/installed"});
}

fn script(team_root: &Path, text: &str) {
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
    assert_eq!(told(&thread, "is prepared"), 1, "the review took it over");
    assert_eq!((runs(&team, false), runs(&team, true)), (1, 1));
    // The base was made ready like the worktree, and no test means no proof.
    assert!(
        says(&thread, "test: passed; on the base passed"),
        "{thread:#}"
    );
    assert!(says(
        &thread,
        "no test shows the change: it adds and changes none"
    ));
    assert_eq!(told(&thread, "on the base failed"), 0);
    let files = git(
        &folder(&team, false).unwrap(),
        &["ls-tree", "-r", "--name-only", "HEAD"],
    );
    assert!(
        files.contains("new.txt") && !files.contains("node_modules"),
        "{files}"
    );
}

/// A Reviewer that reads the change and runs nothing needs no packages.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_without_a_command_is_not_prepared() {
    let whole = include_str!("scenarios/prepare.yaml");
    let (before, review) = whole.split_once("  reviewer:\n").unwrap();
    let (_, verdict) = review.split_once("passed: 1 check\" }\n").unwrap();
    let verdict = verdict.replacen("      call:", "    - call:", 1);
    let scenario = format!("{before}  reviewer:\n{verdict}");
    let team = Team::start_prepared(&scenario, set_up, |root| {
        let text = "mkdir -p node_modules && echo run >> node_modules/runs && echo yes > node_modules/installed\n";
        script(root, text);
    })
    .await;
    let root = team.say("add a file").await;
    team.press(&root, "approve").await;
    team.until(&root, "the verdict", |thread| {
        says(thread, "The file says too little")
    })
    .await;
    let review = folder(&team, true).unwrap();
    assert!(review.join("new.txt").exists(), "it was laid out");
    assert!(!review.join("node_modules").exists(), "and nothing else");
    assert_eq!(runs(&team, false), 1);
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
    // What a kill left behind is not taken over: the base waits for its own word.
    let base = team
        .scratch
        .root()
        .join(".codebutler/branches/_checks/node_modules");
    team.wait("the base", || base.join("runs").exists()).await;
    fs::write(base.join("go"), "").unwrap();
    let thread = team
        .until(&root, "the hand-over", |thread| {
            says(thread, "pull request #1 is ready")
        })
        .await;
    assert_eq!(told(&thread, "The worktree is prepared"), 1);
    assert_eq!(runs(&team, false), 2);
    // The Reviewer's checkout takes over what was made for the base.
    team.wait("the review's preparation", || runs(&team, true) == 1)
        .await;
}

/// A failure is told with the end of what was written, and the thread goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_preparation_is_told_and_stops_nothing() {
    let team = Team::start_prepared(include_str!("scenarios/unprepared.yaml"), set_up, |root| {
        let text = "mkdir -p node_modules half && echo x > node_modules/x && echo x > half/x\nfor n in 1 2 3; do echo line $n; done\necho the registry said no\nexit 7\n";
        script(root, text);
    })
    .await;
    let root = team.say("add a file").await;
    let thread = team
        .until(&root, "the failure", |thread| {
            says(thread, "preparation failed: `sh setup.sh`, exit 7")
        })
        .await;
    assert!(says(&thread, "Its last words: `the registry said no`."));
    assert!(!says(&thread, "line 2"), "the rest is folded away");
    let name = "prepare-worktree.log";
    let threads = team.scratch.root().join(".codebutler/threads");
    let logs = fs::read_dir(threads).unwrap().flatten();
    let log = logs
        .map(|one| one.path().join(name))
        .find(|log| log.exists());
    let log = fs::read_to_string(log.unwrap()).unwrap();
    assert!(log.contains("line 2"), "{log}");
    let at = folder(&team, false).unwrap();
    assert_eq!(
        git(&at, &["status", "--porcelain"]),
        "",
        "nothing to commit"
    );
    team.press(&root, "approve").await;
    team.until(&root, "the Coder's word", |thread| {
        says(thread, "There is nothing installed here")
    })
    .await;
}

/// What an installer needs and a sandbox without network does not have.
fn installs_from(listener: &TcpListener) -> String {
    let port = listener.local_addr().unwrap().port();
    format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' || exit 7\nmkdir -p node_modules && echo run >> node_modules/runs && echo yes > node_modules/installed\n"
    )
}

/// Whoever fixes what was missing says so in the thread, and that is enough.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_preparation_is_tried_again_when_somebody_speaks() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap();
    let text = installs_from(&port);
    drop(port);
    let scenario = include_str!("scenarios/tried_again.yaml");
    let team = Team::start_prepared(scenario, set_up, |root| script(root, &text)).await;
    let root = team.say("add a file").await;
    team.press(&root, "approve").await;
    team.until(&root, "the Coder's question", |thread| {
        says(thread, "Nothing is installed. What now?")
    })
    .await;
    assert_eq!(runs(&team, false), 0);
    let _registry = TcpListener::bind(address).unwrap();
    team.reply(&root, "the registry is back").await;
    let thread = team
        .until(&root, "the way on", |thread| {
            says(thread, "Now it is green.")
        })
        .await;
    assert_eq!(runs(&team, false), 1);
    assert!(says(&thread, "The worktree is prepared"));
}

/// Text from outside in a thread takes the network away from what the thread
/// changed, never from what the default branch needs: the review is green, also
/// when nothing was kept from before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_is_prepared_although_text_from_outside_was_read() {
    let registry = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = installs_from(&registry);
    let scenario = include_str!("scenarios/tainted_review.yaml");
    let team = Team::start_prepared(scenario, set_up, |root| {
        skill(root, "look", "look at {pr}", "pm", "");
        script(root, &text);
        foreign_pull(root);
    })
    .await;
    let root = team.say("look at 1").await;
    team.until(&root, "the word that it is prepared", |thread| {
        says(thread, "The worktree is prepared")
    })
    .await;
    let log = team.log(&root, "pm");
    assert!(
        log.contains("GHStatus") && log.contains("<outside-"),
        "{log}"
    );
    // As if there had never been one.
    fs::remove_dir_all(team.scratch.root().join(".codebutler/cache/prepared")).unwrap();
    team.press(&root, "approve").await;
    let thread = team
        .until(&root, "the verdict", |thread| {
            says(thread, "The file says too little")
        })
        .await;
    assert_eq!(told(&thread, "preparation failed"), 0, "{thread:#}");
    assert_eq!(runs(&team, true), 1);
}

/// A skill by which a role is offered the tool that reads pull requests.
pub(crate) fn skill(root: &Path, name: &str, trigger: &str, role: &str, more: &str) {
    let text = format!(
        "# {name}\n\nLook at what others wrote.\n\n## Trigger\n{trigger}\n\n## Agent\n{role}\n{more}\n## Prompt\nSee {{{{pr}}}} with `GHStatus`, then go on.\n"
    );
    let path = root.join(format!(".codebutler/skills/{name}.md"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", "a skill"]);
    git(root, &["push", "--quiet", "origin", "HEAD:main"]);
}

/// A pull request of somebody else: reading it brings text from outside.
pub(crate) fn foreign_pull(root: &Path) {
    git(
        root,
        &[
            "push",
            "--quiet",
            "origin",
            "HEAD:refs/heads/codebutler/theirs-aaaaaa",
        ],
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let opening = async {
        let repo = butler_repo::Repo::open(root).await.unwrap();
        let forge = butler_repo::Forge::of(&repo, &butler_repo::ForgeHosts::default())
            .await
            .unwrap();
        let new = butler_repo::NewPull {
            branch: butler_protocol::BranchName::new("codebutler/theirs-aaaaaa"),
            base: None,
            title: "Theirs".to_owned(),
            body: String::new(),
            draft: false,
        };
        let cancel = tokio_util::sync::CancellationToken::new();
        forge.create(&new, &cancel).await.unwrap();
    };
    std::thread::scope(|scope| {
        scope
            .spawn(|| runtime.unwrap().block_on(opening))
            .join()
            .unwrap();
    });
}
