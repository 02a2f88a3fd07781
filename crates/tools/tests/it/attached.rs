//! Files that people attached to the thread.

use butler_protocol::Role;
use butler_tools::Attached;
use serde_json::json;

use crate::fixture::Fixture;

/// A context whose thread has a log and a table attached.
fn attached() -> (Fixture, Attached, tempfile::TempDir) {
    let beside = tempfile::tempdir().unwrap();
    let all = beside.path().canonicalize().unwrap().join("attached");
    let attached = Attached::of(all.clone(), "abc234");
    let log = b"one\nERROR: out of paper\nthree\n";
    attached.keep("F1", "printer.log", log).unwrap();
    attached.keep("F2", "prices.csv", b"a,1\n").unwrap();
    let other = Attached::of(all, "xyz777");
    other.keep("F3", "other.log", b"ERROR of others\n").unwrap();
    let folder = attached.folder().to_owned();
    let change = |around: &mut butler_tools::Surroundings| around.attached = Some(folder);
    (Fixture::sandboxed_with(change), attached, beside)
}

#[tokio::test]
async fn they_are_read_searched_and_listed_by_the_path_that_commands_use() {
    let (fixture, attached, _beside) = attached();
    let log = attached.path("F1", "printer.log");
    let read = fixture.call("Read", json!({"path": log})).await;
    assert!(
        read.ok && read.text.contains("2\tERROR: out of paper"),
        "{}",
        read.text
    );
    for path in [log.clone(), attached.folder().to_owned()] {
        let input = json!({"pattern": "ERROR", "path": path});
        let found = fixture.call("Grep", input).await;
        assert!(
            found.text.contains("2:ERROR: out of paper"),
            "{}",
            found.text
        );
        assert!(!found.text.contains("of others"), "{}", found.text);
    }
    let input = json!({"pattern": "*", "path": attached.folder()});
    let listed = fixture.call("Glob", input).await;
    let names = ["F1-printer.log", "F2-prices.csv"];
    assert!(
        names.iter().all(|name| listed.text.contains(name)),
        "{}",
        listed.text
    );
    let command = format!(
        "cp {} here.csv && cat here.csv",
        attached.path("F2", "prices.csv").display()
    );
    let ran = fixture.call("Bash", json!({"command": command})).await;
    assert!(ran.ok && ran.text.contains("a,1"), "{}", ran.text);
}

#[tokio::test]
async fn nothing_else_is_and_nobody_changes_them() {
    let (fixture, attached, _beside) = attached();
    let others = attached
        .folder()
        .with_file_name("xyz777")
        .join("F3-other.log");
    let sideways = attached.folder().join("../xyz777/F3-other.log");
    for path in [others.clone(), sideways] {
        let read = fixture.call("Read", json!({"path": path})).await;
        assert!(!read.ok, "{}", read.text);
    }
    let log = attached.path("F1", "printer.log");
    let input = json!({"path": log, "content": "mine"});
    let written = fixture.call("Write", input).await;
    assert!(!written.ok, "{}", written.text);
    let command = format!("cat {}; echo mine >> {}", others.display(), log.display());
    let ran = fixture.call("Bash", json!({"command": command})).await;
    assert!(!ran.text.contains("of others"), "{}", ran.text);
    assert!(std::fs::read_to_string(&log).unwrap().ends_with("three\n"));
    // Whoever may read a part of the repository only is not given them either.
    let outcome = fixture
        .call_as(Role::Researcher, "Read", json!({"path": log}))
        .await;
    assert!(!outcome.ok, "{}", outcome.text);
}
