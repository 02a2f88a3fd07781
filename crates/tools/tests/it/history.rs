//! GitLog, GitDiff and GitStatus on a real repository.

use std::{process::Command, sync::Arc};

use butler_testkit::ScratchRepo;
use serde_json::json;

use crate::fixture::Fixture;

fn git(fixture: &Fixture, args: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=ana", "-c", "user.email=ana@example.com"])
        .args(args)
        .current_dir(&fixture.root)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}

/// A clone with a branch of two commits, one change and one new file.
fn branch() -> (ScratchRepo, Fixture) {
    let repo = ScratchRepo::new();
    let fixture = Fixture::at(repo.root());
    git(&fixture, &["switch", "-qc", "work"]);
    for (file, subject) in [
        ("src/a.txt", "Add the parser"),
        ("src/b.txt", "Teach it unicode"),
    ] {
        fixture.write(file, "one\ntwo\n");
        git(&fixture, &["add", "."]);
        git(&fixture, &["commit", "-qm", subject]);
    }
    fixture.write("src/a.txt", "one\n2\n");
    fixture.write("new.txt", "fresh\n");
    (repo, fixture)
}

#[tokio::test]
async fn status_names_branch_and_changes() {
    let (_repo, fixture) = branch();
    let shown = fixture.call("GitStatus", json!({})).await;
    assert!(
        shown
            .text
            .starts_with("2 files changed, on work\nlast commit: "),
        "{}",
        shown.text
    );
    assert!(
        shown
            .text
            .ends_with(" Teach it unicode\n M src/a.txt\n?? new.txt\n"),
        "{}",
        shown.text
    );
    git(&fixture, &["checkout", "-q", "--", "."]);
    git(&fixture, &["clean", "-qf"]);
    let clean = fixture.call("GitStatus", json!({})).await;
    assert!(
        clean.text.starts_with("nothing to commit, on work"),
        "{}",
        clean.text
    );
}

#[tokio::test]
async fn log_filters_and_pages() {
    let (_repo, fixture) = branch();
    let all = fixture.call("GitLog", json!({"limit": 2})).await;
    assert!(all.text.starts_with("2 commits\n"), "{}", all.text);
    assert!(
        all.text.contains(" ana: Teach it unicode\n"),
        "{}",
        all.text
    );
    assert!(
        all.text.ends_with("[there are more: offset=2]"),
        "{}",
        all.text
    );
    let rest = fixture.call("GitLog", json!({"offset": 2})).await;
    assert!(rest.text.starts_with("1 commits\n"), "{}", rest.text);
    let by_path = fixture.call("GitLog", json!({"path": "src/a.txt"})).await;
    assert!(
        by_path.text.contains("Add the parser") && !by_path.text.contains("unicode"),
        "{}",
        by_path.text
    );
    let by_text = fixture.call("GitLog", json!({"pattern": "UNICODE"})).await;
    assert!(by_text.text.starts_with("1 commits\n"), "{}", by_text.text);
    let none = fixture.call("GitLog", json!({"pattern": ".*"})).await;
    assert!(
        none.text.starts_with("no commit matches"),
        "text, not a pattern: {}",
        none.text
    );
    for bad in ["--output=x", "-p", "a..b"] {
        let refused = fixture.call("GitLog", json!({"from": bad})).await;
        assert!(
            !refused.ok && refused.text.starts_with("refused"),
            "{}",
            refused.text
        );
    }
    let unknown = fixture.call("GitLog", json!({"from": "nowhere"})).await;
    assert!(
        !unknown.ok && unknown.text.starts_with("failed: git says"),
        "{}",
        unknown.text
    );
}

#[tokio::test]
async fn diff_shows_the_whole_branch_with_new_files() {
    let (_repo, fixture) = branch();
    let shown = fixture.call("GitDiff", json!({})).await;
    assert!(
        shown
            .text
            .starts_with("3 files, +5 -0\nsrc/a.txt +2 -0\nsrc/b.txt +2 -0\nnew.txt +1 -0\n"),
        "{}",
        shown.text
    );
    assert!(
        shown
            .text
            .contains("+++ b/new.txt\n@@ -0,0 +1,1 @@\n+fresh\n"),
        "{}",
        shown.text
    );
    let one = fixture
        .call("GitDiff", json!({"path": "src/a.txt", "base": "HEAD"}))
        .await;
    assert!(
        one.text.contains("-two\n+2\n") && !one.text.contains("fresh"),
        "{}",
        one.text
    );
    let short = fixture.call("GitDiff", json!({"summary": true})).await;
    assert!(!short.text.contains("@@"), "{}", short.text);
    let commit = fixture.call("GitDiff", json!({"commit": "HEAD"})).await;
    assert!(
        commit.text.contains("Teach it unicode") && commit.text.contains("src/b.txt +2 -0"),
        "{}",
        commit.text
    );
    let none = fixture.call("GitDiff", json!({"path": "README.md"})).await;
    assert!(
        none.ok && none.text.starts_with("no differences"),
        "{}",
        none.text
    );
}

#[tokio::test]
async fn the_drivers_diff_is_used_and_cut_by_path() {
    let (_repo, mut fixture) = branch();
    let text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n";
    fixture.context = fixture.context.clone().with_diff(Arc::new(move |_| {
        Box::pin(async move { Ok(text.to_owned()) })
    }));
    let both = fixture.call("GitDiff", json!({})).await;
    assert!(both.text.starts_with("2 files, +2 -2\n"), "{}", both.text);
    let one = fixture.call("GitDiff", json!({"path": "y"})).await;
    assert!(
        one.text.contains("+d") && !one.text.contains("+b"),
        "{}",
        one.text
    );
}

#[tokio::test]
async fn a_hostile_repo_runs_nothing() {
    let (_repo, fixture) = branch();
    let canary = fixture.scratch.path().join("ran");
    let touch = format!("touch {}", canary.display());
    for key in [
        "core.fsmonitor",
        "diff.external",
        "core.pager",
        "filter.x.clean",
        "diff.x.textconv",
    ] {
        git(&fixture, &["config", key, &touch]);
    }
    fixture.write(".gitattributes", "* filter=x diff=x\n");
    for (tool, arguments) in [
        ("GitStatus", json!({})),
        ("GitDiff", json!({})),
        ("GitDiff", json!({"commit": "HEAD"})),
        ("GitLog", json!({})),
    ] {
        let _ = fixture.call(tool, arguments).await;
        assert!(!canary.exists(), "{tool} ran something");
    }
}

#[tokio::test]
async fn a_folder_without_a_repository_says_so() {
    let fixture = Fixture::new();
    for tool in ["GitStatus", "GitLog", "GitDiff"] {
        let outcome = fixture.call(tool, json!({})).await;
        assert!(
            !outcome.ok && outcome.text.starts_with("failed"),
            "{tool}: {}",
            outcome.text
        );
    }
}
