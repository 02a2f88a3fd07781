//! Write and Edit.

use std::os::unix::fs::PermissionsExt;

use butler_protocol::Role;
use serde_json::{Value, json};

use crate::fixture::{Fixture, call};

#[tokio::test]
async fn write_creates_with_folders_and_shows_the_diff_of_a_rewrite() {
    let fixture = Fixture::new();
    let created = fixture
        .call(
            "Write",
            json!({"path": "a/b/c.txt", "content": "one\ntwo\n"}),
        )
        .await;
    assert_eq!(created.text, "created `a/b/c.txt`, 2 lines");
    let rewritten = fixture
        .call("Write", json!({"path": "a/b/c.txt", "content": "one\n2\n"}))
        .await;
    assert!(
        rewritten
            .text
            .starts_with("rewrote `a/b/c.txt`: +1 -1 lines\n"),
        "{}",
        rewritten.text
    );
    assert!(rewritten.text.contains("-two\n+2\n"), "{}", rewritten.text);
    let same = fixture
        .call("Write", json!({"path": "a/b/c.txt", "content": "one\n2\n"}))
        .await;
    assert!(same.ok && same.text.contains("unchanged"));
    assert_eq!(fixture.read("a/b/c.txt"), "one\n2\n");
    let names: Vec<_> = std::fs::read_dir(fixture.root.join("a/b"))
        .unwrap()
        .collect();
    assert_eq!(names.len(), 1, "no draft is left");
}

#[tokio::test]
async fn mode_line_ends_and_byte_order_mark_are_kept() {
    let fixture = Fixture::new();
    fixture.write("run.sh", "echo 1\r\necho 2\r\n");
    let path = fixture.root.join("run.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4755)).unwrap();
    fixture
        .call(
            "Write",
            json!({"path": "run.sh", "content": "echo 3\necho 4\n"}),
        )
        .await;
    assert_eq!(fixture.read("run.sh"), "echo 3\r\necho 4\r\n");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755, "kept without setuid");
    let edited = fixture
        .call(
            "Edit",
            json!({"path": "run.sh", "old": "echo 3\necho 4", "new": "a\nb\nc"}),
        )
        .await;
    assert!(edited.ok, "{}", edited.text);
    assert_eq!(fixture.read("run.sh"), "a\r\nb\r\nc\r\n");
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o755
    );
    fixture.write("bom.txt", "\u{feff}x\n");
    fixture
        .call("Write", json!({"path": "bom.txt", "content": "y\n"}))
        .await;
    assert_eq!(fixture.read("bom.txt"), "\u{feff}y\n");
}

#[tokio::test]
async fn edits_are_exact_unique_and_all_or_nothing() {
    let fixture = Fixture::new();
    fixture.write("m.rs", "let a = 1;\nlet b = 1;\nlet c = 2;\n");
    let edit = |arguments: Value| {
        let fixture = &fixture;
        async move { fixture.call("Edit", arguments).await }
    };
    let several = edit(json!({"path": "m.rs", "old": "= 1", "new": "= 9"})).await;
    assert!(
        several
            .text
            .contains("occurs 2 times in `m.rs` (lines 1, 2)"),
        "{}",
        several.text
    );
    let half = edit(json!({"path": "m.rs", "edits": [
        {"old": "let a = 1", "new": "let a = 5"}, {"old": "let z", "new": "let y"}
    ]}))
    .await;
    assert!(
        half.text.contains("`edits[1].old` does not occur"),
        "{}",
        half.text
    );
    assert_eq!(
        fixture.read("m.rs"),
        "let a = 1;\nlet b = 1;\nlet c = 2;\n",
        "none was made"
    );
    let both = edit(json!({"path": "m.rs", "edits": [
        {"old": "let a = 1", "new": "let a = 5"}, {"old": "a = 5", "new": "a = 6"}
    ]}))
    .await;
    assert!(
        both.text
            .starts_with("made 2 replacements in `m.rs`: +1 -1 lines"),
        "{}",
        both.text
    );
    let all = edit(json!({"path": "m.rs", "old": "let", "new": "var", "replace_all": true})).await;
    assert!(all.text.starts_with("made 3 replacements"), "{}", all.text);
    assert_eq!(fixture.read("m.rs"), "var a = 6;\nvar b = 1;\nvar c = 2;\n");
}

#[tokio::test]
async fn a_failed_edit_shows_the_nearest_lines() {
    let fixture = Fixture::new();
    fixture.write(
        "m.rs",
        "fn one() {}\n\nfn two() {\n\tcall(first, second);\n}\n",
    );
    let missed = fixture
        .call(
            "Edit",
            json!({"path": "m.rs", "old": "fn two() {\n    call(first, second);", "new": "x"}),
        )
        .await;
    assert!(!missed.ok);
    assert!(
        missed.text.contains("Only white space differs"),
        "{}",
        missed.text
    );
    assert!(
        missed.text.contains("     4\t\tcall(first, second);"),
        "{}",
        missed.text
    );
}

#[tokio::test]
async fn bad_edits_say_which_field() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "a\n");
    fixture.write("latin.txt", b"caf\xe9\n");
    for (arguments, expected) in [
        (json!({"path": "a.txt"}), "`old` is missing"),
        (json!({"path": "a.txt", "old": "a"}), "`new` is missing"),
        (
            json!({"path": "a.txt", "old": "a", "new": "a"}),
            "are the same",
        ),
        (json!({"path": "a.txt", "old": "", "new": "a"}), "use Write"),
        (
            json!({"path": "b.txt", "old": "x", "new": "y"}),
            "did you mean a.txt",
        ),
        (
            json!({"path": "latin.txt", "old": "c", "new": "d"}),
            "not UTF-8",
        ),
        (
            json!({"path": "a.txt", "old": "a", "new": "b", "edits": [{"old": "a", "new": "b"}]}),
            "not both",
        ),
    ] {
        let outcome = fixture.call("Edit", arguments.clone()).await;
        assert!(
            !outcome.ok && outcome.text.contains(expected),
            "{arguments}: {}",
            outcome.text
        );
    }
    assert_eq!(fixture.read("a.txt"), "a\n");
}

#[tokio::test]
async fn roles_write_only_where_they_may() {
    let fixture = Fixture::new();
    let write = |role, path: &'static str| {
        let fixture = &fixture;
        async move {
            fixture
                .call_as(role, "Write", json!({"path": path, "content": "x"}))
                .await
                .ok
        }
    };
    assert!(write(Role::Coder, "src/a.rs").await);
    assert!(!write(Role::Coder, ".codebutler/coder.md").await);
    assert!(write(Role::Lead, ".codebutler/coder.md").await);
    assert!(!write(Role::Lead, "src/a.rs").await);
    assert!(write(Role::Artist, ".codebutler/artist/a.svg").await);
    assert!(!write(Role::Reviewer, "src/a.rs").await);
    for path in [
        ".codebutler/policy.json",
        ".codebutler/MCP.json",
        ".git/config",
        ".GIT/hooks/x",
    ] {
        for role in Role::ALL {
            assert!(!write(role, path).await, "{role} wrote {path}");
        }
    }
}

#[tokio::test]
async fn an_interrupted_change_is_finished_confirmed_or_reported() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "old\n");
    for arguments in [
        json!({"path": "a.txt", "content": "new\n"}),
        json!({"path": "a.txt", "old": "old", "new": "new"}),
    ] {
        let tool = if arguments.get("content").is_some() {
            "Write"
        } else {
            "Edit"
        };
        let call = call(tool, arguments);
        fixture.write("a.txt", "old\n");
        let intent = fixture.executor.intent(&call, &fixture.context).unwrap();
        let recover = async || {
            let permit = fixture.permit(Role::Coder, &call);
            fixture
                .executor
                .recover(&call, permit, intent.trace.as_ref(), &fixture.context)
                .await
        };
        // Killed before the file was replaced, with a draft on disk.
        let finished = recover().await;
        assert!(
            finished.ok && finished.text.contains("+1 -1"),
            "{}",
            finished.text
        );
        assert_eq!(fixture.read("a.txt"), "new\n");
        // Killed after it was replaced.
        let confirmed = recover().await;
        assert!(confirmed.ok && confirmed.text.contains("before CodeButler was restarted"));
        // Somebody else changed it.
        fixture.write("a.txt", "other\n");
        let reported = recover().await;
        assert!(
            !reported.ok && reported.text.contains("left alone"),
            "{}",
            reported.text
        );
        assert_eq!(fixture.read("a.txt"), "other\n");
    }
}

/// The other half of the next test: it runs in a process of its own, which is
/// killed at the fault point that its environment names.
#[tokio::test]
async fn child_that_is_killed() {
    let Ok(root) = std::env::var("TOOLBOX_TEST_ROOT") else {
        return;
    };
    butler_protocol::on_fault(|name| {
        if std::env::var("TOOLBOX_TEST_FAULT").is_ok_and(|fault| fault == name) {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
        }
    });
    let fixture = Fixture::at(std::path::Path::new(&root));
    fixture
        .call("Write", json!({"path": "a.txt", "content": "new\n"}))
        .await;
}

#[tokio::test]
async fn killed_around_the_rename_the_change_is_completed() {
    for (fault, expected) in [
        ("tools.before-replace", "rewrote `a.txt`"),
        ("tools.after-replace", "before CodeButler was restarted"),
    ] {
        let fixture = Fixture::new();
        fixture.write("a.txt", "old\n");
        let write = call("Write", json!({"path": "a.txt", "content": "new\n"}));
        let intent = fixture.executor.intent(&write, &fixture.context).unwrap();
        let died = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["changes::child_that_is_killed", "--exact"])
            .env("TOOLBOX_TEST_ROOT", &fixture.root)
            .env("TOOLBOX_TEST_FAULT", fault)
            .output()
            .unwrap();
        assert_eq!(died.status.code(), None, "{fault} was passed: {died:?}");
        let permit = fixture.permit(Role::Coder, &write);
        let outcome = fixture
            .executor
            .recover(&write, permit, intent.trace.as_ref(), &fixture.context)
            .await;
        assert!(
            outcome.ok && outcome.text.contains(expected),
            "{fault}: {}",
            outcome.text
        );
        assert_eq!(fixture.read("a.txt"), "new\n");
        let left = std::fs::read_dir(&fixture.root).unwrap().count();
        assert_eq!(left, 1, "{fault}: no draft is left");
    }
}

#[tokio::test]
async fn what_a_crash_left_is_cleaned_up() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "old\n");
    fixture
        .call("Write", json!({"path": "a.txt", "content": "x\n"}))
        .await;
    // The name is the same for every try, so a draft of a dead process is found.
    let names = || -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&fixture.root)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let draft = format!(
        ".codebutler-draft-{}",
        &butler_protocol::Sha256Hex::of("a.txt").as_str()[..16]
    );
    fixture.write(&draft, "half");
    assert!(
        fixture
            .call("Write", json!({"path": "a.txt", "content": "y\n"}))
            .await
            .ok
    );
    assert_eq!(names(), ["a.txt"]);
}
