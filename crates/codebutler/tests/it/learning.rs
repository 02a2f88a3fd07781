//! What the team remembers: research that is kept, and learnings that a person
//! accepted one by one.

use std::path::Path;

use butler_testkit::git;
use serde_json::Value;

use crate::team::{Team, button, command, says, story};

const QUESTION: &str = include_str!("scenarios/question.yaml");
const STORY: &str = include_str!("../../demo/scenarios/json-flag.yaml");
const LEARNINGS: &str = include_str!("scenarios/learnings.yaml");

/// Two questions in one turn are answered side by side, each with a log of its
/// own, and the PM hears both before it goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_with_research_from_two_requests() {
    let team = Team::start(QUESTION).await;
    let root = team.say("why does the program not use local?").await;
    let thread = team
        .until(&root, "the answer", |thread| {
            says(thread, "The program does without")
        })
        .await;
    let lines = story(&thread);
    let asked = |line: &&String| line.starts_with("codebutler.pm: @codebutler.researcher");
    assert_eq!(lines.iter().filter(asked).count(), 2, "{lines:#?}");
    assert_eq!(team.logs(&root, "researcher-").len(), 2);
    let log = team.log(&root, "pm");
    assert_eq!(
        log.matches("\"assistant\"").count(),
        3,
        "woken once for both: {log}"
    );
    let branches = team.scratch.remote_branches();
    let kept = branches
        .iter()
        .find(|name| name.starts_with("codebutler/knowledge-"))
        .unwrap();
    let file = team
        .scratch
        .remote_file(kept, ".codebutler/research/posix-local.md")
        .unwrap();
    assert!(file.contains("Issue 8 leaves it out") && file.contains("https://pubs.opengroup.org/"));
    let global = team
        .scratch
        .remote_file(kept, ".codebutler/global.md")
        .unwrap();
    assert!(global.contains("- Is local part of POSIX sh? — @.codebutler/research/posix-local.md"));
    assert!(
        !global.contains("Issue 8"),
        "only the index line reaches global.md"
    );

    // Without code there is nothing that it could be merged with: it is put before
    // the person without being asked for, once, also when its process dies.
    let card = |thread: &Value| button(thread, ":merge").is_some();
    team.until(&root, "the card", card).await;
    team.kill("pm");
    team.press(&root, "merge").await;
    let thread = team
        .until(&root, "the merge", |thread| says(thread, "Merged #1 as"))
        .await;
    let cards = thread["decisions"].as_array().unwrap();
    assert_eq!(cards.len(), 1, "{cards:#?}");
    let file = ".codebutler/research/posix-local.md";
    assert!(team.scratch.remote_file("main", file).is_some());
    assert_eq!(team.scratch.remote_branches(), ["main"]);
}

/// With `knowledge: direct`, agreed to on this machine, findings need no pull
/// request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn direct_knowledge_is_on_the_default_branch_at_once() {
    let team = Team::start_with(QUESTION, |root| {
        let policy = root.join(".codebutler/policy.json");
        std::fs::write(policy, "{\"knowledge\": \"direct\"}").unwrap();
        publish(root);
        agree(root);
    })
    .await;
    let root = team.say("why does the program not use local?").await;
    team.until(&root, "the answer", |thread| {
        says(thread, "The program does without")
    })
    .await;
    let file = ".codebutler/research/posix-local.md";
    let kept = team.scratch.remote_file("main", file).unwrap();
    assert!(kept.contains("Issue 8 leaves it out"), "{kept}");
    let pulls = team
        .scratch
        .remote_git(&["for-each-ref", "refs/codebutler/pr"]);
    assert_eq!(pulls, "", "no pull request was opened");
}

/// Agrees to the policy as it is, as a person on this machine would.
fn agree(root: &Path) {
    let home = root.parent().unwrap().join("machine");
    let run = |args: &[&str]| {
        let output = command(root, &home).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let shown = run(&["policy"]);
    let hex = |word: &&str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let hash = shown.split_whitespace().find(hex).unwrap();
    run(&["policy", "accept", "--hash", hash]);
}

/// A finding that is older than the configured age is named to the Researcher,
/// and the same topic takes its place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_finding_is_looked_up_again_and_replaced() {
    let team = Team::start_with(QUESTION, |root| {
        let home = root.join(".codebutler");
        std::fs::create_dir_all(home.join("research")).unwrap();
        std::fs::write(
            home.join("research/posix-local.md"),
            "# Is local in POSIX?\n\nFound on 2020-01-02.\n\nYes.\n\n## Sources\n\n- a book\n",
        )
        .unwrap();
        std::fs::write(
            home.join("global.md"),
            "# The team\n\n## Research Index\n\n- Is local in POSIX? — @.codebutler/research/posix-local.md\n",
        )
        .unwrap();
        publish(root);
    })
    .await;
    let root = team.say("why does the program not use local?").await;
    team.until(&root, "the answer", |thread| {
        says(thread, "The program does without")
    })
    .await;
    let logs = team.logs(&root, "researcher-");
    let all: String = logs
        .iter()
        .map(|name| team.log(&root, name.trim_end_matches(".jsonl")))
        .collect();
    assert!(
        all.contains("- Is local in POSIX? (.codebutler/research/posix-local.md, 2020-01-02)"),
        "{all}"
    );
    assert!(
        all.contains("instead of what was found on 2020-01-02"),
        "{all}"
    );
    let branches = team.scratch.remote_branches();
    let branch = branches.iter().find(|name| name.contains("knowledge-"));
    let branch = branch.unwrap();
    let kept = |file: &str| team.scratch.remote_file(branch, file).unwrap();
    assert!(kept(".codebutler/research/posix-local.md").contains("Issue 8 leaves it out"));
    let global = kept(".codebutler/global.md");
    assert_eq!(global.matches("posix-local.md").count(), 1, "{global}");
}

/// Puts what is in the working copy on the default branch, here and on the remote.
fn publish(root: &Path) {
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", "playbook"]);
    git(root, &["push", "--quiet", "origin", "HEAD:main"]);
}

fn cards(thread: &Value) -> usize {
    let asked = |line: &&String| line.starts_with("codebutler.lead: Remember this?");
    story(thread).iter().filter(asked).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accepted_learnings_are_merged_with_the_change_and_the_others_are_not() {
    let team = Team::start(LEARNINGS).await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    team.until(&root, "the merge card", |thread| {
        says(thread, "Ready to merge")
    })
    .await;
    let thread = team.thread(&root).await.unwrap();
    assert_eq!(cards(&thread), 3);
    // The look back is there, with a link to the message that it rests on.
    let messages = thread["messages"].as_array().unwrap().iter();
    let mut messages = messages.map(Value::to_string);
    let look_back = messages.find(|text| text.contains("Look back")).unwrap();
    assert!(
        look_back.contains("the tests came first (low; one round)"),
        "{look_back}"
    );
    let link = format!("p{}", root.replace('.', ""));
    assert!(look_back.contains(&link), "{look_back}");
    team.press_card(&root, "Tests first", "accept").await;
    team.press_card(&root, "Everything is a note", "reject")
        .await;
    team.press_card(&root, "Small things after", "accept").await;
    team.press(&root, "merge").await;
    let thread = team
        .until(&root, "the report", |thread| says(thread, "What it took"))
        .await;
    let main = |file: &str| team.scratch.remote_file("main", file).unwrap_or_default();
    assert!(main(".codebutler/coder.md").contains("### Tests first\n- **When:** a flag is added"));
    assert!(main(".codebutler/workflows.md").contains("## polish"));
    assert!(!main(".codebutler/global.md").contains("Everything is a note"));
    assert!(main("notes.sh").contains("list_json()"));
    assert!(
        says(&thread, "Remembered: Tests first (coder.md)"),
        "{:#?}",
        story(&thread)
    );
    assert_eq!(team.scratch.remote_branches(), ["main"]);
    // The clicks cost nothing: the Lead's model was asked three times in all.
    assert_eq!(team.log(&root, "lead").matches("\"assistant\"").count(), 3);
}

/// A learning about a file that is gone is named to the Lead with the reason;
/// accepted, it leaves the prompt with the merge.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_learning_about_code_that_is_gone_is_let_go_with_the_merge() {
    let scenario = LEARNINGS
        .replace(
            "        - { tool: ReadThread, with: { what: receipts } }\n",
            "        - { tool: ReadThread, with: { what: receipts } }\n        - { tool: ReadThread, with: { what: memory } }\n",
        )
        .replace(
            "\"5 passed\"] }",
            "\"5 passed\", \"it is about old/away.sh, which is gone\"] }",
        )
        .replace(
            "            changes:\n",
            "            prune:\n              - { file: coder.md, title: Old habit }\n            changes:\n",
        );
    let team = Team::start_with(&scenario, |root| {
        let home = root.join(".codebutler");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(
            home.join("coder.md"),
            "# Coder\n\n## Learnings\n\n### Old habit\n- **When:** a flag is added\n- **Rule:** run old/away.sh first\n- **Example:** thread-1\n- **Confidence:** high\n- **Source:** thread-1, 2026-01-02\n\n## Archived Learnings\n",
        )
        .unwrap();
        publish(root);
    })
    .await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    team.press_card(&root, "Let this go?", "accept").await;
    team.press(&root, "merge").await;
    let thread = team
        .until(&root, "the report", |thread| says(thread, "What it took"))
        .await;
    assert!(says(&thread, "Remembered: Old habit goes (coder.md)"));
    let coder = team.scratch.remote_file("main", ".codebutler/coder.md");
    let coder = coder.unwrap();
    let (live, archive) = coder.split_once("## Archived Learnings").unwrap();
    assert!(!live.contains("Old habit"), "{coder}");
    assert!(archive.contains("Old habit") && archive.contains("away.sh, which is gone"));
}

/// A simple plan that went through without friction: one review pass, the short
/// form of the look back, and nobody is asked to discuss it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_thread_that_went_well_is_closed_without_a_discussion() {
    let question = "  lead:\n    - expect: { any_user_contains: \"Fast track: a simple plan, and there was no friction\" }\n      call:\n        - { tool: HandOver, with: { kind: question, to: coder, text: \"How was it?\" } }\n";
    let scenario = STORY.replace("  lead:\n", question);
    let team = Team::start(&scenario).await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    let thread = team
        .until(&root, "the merge card", |thread| {
            says(thread, "Ready to merge")
        })
        .await;
    assert!(!says(&thread, "How was it?"), "{:#?}", story(&thread));
    let lead = team.log(&root, "lead");
    assert!(
        lead.contains("there was no friction, so nobody is asked"),
        "{lead}"
    );
    let reviewer = team.log(&root, "reviewer");
    assert!(reviewer.contains("so one pass is enough"), "{reviewer}");
}

/// A click that comes after the merge is not lost: it becomes a pull request of
/// its own, which a person merges; a second one joins it, and both are one commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_learning_accepted_after_the_merge_gets_a_pull_request_of_its_own() {
    let team = Team::start(LEARNINGS).await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    team.until(&root, "the report", |thread| says(thread, "What it took"))
        .await;
    team.press_card(&root, "Tests first", "accept").await;
    team.until(&root, "the card", |thread| {
        says(thread, "Keep what was learned")
    })
    .await;
    assert!(
        team.scratch
            .remote_file("main", ".codebutler/coder.md")
            .is_none()
    );
    let before = commits(&team);
    team.press_card(&root, "Small things after", "accept").await;
    let both = |thread: &Value| {
        let cards = thread["messages"].as_array().into_iter().flatten();
        let mut cards = cards.map(Value::to_string);
        cards.any(|card| card.contains("Tests first (coder.md)") && card.contains("workflows.md"))
    };
    let thread = team.until(&root, "both on one card", both).await;
    assert!(
        !says(&thread, "once the other"),
        "nothing waits: {thread:#}"
    );
    // The card that was there before has no say any more.
    team.press_card(&root, "Keep what was learned", "merge")
        .await;
    team.until(&root, "the word that it was replaced", |thread| {
        says(thread, "that card was replaced by the newer one")
    })
    .await;
    assert_eq!(commits(&team), before);
    team.press_card(&root, "Keep what was learned", "merge")
        .await;
    team.until(&root, "the second merge", |thread| {
        says(thread, "Merged #2")
    })
    .await;
    let main = |file: &str| team.scratch.remote_file("main", file).unwrap_or_default();
    assert!(main(".codebutler/coder.md").contains("### Tests first"));
    assert!(main(".codebutler/workflows.md").contains("## polish"));
    assert_eq!(
        commits(&team),
        before + 1,
        "one commit for what is accepted"
    );
    assert_eq!(team.scratch.remote_branches(), ["main"]);
}

fn commits(team: &Team) -> usize {
    let log = team.scratch.remote_git(&["log", "--format=%s", "main"]);
    log.lines().count()
}

/// No pull request carries what is accepted here: all of it gets one of its own,
/// and who accepted the first knows what it waits for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_learning_accepted_in_a_thread_without_code_is_written() {
    let team = Team::start(include_str!("scenarios/remember.yaml")).await;
    let root = team.say("@codebutler.lead remember what I told you").await;
    team.press_card(&root, "Tests first", "accept").await;
    team.until(&root, "the word that it waits", |thread| {
        says(
            thread,
            "in one pull request, once the other 2 open cards are decided",
        )
    })
    .await;
    team.press_card(&root, "Small steps", "accept").await;
    team.press_card(&root, "Plain names", "accept").await;
    team.press_card(&root, "Keep what was learned", "merge")
        .await;
    team.until(&root, "the merge", |thread| says(thread, "Merged #1"))
        .await;
    let file = |name: &str| team.scratch.remote_file("main", name).unwrap();
    let global = file(".codebutler/global.md");
    assert!(global.contains("### Tests first") && global.contains("### Small steps"));
    assert!(file(".codebutler/lead.md").contains("### Plain names"));
}

/// A person says what is to be remembered and for whom, also for a role that has
/// nothing to do with the thread; and without a pull request the Lead is told that
/// it is done, and is not left waiting for a merge that cannot come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_wants_remembered_for_another_role_is_taken_and_nothing_waits_for_a_merge() {
    let team = Team::start(
        "
title: remembered for the Artist
roles:
  lead:
    - call:
        - tool: ProposeLearnings
          with:
            learnings:
              - file: artist.md
                title: No grey on grey
                when: a text is designed
                rule: dark on light
                example: as the user said
                confidence: high
    - expect: { tool_result_contains: ['one card is waiting', 'there is no pull request here, so you are done'] }
      call: [{ tool: ProposeMerge, with: { title: merge, description: all of it } }]
    - expect: { tool_result_contains: 'nothing to merge, and nothing to wait for' }
      say: It is before you.
",
    )
    .await;
    let root = team
        .say("@codebutler.lead remember that the Artist uses no grey on grey")
        .await;
    team.until(&root, "the end", |thread| says(thread, "It is before you."))
        .await;
    team.wait("the end of the Lead's work", || {
        team.log(&root, "lead").contains("\"activation_ended\"")
    })
    .await;
    let log = team.log(&root, "lead");
    assert!(!log.contains("\"parked\""), "nothing waits: {log}");
    team.press_card(&root, "No grey on grey", "accept").await;
    team.press_card(&root, "Keep what was learned", "merge")
        .await;
    team.until(&root, "the merge", |thread| says(thread, "Merged #1"))
        .await;
    let artist = team
        .scratch
        .remote_file("main", ".codebutler/artist.md")
        .unwrap();
    assert!(artist.contains("### No grey on grey"), "{artist}");
}
