//! Skills that a person starts by their words: without a model where code can
//! tell, with the gates where code changes, from the default branch as it is.

use std::{fs, path::Path};

use butler_testkit::git;
use serde_json::Value;

use crate::team::{Team, story};

const SCENARIO: &str = include_str!("scenarios/skills.yaml");

fn says(thread: &Value, start: &str) -> bool {
    story(thread).iter().any(|line| line.starts_with(start))
}

/// Puts files on the default branch, here and on the remote.
fn publish(root: &Path, files: &[(&str, String)]) {
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", "playbook"]);
    git(root, &["push", "--quiet", "origin", "HEAD:main"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_of_the_pm_is_told_to_its_model_and_a_new_prompt_holds_from_the_next_message() {
    let team = Team::start(SCENARIO).await;
    let root = team.say("explain the list command").await;
    team.until(&root, "the explanation", |thread| {
        says(thread, "codebutler.pm: It prints every note")
    })
    .await;
    let before = team.log(&root, "pm");
    assert_eq!(before.matches(r#"{"t":"prompt""#).count(), 1, "{before}");
    assert!(before.contains("# Skills") && before.contains("security-scan (reviewer)"));

    let own = "# PM\n\nYou speak like a captain.\n".to_owned();
    publish(team.scratch.root(), &[(".codebutler/pm.md", own)]);
    team.reply(&root, "explain the add command").await;
    team.until(&root, "the second explanation", |thread| {
        says(thread, "codebutler.pm: It appends a line")
    })
    .await;
    let after = team.log(&root, "pm");
    assert_eq!(after.matches(r#"{"t":"prompt""#).count(), 2);
    assert!(after.contains("You speak like a captain."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_of_another_role_goes_there_without_a_thought_of_the_pm() {
    let team = Team::start(SCENARIO).await;
    let root = team.say("security scan").await;
    let thread = team
        .until(&root, "the report", |thread| {
            says(thread, "codebutler.reviewer: Nothing reaches a shell")
        })
        .await;
    let passed = "codebutler.pm: @codebutler.reviewer the skill *security-scan* was started";
    assert!(says(&thread, passed), "{:#?}", story(&thread));
    assert_eq!(team.log(&root, "pm"), "", "the PM's model was not asked");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exact_words_for_a_skill_that_changes_code_stand_for_its_plan_and_nothing_else_does() {
    let team = Team::start(SCENARIO).await;
    let root = team.say("write tests for notes.sh").await;
    team.press(&root, "merge").await;
    let thread = team
        .until(&root, "the merge", |thread| {
            says(thread, "codebutler.lead: Merged")
        })
        .await;
    let lines = story(&thread);
    assert!(
        lines[1]
            .starts_with("codebutler.pm: @codebutler.coder the skill *test: notes.sh* was started"),
        "{lines:#?}"
    );
    let merged = team.scratch.remote_file("main", "tests/more.sh");
    assert_eq!(merged.as_deref(), Some("# one more case\n"));

    // The same words to the Coder itself open no gate.
    let root = team.say("@codebutler.coder write tests for notes.sh").await;
    team.until(&root, "the refusal", |thread| {
        says(thread, "codebutler.coder: I may not change anything")
    })
    .await;
    let log = team.log(&root, "coder");
    assert!(log.contains("refused"), "{log}");
}

/// A team with two skills that fit "read me now then" equally well, and the
/// thread where it has offered both.
async fn offered() -> (Team, String) {
    let skill = |name: &str, trigger: &str| {
        let text = format!(
            "# {name}\n\nIt is {name}.\n\n## Trigger\n{trigger}\n\n## Agent\npm\n\n## Prompt\nDo {name}.\n"
        );
        (format!(".codebutler/skills/{name}.md"), text)
    };
    let files = [
        skill("doc-notes", "read me {y} then"),
        skill("all-notes", "read {x} now then"),
    ];
    let team = Team::start_with(SCENARIO, |root| {
        let files = files
            .each_ref()
            .map(|(name, text)| (name.as_str(), text.clone()));
        publish(root, &files);
    })
    .await;
    let root = team.say("read me now then").await;
    team.until(&root, "the menu", |thread| {
        says(thread, "codebutler.pm: That fits more than one thing")
    })
    .await;
    assert_eq!(team.log(&root, "pm"), "", "the menu costs nothing");
    (team, root)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_skills_that_fit_equally_well_are_offered_and_the_answer_starts_one() {
    let (team, root) = offered().await;
    team.reply(&root, "2").await;
    team.until(&root, "the chosen skill", |thread| {
        says(thread, "codebutler.pm: The notes are documented")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_press_on_the_menu_starts_what_it_names() {
    let (team, root) = offered().await;
    team.press_action(&root, "cb-menu-doc-notes").await;
    team.until(&root, "the chosen skill", |thread| {
        says(thread, "codebutler.pm: The notes are documented")
    })
    .await;
    let log = team.log(&root, "pm");
    assert!(log.contains("starts the skill `doc-notes`"), "{log}");
}

/// The Lead's own hand reaches no file: what it writes is a card, and what is
/// accepted is a pull request, in a thread that has no branch as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_of_the_lead_writes_only_what_a_person_accepts_and_merges() {
    let team = Team::start(include_str!("scenarios/journey.yaml")).await;
    let root = team.say("self-document").await;
    team.press_card(&root, "The notes got a test", "accept")
        .await;
    team.press_card(&root, "Keep what was learned", "merge")
        .await;
    team.until(&root, "the merge", |thread| {
        says(thread, "codebutler.lead: Merged")
    })
    .await;
    let journey = team.scratch.remote_file("main", ".codebutler/JOURNEY.md");
    assert_eq!(
        journey.as_deref(),
        Some("## Today\n\nThe notes got a test.\n")
    );
    assert_eq!(team.scratch.remote_branches(), ["main"]);
}
