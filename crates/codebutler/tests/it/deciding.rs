//! A person can always act: merge, close, hold and go on, with a card and without
//! one, in words, by button and from the command line; and a forge that says no is
//! a state with one message and a way on.

use std::{process::Output, time::Duration};

use serde_json::Value;

use crate::{
    said::{ended, texts},
    team::{Team, command, home, says},
};

const STORY: &str = include_str!("../../demo/scenarios/json-flag.yaml");
const FRESH: &str = "Asked for by: ";

fn times(thread: &Value, words: &str) -> usize {
    let said = texts(thread);
    said.iter().filter(|text| text.contains(words)).count()
}

/// A story whose merge was held by its button.
async fn held() -> (Team, String) {
    let team = Team::start(STORY).await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    team.press(&root, "hold").await;
    team.until(&root, "the hold", |thread| says(thread, "Held by the user"))
        .await;
    (team, root)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_hold_the_word_merge_puts_the_card_up_again() {
    let (team, root) = held().await;
    team.reply(&root, "merge").await;
    let fresh = |thread: &Value| says(thread, FRESH);
    let thread = team.until(&root, "a fresh card", fresh).await;
    assert!(says(&thread, "What the runtime saw") && says(&thread, "5 passed"));
    assert!(says(&thread, "The Lead writes"));
    team.press_card(&root, FRESH, "merge").await;
    team.until(&root, "the merge", ended).await;
    assert_eq!(team.scratch.remote_branches(), ["main"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_hold_one_can_go_on_and_close_in_words() {
    let (team, root) = held().await;
    team.reply(&root, "go on").await;
    let fresh = |thread: &Value| says(thread, FRESH);
    team.until(&root, "a fresh card", fresh).await;
    team.reply(&root, "close").await;
    let closed = |thread: &Value| says(thread, "Closed #1 without merging");
    team.until(&root, "the end", closed).await;
    let program = team.scratch.remote_file("main", "notes.sh").unwrap();
    assert!(!program.contains("list_json()"));
}

/// The Reviewer has not judged, so there never was a card; a person may merge all
/// the same, and is told what is missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_can_merge_what_nobody_has_reviewed_and_is_told_so() {
    let team = Team::start(include_str!("scenarios/unreviewed.yaml")).await;
    let root = team.say("say hello").await;
    team.press(&root, "approve").await;
    team.until(&root, "the question", |thread| {
        says(thread, "Is this the greeting you meant?")
    })
    .await;
    team.reply(&root, "merge").await;
    let fresh = |thread: &Value| says(thread, FRESH);
    let thread = team.until(&root, "a card", fresh).await;
    assert!(says(&thread, "⚠ Nobody has reviewed this head"));
    assert!(says(&thread, "⚠ Checks: unverified"));
    assert!(says(&thread, "The Coder writes"));
    team.press_card(&root, FRESH, "merge").await;
    team.until(&root, "the merge", ended).await;
    let greeting = team.scratch.remote_file("main", "hello.txt");
    assert_eq!(greeting.as_deref(), Some("hello\n"));
}

fn run(team: &Team, args: &[&str]) -> Output {
    let mut command = command(team.scratch.root(), &home(&team.scratch));
    command.args(args).output().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_merges_shows_what_and_asks_first() {
    let (team, _root) = held().await;
    let asked = run(&team, &["pr", "merge", "1"]);
    let shown = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert!(!asked.status.success(), "nobody agreed: {asked:?}");
    assert!(shown.contains("What the runtime saw"), "{asked:?}");
    let done = run(&team, &["pr", "merge", "1", "--yes"]);
    let shown = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{done:?}");
    assert!(shown.contains("Merged #1 as"), "{shown}");
    let program = team.scratch.remote_file("main", "notes.sh").unwrap();
    assert!(program.contains("list_json()"));
    let again = run(&team, &["pr", "merge", "1", "--yes"]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("#1 is merged already"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_closes_archives_and_resumes() {
    let (team, root) = held().await;
    let listed = run(&team, &["threads", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let short = listed[0]["short"].as_str().unwrap().to_owned();
    let put_away = run(&team, &["thread", "archive", &short]);
    let said = String::from_utf8_lossy(&put_away.stdout).into_owned();
    assert!(said.contains("Archived by the user"), "{put_away:?}");
    let resumed = run(&team, &["thread", "resume", &short]);
    let said = String::from_utf8_lossy(&resumed.stdout).into_owned();
    assert!(said.contains("What the runtime saw"), "{resumed:?}");
    let closed = run(&team, &["pr", "close", "1", "--yes"]);
    let said = String::from_utf8_lossy(&closed.stdout).into_owned();
    assert!(said.contains("Closed #1 without merging"), "{closed:?}");
    let thread = team.thread(&root).await.unwrap();
    let open = thread["decisions"].as_array().unwrap().iter();
    let open = open.filter(|one| one["decided"].is_null()).count();
    assert_eq!(open, 0, "no card is left open");
}

pub(crate) fn no_gh() -> bool {
    let missing = std::process::Command::new("gh")
        .arg("--version")
        .output()
        .is_err();
    if missing {
        assert!(
            std::env::var_os("CODEBUTLER_REQUIRE_GH").is_none(),
            "gh is required here"
        );
    }
    missing
}

/// Seven kinds of no, one after the other, by the real `gh`: each is one message in
/// plain words, nothing is asked more than once a minute, and when the way is free
/// the merge goes through by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_of_github_is_one_message_slow_polling_and_a_way_on() {
    if no_gh() {
        eprintln!("SKIPPED: gh is not installed");
        return;
    }
    let (team, github) = Team::start_on_github(STORY).await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    let squash = "Squash merges are not allowed on this repository.";
    github.refuse_merges(Some((405, squash)));
    team.press(&root, "merge").await;
    let pending = (405, "Required status check \"ci\" is expected.");
    let nos = [
        (405, squash, "does not allow squash merges"),
        (
            405,
            "At least 1 approving review is required by reviewers with write access.",
            "needs the approving review of a person",
        ),
        (pending.0, pending.1, "has not finished"),
        (405, "Required status check \"ci\" is failing.", "is red"),
    ];
    for (status, why, words) in nos {
        github.refuse_merges(Some((status, why)));
        if why != squash {
            team.press_action(&root, "cb-act-try-again").await;
        }
        let told = |thread: &Value| times(thread, words) == 1;
        team.until(&root, words, told).await;
    }
    let all = [
        (
            403,
            "API rate limit exceeded for user ID 1.",
            "takes no more requests",
        ),
        (401, "Bad credentials", "gh auth login"),
    ];
    for (status, why, words) in all {
        github.refuse_all(Some((status, why)));
        team.press_action(&root, "cb-act-try-again").await;
        let told = |thread: &Value| times(thread, words) == 1;
        team.until(&root, words, told).await;
    }
    github.refuse_all(None);
    github.refuse_merges(None);
    github.close(1, true);
    team.press_action(&root, "cb-act-try-again").await;
    let told = |thread: &Value| times(thread, "somebody has closed it") == 1;
    team.until(&root, "closed by hand", told).await;
    github.close(1, false);
    github.refuse_merges(Some(pending));
    team.press_action(&root, "cb-act-try-again").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = github.count("PUT", "/pulls/1/merge");
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(github.count("PUT", "/pulls/1/merge"), before, "no loop");
    github.refuse_merges(None);
    let thread = team.until(&root, "the merge by itself", ended).await;
    assert_eq!(github.count("PUT", "/pulls/1/merge"), before + 1);
    for (_, _, words) in nos.into_iter().chain(all) {
        // The last one was put away when the merge went through.
        assert!(times(&thread, words) <= 1, "{words}");
    }
    let raw = thread["messages"].to_string();
    assert!(
        !raw.contains("gh api") && !raw.contains("I had to stop"),
        "{raw}"
    );
}

/// What a person deleted is not pushed again, and hold or stop ends the waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_branch_stays_deleted_and_a_waiting_merge_can_be_withdrawn() {
    if no_gh() {
        eprintln!("SKIPPED: gh is not installed");
        return;
    }
    let (team, github) = Team::start_on_github(STORY).await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    github.refuse_merges(Some((405, "Required status check \"ci\" is expected.")));
    team.press(&root, "merge").await;
    let waits = |thread: &Value| says(thread, "has not finished");
    team.until(&root, "the refusal", waits).await;
    team.reply(&root, "hold").await;
    let held = |thread: &Value| says(thread, "This merge was withdrawn");
    team.until(&root, "the hold", held).await;
    github.refuse_merges(None);
    team.reply(&root, "merge").await;
    team.until(&root, "a fresh card", |thread| says(thread, FRESH))
        .await;
    github.delete_branch_of(1);
    team.press_card(&root, FRESH, "merge").await;
    let gone = |thread: &Value| says(thread, "its branch was deleted on the remote");
    let thread = team.until(&root, "the refusal", gone).await;
    assert_eq!(team.scratch.remote_branches(), ["main"]);
    assert!(!thread["messages"].to_string().contains("gh api"));
    let merges = github.count("PUT", "/pulls/1/merge");
    assert_eq!(merges, 1, "what was withdrawn was not tried again");
}

/// What the Artist writes before there is a branch is kept, and can be merged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_artist_made_is_kept_and_can_be_merged() {
    let team = Team::start(include_str!("scenarios/artist.yaml")).await;
    let root = team.say("@codebutler.artist draw a button").await;
    let kept = |thread: &Value| says(thread, "What I made is kept in #1");
    team.until(&root, "the kept file", kept).await;
    team.reply(&root, "merge").await;
    team.press_card(&root, FRESH, "merge").await;
    let merged = |thread: &Value| says(thread, "Merged #1 as");
    team.until(&root, "the merge", merged).await;
    let drawn = team
        .scratch
        .remote_file("main", ".codebutler/artist/assets/button.svg");
    assert_eq!(drawn.as_deref(), Some("<svg/>\n"));
}

/// Who asked for another plan sees on its card what is new in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_is_proposed_again_says_what_changed() {
    let team = Team::start(
        "
title: proposed again
roles:
  pm:
    - call:
        - tool: ProposePlan
          with:
            title: Add list --json
            summary: As asked.
            steps: ['Parse the flag — notes.sh:14']
            criteria: ['list --json prints []']
            files: [notes.sh]
            complexity: simple
    - expect: { any_user_contains: 'as csv too' }
      call:
        - tool: ProposePlan
          with:
            title: Add list --json
            summary: As asked.
            steps: ['Parse the flag — notes.sh:14', 'Write commas — notes.sh:20']
            criteria: ['list --json prints []', 'list --csv prints nothing']
            files: [notes.sh]
            complexity: simple
",
    )
    .await;
    let root = team.say("add a --json flag").await;
    let thread = team
        .until(&root, "the first plan", |thread| {
            says(thread, "Parse the flag")
        })
        .await;
    let changed = "Changed since the plan before";
    assert!(!says(&thread, changed), "{thread}");
    team.press(&root, "modify").await;
    team.reply(&root, "as csv too, please").await;
    let thread = team
        .until(&root, "the second plan", |thread| says(thread, changed))
        .await;
    for line in [
        "step 2 added: “Write commas”",
        "criterion added: “list --csv prints nothing”",
    ] {
        assert!(says(&thread, line), "{line}: {thread}");
    }
    assert!(!says(&thread, "title: was"), "{thread}");
}
