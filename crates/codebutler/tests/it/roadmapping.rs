//! What is planned for later: one change of the roadmap is one card, one approval
//! and one commit, and what the team wrote is what `codebutler roadmap` shows.

use std::path::Path;

use butler_protocol::{FAULT_LOG_VARIABLE, FAULT_VARIABLE};
use butler_testkit::git;
use serde_json::Value;

use crate::{
    scratch::ran,
    team::{Team, command, says},
};

const TWO_ITEMS: &str = r#"
title: a request becomes two items of the roadmap
roles:
  pm:
    - call:
        - tool: ChangeRoadmap
          with:
            changes:
              - { op: add, title: Search, criteria: ["finds a note by a word"] }
              - { op: add, title: Search in archives, depends_on: [4, 9] }
    - expect: { tool_result_contains: "item 5 depends on 9, which does not exist" }
      call: &good
        - tool: ChangeRoadmap
          with:
            changes:
              - { op: add, title: Search, criteria: ["finds a note by a word"] }
              - { op: add, title: Search in archives, depends_on: [4] }
              - { op: block, item: 2, reason: no account }
            why: Search first, the archives need it.
    - say: Understood, once more.
      call: *good
    - say: Done.
"#;

/// A person's own file, with words of their own around the items.
const OWN: &str = "# Roadmap: notes\n\nA word of ana.\n\n## 1. Auth\n- Status: done\n\n## 2. Mail\n- Depends on: 1\n\n## 3. Tags\n\nben's notes\n\n## Ideas\n- one day\n";

async fn team(variables: &[(&str, String)]) -> Team {
    let write = |root: &Path| {
        std::fs::write(root.join(".codebutler/roadmap.md"), OWN).unwrap();
        git(root, &["add", "--force", ".codebutler/roadmap.md"]);
        git(root, &["commit", "--quiet", "--message", "a roadmap"]);
        git(root, &["push", "--quiet", "origin", "HEAD:main"]);
    };
    Team::start_in(TWO_ITEMS, write, variables).await
}

fn on_main(team: &Team) -> String {
    let root = team.scratch.root();
    git(root, &["fetch", "--quiet", "origin"]);
    git(root, &["show", "origin/main:.codebutler/roadmap.md"])
}

fn commits(team: &Team) -> usize {
    let root = team.scratch.root();
    git(root, &["fetch", "--quiet", "origin"]);
    let log = git(root, &["log", "--format=%s", "origin/main"]);
    log.lines()
        .filter(|line| line.starts_with("roadmap: "))
        .count()
}

const WRITTEN: &str = "## 4. Search\n- Status: pending\n- Depends on: —\n- Acceptance criteria:\n  - finds a note by a word\n\n## 5. Search in archives\n- Status: pending\n- Depends on: 4\n- Acceptance criteria:\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_approval_is_one_commit_and_nothing_else_is_touched() {
    let team = team(&[]).await;
    let head = git(team.scratch.root(), &["rev-parse", "HEAD"]);
    let root = team.say("roadmap: search").await;
    let thread = team
        .until(&root, "the card", |thread| {
            says(thread, "Change the roadmap?")
        })
        .await;
    let card = thread.to_string();
    for part in [
        "Search in archives",
        "no account",
        "Items meant",
        "2. Mail",
        "Search first, the archives need it.",
    ] {
        assert!(card.contains(part), "{part} on the card: {thread:#}");
    }
    assert_eq!(commits(&team), 0, "nothing before a person approves");
    team.press(&root, "approve").await;
    let thread = team
        .until(&root, "the commit", |thread| {
            says(thread, "The roadmap is changed")
        })
        .await;
    assert_eq!(commits(&team), 1);
    let text = on_main(&team);
    let expected = OWN
        .replace(
            "## 2. Mail\n",
            "## 2. Mail\n- Status: blocked (no account)\n",
        )
        .replace("ben's notes\n\n", &format!("ben's notes\n\n{WRITTEN}\n"));
    assert_eq!(text.trim_end(), expected.trim_end());
    // The person's checkout is theirs; what they see after a pull is what was written.
    assert_eq!(git(team.scratch.root(), &["rev-parse", "HEAD"]), head);
    git(team.scratch.root(), &["pull", "--quiet", "origin", "main"]);
    let output = command(team.scratch.root(), &team.home())
        .args(["roadmap", "--json"])
        .output()
        .unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let shown = shown.to_string();
    assert!(
        shown.contains("Search in archives") && shown.contains("no account"),
        "{shown}"
    );
    // Only the model's words and two calls: the second was refused with all that was wrong.
    let calls = thread["cost"]["calls"].as_array().unwrap().iter();
    let calls: i64 = calls.filter_map(|one| one["calls"].as_i64()).sum();
    assert_eq!(calls, 2, "{}", thread["cost"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_was_asked_to_be_different_comes_again() {
    let team = team(&[]).await;
    let root = team.say("roadmap: search").await;
    team.press(&root, "modify").await;
    team.until(&root, "the question", |thread| {
        says(thread, "What should be different?")
    })
    .await;
    team.reply(&root, "the same, please").await;
    team.press(&root, "approve").await;
    team.until(&root, "the commit", |thread| {
        says(thread, "The roadmap is changed")
    })
    .await;
    assert_eq!(commits(&team), 1);
}

/// Killed before the commit goes to the remote, behind it, and where the decision is
/// carried out: it is there once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_around_the_commit_loses_and_doubles_nothing() {
    for point in [
        "repo.before-memory",
        "repo.after-memory",
        "agent.after-order",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("faults.log");
        let variables = [
            (FAULT_LOG_VARIABLE, log.display().to_string()),
            (FAULT_VARIABLE, format!("pm/{point}")),
        ];
        let team = team(&variables).await;
        let root = team.say("roadmap: search").await;
        team.press(&root, "approve").await;
        team.until(&root, "the commit", |thread| {
            says(thread, "The roadmap is changed")
        })
        .await;
        let passed = std::fs::read_to_string(&log).unwrap();
        assert!(passed.contains("killed"), "{point}: {passed}");
        assert_eq!(commits(&team), 1, "{point}");
        let items = on_main(&team).matches("## 4. Search").count();
        assert_eq!(items, 1, "{point}");
    }
}

/// The first thread is what the second one finds.
const LOOKS: &str = r#"
title: what the team does, and what it knows
roles:
  pm:
    - call: [{ tool: ListThreads, with: {} }, { tool: ReadMemory, with: {} }]
    - expect: { tool_result_contains: "roadmap.md (16 lines)" }
      call: [{ tool: ReadMemory, with: { file: .codebutler/roadmap.md } }, { tool: ReadMemory, with: { file: ../secrets.md } }]
    - expect: { tool_result_contains: "there is no ../secrets.md" }
      say: Nothing else is going on.
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pm_knows_what_the_team_does_and_what_it_knows() {
    let write = |root: &Path| {
        std::fs::write(root.join(".codebutler/roadmap.md"), OWN).unwrap();
        git(root, &["add", "--force", ".codebutler/roadmap.md"]);
        git(root, &["commit", "--quiet", "--message", "a roadmap"]);
        git(root, &["push", "--quiet", "origin", "HEAD:main"]);
    };
    let team = Team::start_in(LOOKS, write, &[]).await;
    let root = team.say("what do we do").await;
    let said = |words: &'static str| move |thread: &Value| says(thread, words);
    team.until(&root, "an answer", said("Nothing else")).await;
    let root = team.say("and now").await;
    team.until(&root, "an answer", said("Nothing else")).await;
    let log = team.log(&root, "pm");
    assert!(log.contains("- what do we do ("), "{log}");
}

/// To the tracker and back: what was exported is imported with the same words, and
/// doing either again adds nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_go_to_issues_and_come_back() {
    let team = team(&[]).await;
    let run = |args: &[&str]| ran(command(team.scratch.root(), &team.home()).args(args));
    let file = team.scratch.root().join(".codebutler/roadmap.md");
    std::fs::write(
        &file,
        "# Roadmap\n\n## 1. Auth\n- Status: done\n\n## 2. Search\n- Acceptance criteria:\n  - finds a note by a word\n  - is quick\n",
    )
    .unwrap();
    let exported = run(&["roadmap", "export"]);
    assert!(exported.out.contains("#1 2. Search"), "{exported:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("## 2. Search\n- Issue: #1\n"), "{text}");
    let again = run(&["roadmap", "export"]);
    assert!(
        again.err.contains("every pending item has its issue"),
        "{again:?}"
    );
    std::fs::write(&file, "# Roadmap\n").unwrap();
    let imported = run(&["roadmap", "import"]);
    assert!(imported.out.contains("1. Search from #1"), "{imported:?}");
    let shown = run(&["roadmap", "--json"]);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    let item = &shown["items"][0];
    assert_eq!(item["issue"], 1, "{shown}");
    assert_eq!(
        item["criteria"],
        serde_json::json!(["finds a note by a word", "is quick"])
    );
    let again = run(&["roadmap", "import"]);
    assert!(
        again
            .err
            .contains("no open issue with the label \"roadmap\""),
        "{again:?}"
    );
    let other = run(&["roadmap", "import", "--label", "none"]);
    assert!(other.err.contains("\"none\""), "{other:?}");
}
