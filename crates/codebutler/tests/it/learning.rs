//! What the team remembers: research that is kept, and learnings that a person
//! accepted one by one.

use serde_json::Value;

use crate::team::{Team, says, story};

const QUESTION: &str = include_str!("scenarios/question.yaml");
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

/// A click that comes after the merge is not lost: it becomes a pull request of
/// its own, which a person merges.
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
    team.press_card(&root, "Keep what was learned", "merge")
        .await;
    team.until(&root, "the second merge", |thread| {
        says(thread, "Merged #2")
    })
    .await;
    let coder = team
        .scratch
        .remote_file("main", ".codebutler/coder.md")
        .unwrap();
    assert!(coder.contains("### Tests first"));
}
