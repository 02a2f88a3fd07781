//! RunChecks and its receipts, with real commands.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use butler_protocol::{CheckCounts, CommitSha, Receipt, Role, Sha256Hex, ToolOutcome, TreeHash};
use butler_tools::{Check, DiffMaker, LaidOut, Past, ToolContext, TreeHasher};
use futures_util::future::BoxFuture;
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, call};

fn check(name: &str, command: &str) -> Check {
    Check {
        name: name.into(),
        command: command.into(),
    }
}

/// The hash of one file stands for the tree.
fn tree_of(fixture: &Fixture, file: &str) -> TreeHasher {
    let path = fixture.root.join(file);
    Arc::new(move |_| {
        let path = path.clone();
        Box::pin(async move {
            let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
            Ok(TreeHash::new(Sha256Hex::of(bytes).as_str()))
        })
    })
}

fn diff(text: &'static str) -> DiffMaker {
    Arc::new(move |_| Box::pin(async move { Ok(text.to_owned()) }))
}

fn with(fixture: &mut Fixture, change: impl FnOnce(ToolContext) -> ToolContext) {
    fixture.context = change(fixture.context.clone());
}

const GREEN: &str = "echo 'test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured'";
const RED: &str = "echo broken; exit 7";

#[tokio::test]
async fn a_whole_run_leaves_a_receipt_for_this_tree() {
    let mut fixture = Fixture::with_sandbox(vec![check("test", GREEN), check("lint", RED)]);
    fixture.write("code", "one");
    let tree = tree_of(&fixture, "code");
    with(&mut fixture, |context| context.with_tree(tree));
    let outcome = fixture.call("RunChecks", json!({})).await;
    assert!(!outcome.ok);
    assert!(
        outcome
            .text
            .starts_with("failed: 1 of 2 checks\nok test: exit 0"),
        "{}",
        outcome.text
    );
    assert!(
        outcome
            .text
            .contains(", 3 passed, 0 failed, 1 skipped\nFAILED lint: exit 7"),
        "{}",
        outcome.text
    );
    assert!(
        outcome
            .text
            .contains("--- lint: echo broken; exit 7 ---\nbroken"),
        "{}",
        outcome.text
    );
    let id = call("RunChecks", json!({})).id;
    let receipt = fixture.context.take_receipt(&id).unwrap();
    assert!(!receipt.green());
    assert_eq!(receipt.tree.as_str(), Sha256Hex::of("one").as_str());
    assert_eq!(
        receipt.checks[0].counts,
        Some(CheckCounts {
            passed: 3,
            failed: 0,
            skipped: 1
        })
    );
    assert_eq!(receipt.checks[1].exit_code, Some(7));
    assert_eq!(fixture.context.take_receipt(&id), None, "taken once");
}

#[tokio::test]
async fn less_than_a_whole_run_on_one_tree_leaves_none() {
    let mut fixture =
        Fixture::with_sandbox(vec![check("test", GREEN), check("fmt", "echo two > code")]);
    fixture.write("code", "one");
    let id = call("RunChecks", json!({})).id;
    let blind = fixture.call("RunChecks", json!({})).await;
    assert!(
        blind
            .text
            .contains("no receipt: the state of the files is not known"),
        "{}",
        blind.text
    );
    let tree = tree_of(&fixture, "code");
    with(&mut fixture, |context| context.with_tree(tree));
    fixture.write("code", "one");
    let one = fixture.call("RunChecks", json!({"name": "test"})).await;
    assert!(
        one.ok && one.text.contains("no receipt: only one check ran"),
        "{}",
        one.text
    );
    let moved = fixture.call("RunChecks", json!({})).await;
    assert!(
        moved.text.contains("no receipt: files changed while"),
        "{}",
        moved.text
    );
    assert_eq!(fixture.context.take_receipt(&id), None);
    let again = fixture.call("RunChecks", json!({})).await;
    assert!(
        again.ok && again.text.contains("receipt for tree"),
        "{}",
        again.text
    );
    assert!(fixture.context.take_receipt(&id).unwrap().green());
}

/// Where the branch began: a folder, copied for every run.
struct Began {
    base: PathBuf,
    branch: PathBuf,
    scratch: PathBuf,
    commit: Mutex<CommitSha>,
    laid_out: AtomicUsize,
}

impl Began {
    /// The files of the base.
    fn with(fixture: &Fixture, files: &[(&str, &str)]) -> (TempDir, Arc<Self>) {
        let folder = TempDir::new().unwrap();
        let base = folder.path().join("base");
        for (name, text) in files {
            let path = base.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let began = Self {
            base,
            branch: fixture.root.clone(),
            scratch: folder.path().to_owned(),
            commit: Mutex::new(CommitSha::new("1111111111111111111111111111111111111111")),
            laid_out: AtomicUsize::new(0),
        };
        (folder, Arc::new(began))
    }

    fn times(&self) -> usize {
        self.laid_out.load(Ordering::SeqCst)
    }
}

impl Past for Began {
    fn commit(&self, _: CancellationToken) -> BoxFuture<'_, Result<CommitSha, String>> {
        Box::pin(async { Ok(self.commit.lock().unwrap().clone()) })
    }

    fn lay_out(
        &self,
        _: CommitSha,
        files: Vec<String>,
        _: CancellationToken,
    ) -> BoxFuture<'_, Result<LaidOut, String>> {
        Box::pin(async move {
            let number = self.laid_out.fetch_add(1, Ordering::SeqCst);
            let folder = self.scratch.join(format!("run-{number}"));
            for entry in walk(&self.base) {
                let to = folder.join(entry.strip_prefix(&self.base).unwrap());
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::copy(&entry, to).unwrap();
            }
            for file in files {
                let to = folder.join(&file);
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::copy(self.branch.join(file), to).unwrap();
            }
            Ok(LaidOut {
                folder,
                hold: Box::new(()),
            })
        })
    }

    fn made_with(&self) -> String {
        String::new()
    }

    fn kept(&self) -> &Path {
        &self.scratch
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                walk(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// Runs every shell test, and counts.
const SHELL: &str = "p=0; f=0; for t in tests/*.sh; do if sh $t; then p=$((p+1)); else f=$((f+1)); fi; done; echo \"$p passed, $f failed, $(cat skipped 2>/dev/null || echo 0) skipped\"; [ $f = 0 ]";

async fn run(fixture: &Fixture) -> (ToolOutcome, Receipt) {
    let outcome = fixture.call("RunChecks", json!({})).await;
    let receipt = fixture
        .context
        .take_receipt(&call("RunChecks", json!({})).id);
    let receipt = receipt.unwrap_or_else(|| panic!("{}", outcome.text));
    (outcome, receipt)
}

#[tokio::test]
async fn receipts_flag_what_was_done_to_the_checks() {
    let mut fixture = Fixture::with_sandbox(vec![check("test", SHELL)]);
    fixture.write("tests/a.sh", "true");
    fixture.write("skipped", "1");
    let tree = tree_of(&fixture, "tests/a.sh");
    let files = [("tests/a.sh", "true"), ("tests/b.sh", "true")];
    let (_folder, began) = Began::with(&fixture, &files);
    let change = diff("--- a/Makefile\n+++ b/Makefile\n@@ -1,1 +1,1 @@\n-a\n+b\n");
    with(&mut fixture, |context| {
        context.with_tree(tree).with_diff(change).with_past(began)
    });
    let (outcome, receipt) = run(&fixture).await;
    assert!(
        outcome.ok
            && outcome
                .text
                .contains("flag: check configuration changed: Makefile"),
        "{}",
        outcome.text
    );
    assert_eq!(
        receipt.flags,
        [
            "check configuration changed: Makefile",
            "test: 1 tests ran, 2 on the base branch",
            "test: 1 tests skipped, 0 on the base branch"
        ]
    );
    let compared = "test: passed (1 passed, 0 failed, 1 skipped); on the base passed (2 passed, 0 failed, 0 skipped)";
    let no_test = "no test shows the change: it adds and changes none";
    assert_eq!(receipt.base_lines(), [compared, no_test]);
    assert!(outcome.text.contains(compared), "{}", outcome.text);
}

const NEW_TEST: &str = "diff --git a/tests/b.sh b/tests/b.sh\n--- /dev/null\n+++ b/tests/b.sh\n@@ -0,0 +1,1 @@\n+grep -q fixed code\n";

#[tokio::test]
async fn the_test_of_a_fixed_bug_is_red_on_the_base() {
    let mut fixture = Fixture::with_sandbox(vec![check("test", SHELL), check("lint", "true")]);
    fixture.write("code", "fixed");
    fixture.write("tests/a.sh", "true");
    fixture.write("tests/b.sh", "grep -q fixed code");
    let tree = tree_of(&fixture, "code");
    let (_folder, began) = Began::with(&fixture, &[("code", "broken"), ("tests/a.sh", "true")]);
    let past = Arc::clone(&began);
    with(&mut fixture, |context| {
        context
            .with_tree(tree)
            .with_diff(diff(NEW_TEST))
            .with_past(past)
    });
    let (outcome, receipt) = run(&fixture).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert_eq!(
        receipt.base_lines().last().unwrap(),
        "new and changed tests (tests/b.sh): red on the base, green here"
    );
    let tried = receipt.base.unwrap().new_tests.unwrap();
    assert_eq!(tried.checks.len(), 1, "only what counts tests is tried");
    assert_eq!(began.times(), 2);
    // Known by now, also to another thread on the same base.
    let (_, again) = run(&fixture).await;
    assert_eq!(again.base.unwrap().new_tests.unwrap(), tried);
    assert_eq!(began.times(), 2, "once per base");
    *began.commit.lock().unwrap() = CommitSha::new("2222222222222222222222222222222222222222");
    run(&fixture).await;
    assert_eq!(began.times(), 4, "another base is another matter");
}

#[tokio::test]
async fn a_test_that_shows_nothing_is_called_that() {
    let mut fixture = Fixture::with_sandbox(vec![check("test", SHELL)]);
    fixture.write("code", "fixed");
    fixture.write("tests/b.sh", "true");
    let tree = tree_of(&fixture, "code");
    let (_folder, began) = Began::with(&fixture, &[("tests/a.sh", "true")]);
    let past = Arc::clone(&began);
    with(&mut fixture, |context| {
        context
            .with_tree(tree)
            .with_diff(diff(NEW_TEST))
            .with_past(past)
    });
    let (outcome, _) = run(&fixture).await;
    assert!(
        outcome.text.contains("green on the base too"),
        "{}",
        outcome.text
    );
    // On a base that is red by itself a red test shows nothing.
    fs::write(began.base.join("tests/a.sh"), "false").unwrap();
    *began.commit.lock().unwrap() = CommitSha::new("3333333333333333333333333333333333333333");
    let (_, receipt) = run(&fixture).await;
    let lines = receipt.base_lines();
    assert!(
        lines[0].ends_with("by itself: this shows nothing about the change"),
        "{lines:?}"
    );
    assert_eq!(
        lines[1],
        "no test shows the change: the checks are red on the base without it"
    );
    assert_eq!(receipt.base.unwrap().new_tests, None);
    // Red here: nothing to show yet.
    fixture.write("tests/b.sh", "false");
    let (outcome, receipt) = run(&fixture).await;
    assert!(!outcome.ok);
    assert_eq!(receipt.base.unwrap().new_tests, None);
}

/// A base that could not be made ready, and a worktree that could not: neither says
/// anything about the other.
#[tokio::test]
async fn what_cannot_be_prepared_is_not_compared_and_not_called_failed() {
    struct Unprepared(PathBuf);
    impl Past for Unprepared {
        fn commit(&self, _: CancellationToken) -> BoxFuture<'_, Result<CommitSha, String>> {
            Box::pin(async { Ok(CommitSha::new("1111111111111111111111111111111111111111")) })
        }
        fn lay_out(
            &self,
            _: CommitSha,
            _: Vec<String>,
            _: CancellationToken,
        ) -> BoxFuture<'_, Result<LaidOut, String>> {
            Box::pin(async { Err("the base could not be prepared: `npm ci`, exit 1".to_owned()) })
        }
        fn made_with(&self) -> String {
            "npm ci".to_owned()
        }
        fn kept(&self) -> &Path {
            &self.0
        }
    }
    let mut fixture = Fixture::with_sandbox(vec![check("test", GREEN)]);
    fixture.write("code", "one");
    let tree = tree_of(&fixture, "code");
    let past = Arc::new(Unprepared(fixture.scratch.path().join("kept")));
    with(&mut fixture, |context| {
        context.with_tree(tree).with_past(past)
    });
    let (outcome, receipt) = run(&fixture).await;
    let line = "not compared with the base: the base could not be prepared: `npm ci`, exit 1";
    assert_eq!(receipt.base_lines(), [line]);
    assert!(
        outcome.ok && outcome.text.contains(line),
        "{}",
        outcome.text
    );
    assert!(
        !outcome.text.contains("on the base failed"),
        "{}",
        outcome.text
    );
    // The base may be fine; this folder is not.
    let files = [("code", "one")];
    let (_folder, began) = Began::with(&fixture, &files);
    let times = Arc::clone(&began);
    with(&mut fixture, |context| {
        let gate: butler_tools::ReadyGate =
            Arc::new(|| Box::pin(async { Some("the worktree's preparation failed".to_owned()) }));
        context.with_past(began).with_ready(gate)
    });
    let (_, receipt) = run(&fixture).await;
    assert_eq!(
        receipt.base_lines(),
        ["not compared with the base: the worktree's preparation failed"]
    );
    assert_eq!(times.times(), 0);
}

#[tokio::test]
async fn a_check_that_dies_on_the_base_is_shown_as_that() {
    let mut fixture = Fixture::with_sandbox(vec![check(
        "test",
        "[ -f here ] && echo '1 passed, 0 failed' || kill -9 $$",
    )]);
    fixture.write("here", "");
    let tree = tree_of(&fixture, "here");
    let (_folder, began) = Began::with(&fixture, &[("code", "")]);
    let past = Arc::clone(&began);
    with(&mut fixture, |context| {
        context.with_tree(tree).with_past(past)
    });
    for time in 1..=2 {
        let (outcome, receipt) = run(&fixture).await;
        assert!(outcome.ok, "{}", outcome.text);
        assert!(receipt.green());
        let base = receipt.base.unwrap();
        assert_eq!(base.checks[0].exit_code, None, "killed on the base");
        assert_eq!(began.times(), time.min(1));
    }
}

#[tokio::test]
async fn a_check_that_is_killed_is_not_green() {
    let mut fixture = Fixture::with_sandbox(vec![check("test", "kill -9 $$")]);
    fixture.write("code", "one");
    let tree = tree_of(&fixture, "code");
    with(&mut fixture, |context| context.with_tree(tree));
    let outcome = fixture.call("RunChecks", json!({})).await;
    assert!(!outcome.ok, "{}", outcome.text);
    assert!(
        !fixture
            .context
            .take_receipt(&call("RunChecks", json!({})).id)
            .unwrap()
            .green()
    );
}

#[tokio::test]
async fn checks_that_are_not_there_are_named() {
    let fixture = Fixture::with_sandbox(vec![check("test", GREEN)]);
    let unknown = fixture.call("RunChecks", json!({"name": "tests"})).await;
    assert_eq!(
        unknown.text,
        "refused: there is no check `tests`; there are test"
    );
    let none = Fixture::with_sandbox(Vec::new())
        .call("RunChecks", json!({}))
        .await;
    assert!(
        !none.ok && none.text.contains("configures no checks"),
        "{}",
        none.text
    );
}

#[tokio::test]
async fn progress_is_told_and_the_reviewer_may_run_them() {
    let mut fixture = Fixture::with_sandbox(vec![check("test", GREEN)]);
    let seen = Arc::new(Seen::default());
    let watcher = Arc::clone(&seen);
    with(&mut fixture, |context| context.with_watcher(watcher));
    assert!(
        fixture
            .call_as(Role::Reviewer, "RunChecks", json!({}))
            .await
            .ok
    );
    assert_eq!(*seen.lines.lock().unwrap(), ["running test"]);
}

/// What a watcher is told.
#[derive(Default)]
struct Seen {
    lines: Mutex<Vec<String>>,
    output: Mutex<Vec<u8>>,
}

impl butler_tools::Watcher for Seen {
    fn progress(&self, line: &str) {
        self.lines.lock().unwrap().push(line.to_owned());
    }

    fn output(&self, bytes: &[u8]) {
        self.output.lock().unwrap().extend_from_slice(bytes);
    }
}

#[tokio::test]
async fn output_is_told_before_a_command_ends() {
    let mut fixture = Fixture::with_sandbox(Vec::new());
    let seen = Arc::new(Seen::default());
    let watcher = Arc::clone(&seen);
    with(&mut fixture, |context| context.with_watcher(watcher));
    // It ends when somebody has seen what it wrote first.
    let command = "echo first; until [ -e go ]; do sleep 0.05; done; echo last";
    let go = fixture.context.workplace().root().join("go");
    let waiting = async {
        while !String::from_utf8_lossy(&seen.output.lock().unwrap()).contains("first") {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        std::fs::write(go, "").unwrap();
    };
    let call = fixture.call("Bash", json!({"command": command, "timeout_seconds": 60}));
    let (outcome, ()) = tokio::join!(call, waiting);
    assert!(outcome.ok, "{}", outcome.text);
    assert_eq!(*seen.output.lock().unwrap(), b"first\nlast\n");
}
