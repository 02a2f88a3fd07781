//! Killed at any step, and started again: the thread ends where it would have
//! ended, and nothing was done twice.
//!
//! The victim is this test binary itself, started again with a fault point
//! armed; it kills itself with SIGKILL there.

use std::{
    ffi::OsString,
    path::Path,
    process::{Command, Output},
    sync::atomic::{AtomicU32, Ordering},
};

use butler_protocol::{FAULT_VARIABLE, FaultPoint, Role, on_fault};
use butler_repo::{Forge, ForgeHosts, Merge, Repo};
use butler_testkit::{GitHub, ScratchRepo};

use crate::{forge_suite::remark, support::*};

const ROOT: &str = "CODEBUTLER_TEST_ROOT";
const STEPS: &[&str] = &[
    "repo.before-branch",
    "repo.after-branch",
    "repo.before-add",
    "repo.after-add",
    "repo.before-files",
    "repo.after-files",
    "repo.after-unlock",
    "repo.before-push",
    "repo.after-push",
    "repo.before-commit",
    "repo.after-commit",
    "repo.after-push:2",
    "repo.before-rebase",
    "repo.after-rebase",
    "repo.before-save",
    "repo.after-save",
    "repo.before-remove",
    "repo.after-remove",
    "repo.before-branch-drop",
];
const LOCAL: &[&str] = &[
    "forge.before-swap",
    "forge.after-swap",
    "forge.before-swap:2",
    "forge.after-swap:2",
    "forge.before-merge",
    "forge.after-merge",
];
const GITHUB: &[&str] = &[
    "forge.before-request",
    "forge.after-request",
    "forge.before-request:2",
    "forge.after-request:2",
    "forge.after-request:3",
    "forge.before-request:4",
    "forge.after-request:4",
];

pub(crate) fn die(name: &'static str) {
    static PASSED: AtomicU32 = AtomicU32::new(0);
    let armed = std::env::var(FAULT_VARIABLE).ok();
    if let Some(point) = armed.as_deref().and_then(FaultPoint::parse)
        && point.name == name
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == point.passage
    {
        let me = std::process::id().to_string();
        Command::new("kill").args(["-9", &me]).status().unwrap();
        std::thread::park();
    }
}

/// Not a test of its own: the life of one thread, for the tests below to kill.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the victim of the crash tests"]
async fn victim() {
    let Some(root) = std::env::var_os(ROOT) else {
        return;
    };
    on_fault(die);
    let repo = Repo::open(Path::new(&root)).await.unwrap();
    repo.reconcile(&go()).await.unwrap();
    let forge = Forge::of(&repo, &ForgeHosts::default()).await.unwrap();
    // What a role does after a start: look where the thread stands, go on.
    let branch = butler_repo::branch(&thread(1), "Greet");
    let before = forge.find(&branch, &go()).await.unwrap();
    let ended = before.is_some_and(|p| p.state != butler_repo::PullState::Open);
    if !ended {
        let worktree = repo.create(&thread(1), "Greet", &go()).await.unwrap();
        worktree.settle(&go()).await.unwrap();
        write(&worktree, "hello.txt", "hello\n");
        worktree
            .commit_all(Role::Coder, "Say hello", &key("hello"), &go())
            .await
            .unwrap();
        worktree.push(&go()).await.unwrap();
        worktree.rebase_on_default(&go()).await.unwrap();
        let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
        forge
            .comment(opened.number, &remark("once", None), &go())
            .await
            .unwrap();
        write(&worktree, "only-here.txt", "unsaved");
    }
    let opened = forge.find(&branch, &go()).await.unwrap().unwrap();
    forge
        .merge(&Merge::of(opened.number, &opened.head), &go())
        .await
        .unwrap();
    repo.remove(&thread(1), &go()).await.unwrap();
}

fn run(root: &Path, fault: &str, variables: &[(OsString, OsString)]) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crashes::victim", "--ignored", "--nocapture"])
        .env(ROOT, root)
        .env(FAULT_VARIABLE, fault)
        .envs(variables.iter().cloned())
        .output()
        .unwrap()
}

/// Kills a life at one step, twice, and lets the third one go through.
fn survive(scratch: &ScratchRepo, fault: &str, variables: &[(OsString, OsString)]) {
    // The clone has not seen this: the thread will have to be rebased.
    scratch.push_to_main("meanwhile.txt", "meanwhile");
    let first = run(scratch.root(), fault, variables);
    assert!(!first.status.success(), "{fault} was never passed");
    run(scratch.root(), fault, variables);
    let last = run(scratch.root(), "none", variables);
    assert!(
        last.status.success(),
        "{fault}: {}",
        String::from_utf8_lossy(&last.stderr)
    );
    assert_eq!(
        scratch.remote_file("main", "hello.txt").as_deref(),
        Some("hello\n"),
        "{fault}"
    );
    let log = scratch.remote_git(&["log", "--format=%s", "main"]);
    assert_eq!(
        log, "Add a greeting (#1)\nsomebody changes meanwhile.txt\nfirst commit",
        "{fault}"
    );
    assert_eq!(scratch.remote_branches(), ["main"], "{fault}");
    let left = scratch.clone.git(&["worktree", "list"]);
    assert_eq!(left.lines().count(), 1, "{fault}: {left}");
    let saved = scratch.clone.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/codebutler/saved/",
    ]);
    let kept = |name: &str| {
        scratch
            .clone
            .git(&["ls-tree", "--name-only", name])
            .contains("only-here.txt")
    };
    assert!(
        saved.lines().any(kept),
        "{fault}: unsaved work is kept: {saved}"
    );
}

fn one_comment(scratch: &ScratchRepo, fault: &str) {
    let json = scratch.remote_git(&["show", "refs/codebutler/pr/1:pr.json"]);
    assert_eq!(json.matches("Looks right.").count(), 1, "{fault}: {json}");
    assert_eq!(
        scratch
            .remote_git(&["for-each-ref", "refs/codebutler/pr/"])
            .lines()
            .count(),
        1,
        "{fault}"
    );
}

fn with_local_forge<'a>(faults: impl IntoIterator<Item = &'a &'a str>) {
    for fault in faults {
        let scratch = ScratchRepo::new();
        survive(&scratch, fault, &[]);
        one_comment(&scratch, fault);
    }
}

fn with_github(faults: &[&str]) {
    if !crate::github::has_gh() {
        return;
    }
    for fault in faults {
        let scratch = ScratchRepo::new();
        let github = GitHub::serve(&scratch);
        survive(&scratch, fault, &github.variables());
        assert_eq!(github.comments(1), 1, "{fault}");
    }
}

#[test]
fn a_killed_thread_goes_on_with_the_local_forge() {
    with_local_forge(&["repo.after-add", "repo.after-commit", "forge.after-merge"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_thread_goes_on_with_github() {
    with_github(&["forge.after-request:3"]);
}

#[test]
fn a_thread_killed_at_any_step_goes_on_with_the_local_forge() {
    if nightly() {
        with_local_forge(STEPS.iter().chain(LOCAL));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_killed_at_any_step_goes_on_with_github() {
    if nightly() {
        with_github(GITHUB);
    }
}
