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
    assert!(before.contains("- security-scan: ") && before.contains("- explain (target): "));

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

/// The PM's model means a skill in other words: it starts as if it had been said,
/// with the tools that its steps name, and what is missing is named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_that_the_model_chose_brings_its_steps_and_its_tools() {
    let team = Team::start(
        "
title: chosen by the model
roles:
  pm:
    - call: [{ tool: Start, with: { name: triage-issue } }]
    - expect: { tool_result_contains: 'no value for issue' }
      call: [{ tool: Start, with: { name: Triage_Issue, values: ['issue: 12'] } }]
    - expect: { tool_result_contains: ['starts the skill `triage-issue`', 'Triage issue 12.'] }
      say: It is a bug.
    - say: No other.
",
    )
    .await;
    let root = team.say("somebody should look at what ben reported").await;
    team.until(&root, "the answer", |thread| {
        says(thread, "codebutler.pm: It is a bug.")
    })
    .await;
    team.reply(&root, "and is there anything else?").await;
    team.until(&root, "the second answer", |thread| {
        says(thread, "codebutler.pm: No other.")
    })
    .await;
    let log = team.log(&root, "pm");
    let prompts = log.lines().filter(|line| line.contains(r#"{"t":"prompt""#));
    let offered = prompts.map(|line| line.contains(r#""name":"GHIssue""#));
    // Brought from the next request on, and gone with the activation.
    assert_eq!(offered.collect::<Vec<_>>(), [false, true, false], "{log}");
    let told = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["entry"]["record"]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let mut prompts = log.lines().filter(|line| line.contains(r#"{"t":"prompt""#));
    let (first, second) = (prompts.next().unwrap(), prompts.next().unwrap());
    assert_eq!(told(first), told(second), "only the tools change");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_of_another_role_that_the_model_chose_goes_there() {
    let team = Team::start(
        "
title: chosen for another role
roles:
  pm:
    - call: [{ tool: Start, with: { name: security-scan, values: ['target=notes.sh'] } }]
  reviewer:
    - expect: { any_user_contains: 'Audit the security of notes.sh.' }
      call: [{ tool: SendMessage, with: { message: Nothing reaches a shell. } }]
    - say: Done.
",
    )
    .await;
    let root = team.say("is notes.sh safe to give to strangers?").await;
    team.until(&root, "the report", |thread| {
        says(thread, "codebutler.reviewer: Nothing reaches a shell.")
    })
    .await;
}

/// The PM is not sure: the person presses, and that is started; a name that nothing
/// has is named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unsure_pm_asks_with_a_menu_and_a_press_starts_what_it_names() {
    let team = Team::start(
        "
title: not sure
roles:
  pm:
    - call: [{ tool: Start, with: { choices: [changelog, nothing-like-it] } }]
    - expect: { tool_result_contains: 'there is no workflow or skill `nothing-like-it`' }
      call: [{ tool: Start, with: { choices: [changelog, status, question] } }]
    - expect: { any_user_contains: 'starts the skill `changelog`' }
      say: The log is written.
    - call: [{ tool: Start, with: { choices: [status, question] } }]
    - expect: { any_user_contains: 'starts the workflow `question`' }
      say: It goes well.
",
    )
    .await;
    let root = team.say("what is new, and how is it going?").await;
    team.press_action(&root, "cb-menu-changelog").await;
    team.until(&root, "the chosen skill", |thread| {
        says(thread, "codebutler.pm: The log is written.")
    })
    .await;
    let log = team.log(&root, "pm");
    assert!(!log.contains("starts the skill `status`"), "{log}");
    // By its name as well, in a menu of its own.
    team.reply(&root, "and the rest of what I asked?").await;
    team.until(&root, "the second menu", |thread| {
        let menus = story(thread);
        let menus = menus.iter().filter(|line| line.contains("Which of these"));
        menus.count() == 2
    })
    .await;
    team.reply(&root, "question").await;
    team.until(&root, "the chosen workflow", |thread| {
        says(thread, "codebutler.pm: It goes well.")
    })
    .await;
}

/// Whatever the model would choose, and whatever skill has nearly the same words:
/// what a person writes before a colon decides.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_explicit_prefix_wins_over_every_other_reading() {
    let team = Team::start(
        "
title: the prefix wins
roles:
  pm:
    - expect:
        any_user_contains: ['starts the workflow `question`', 'What it is about: question: what changed since v1.', 'No plan, no branch']
      say: Nothing did.
",
    )
    .await;
    let root = team.say("question: what changed since v1").await;
    team.until(&root, "the answer", |thread| {
        says(thread, "codebutler.pm: Nothing did.")
    })
    .await;
    let log = team.log(&root, "pm");
    assert!(!log.contains("starts the skill"), "{log}");
}
