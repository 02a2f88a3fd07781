//! RunChecks and its receipts, with real commands.

use std::sync::{Arc, Mutex};

use butler_toolbox::{Check, Desk, DiffMaker, TreeHasher};
use butler_vocab::{CheckCounts, CheckRun, Receipt, Role, Sha256Hex, TreeHash};
use serde_json::json;

use crate::room::{Room, call};

fn check(name: &str, command: &str) -> Check {
    Check {
        name: name.into(),
        command: command.into(),
    }
}

/// The hash of one file stands for the tree.
fn tree_of(room: &Room, file: &str) -> TreeHasher {
    let path = room.root.join(file);
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

fn with(room: &mut Room, change: impl FnOnce(Desk) -> Desk) {
    room.desk = change(room.desk.clone());
}

const GREEN: &str = "echo 'test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured'";
const RED: &str = "echo broken; exit 7";

#[tokio::test]
async fn a_whole_run_leaves_a_receipt_for_this_tree() {
    let mut room = Room::with_jail(vec![check("test", GREEN), check("lint", RED)]);
    room.write("code", "one");
    let tree = tree_of(&room, "code");
    with(&mut room, |desk| desk.with_tree(tree));
    let outcome = room.call("RunChecks", json!({})).await;
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
    let receipt = room.desk.take_receipt(&id).unwrap();
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
    assert_eq!(room.desk.take_receipt(&id), None, "taken once");
}

#[tokio::test]
async fn less_than_a_whole_run_on_one_tree_leaves_none() {
    let mut room = Room::with_jail(vec![check("test", GREEN), check("fmt", "echo two > code")]);
    room.write("code", "one");
    let id = call("RunChecks", json!({})).id;
    let blind = room.call("RunChecks", json!({})).await;
    assert!(
        blind
            .text
            .contains("no receipt: the state of the files is not known"),
        "{}",
        blind.text
    );
    let tree = tree_of(&room, "code");
    with(&mut room, |desk| desk.with_tree(tree));
    room.write("code", "one");
    let one = room.call("RunChecks", json!({"name": "test"})).await;
    assert!(
        one.ok && one.text.contains("no receipt: only one check ran"),
        "{}",
        one.text
    );
    let moved = room.call("RunChecks", json!({})).await;
    assert!(
        moved.text.contains("no receipt: files changed while"),
        "{}",
        moved.text
    );
    assert_eq!(room.desk.take_receipt(&id), None);
    let again = room.call("RunChecks", json!({})).await;
    assert!(
        again.ok && again.text.contains("receipt for tree"),
        "{}",
        again.text
    );
    assert!(room.desk.take_receipt(&id).unwrap().green());
}

#[tokio::test]
async fn receipts_flag_what_was_done_to_the_checks() {
    let mut room = Room::with_jail(vec![check("test", GREEN)]);
    room.write("code", "one");
    let tree = tree_of(&room, "code");
    let base = Receipt {
        tree: TreeHash::new("base"),
        checks: vec![CheckRun {
            name: "test".into(),
            command: GREEN.into(),
            exit_code: Some(0),
            duration_ms: 1,
            counts: Some(CheckCounts {
                passed: 5,
                failed: 0,
                skipped: 0,
            }),
        }],
        flags: Vec::new(),
    };
    let change = diff("--- a/Makefile\n+++ b/Makefile\n@@ -1,1 +1,1 @@\n-a\n+b\n");
    with(&mut room, |desk| {
        desk.with_tree(tree)
            .with_diff(change)
            .with_base_receipt(base)
    });
    let outcome = room.call("RunChecks", json!({})).await;
    assert!(
        outcome.ok
            && outcome
                .text
                .contains("flag: check configuration changed: Makefile"),
        "{}",
        outcome.text
    );
    let receipt = room
        .desk
        .take_receipt(&call("RunChecks", json!({})).id)
        .unwrap();
    assert_eq!(
        receipt.flags,
        [
            "check configuration changed: Makefile",
            "test: 3 tests ran, 5 on the base branch",
            "test: 1 tests skipped, 0 on the base branch"
        ]
    );
}

#[tokio::test]
async fn a_check_that_is_killed_is_not_green() {
    let mut room = Room::with_jail(vec![check("test", "kill -9 $$")]);
    room.write("code", "one");
    let tree = tree_of(&room, "code");
    with(&mut room, |desk| desk.with_tree(tree));
    let outcome = room.call("RunChecks", json!({})).await;
    assert!(!outcome.ok, "{}", outcome.text);
    assert!(
        !room
            .desk
            .take_receipt(&call("RunChecks", json!({})).id)
            .unwrap()
            .green()
    );
}

#[tokio::test]
async fn checks_that_are_not_there_are_named() {
    let room = Room::with_jail(vec![check("test", GREEN)]);
    let unknown = room.call("RunChecks", json!({"name": "tests"})).await;
    assert_eq!(
        unknown.text,
        "refused: there is no check `tests`; there are test"
    );
    let none = Room::with_jail(Vec::new())
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
    let mut room = Room::with_jail(vec![check("test", GREEN)]);
    let (sender, mut receiver) = tokio::sync::mpsc::channel(4);
    with(&mut room, |desk| desk.with_progress(sender));
    let seen = Arc::new(Mutex::new(0));
    assert!(
        room.call_as(Role::Reviewer, "RunChecks", json!({}))
            .await
            .ok
    );
    while let Ok(line) = receiver.try_recv() {
        assert_eq!(line, "running test");
        *seen.lock().unwrap() += 1;
    }
    assert_eq!(*seen.lock().unwrap(), 1);
}
