//! What people type, and which shipped skill or workflow it starts. `-` is for
//! messages that code leaves to the PM.

use butler_playbook::{Intent, builtin_skills, builtin_workflows, intent};

/// One message per line: what it starts, the message, then what was caught.
const PHRASES: &str = include_str!("phrases.txt");

fn found(message: &str) -> (String, Vec<String>) {
    let (workflows, skills) = (builtin_workflows(), builtin_skills());
    let (name, captures) = match intent(message, &workflows, &skills) {
        Intent::Workflow { workflow, captures } => (format!("w:{}", workflow.name), captures),
        Intent::Skill { skill, captures } => (skill.name.clone(), captures),
        Intent::Menu(items) => (format!("menu of {}", items.len()), Default::default()),
        Intent::Open => ("-".to_owned(), Default::default()),
    };
    let pairs = captures
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    (name, pairs.collect())
}

#[test]
fn two_hundred_phrases_start_what_they_should() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for line in PHRASES.lines().filter(|line| !line.is_empty()) {
        let mut columns = line.split(" | ").map(str::trim);
        let expected = columns.next().unwrap();
        let message = columns
            .next()
            .unwrap_or_else(|| panic!("no message in {line:?}"));
        let captures: Vec<String> = columns.map(str::to_owned).collect();
        let got = found(&message.replace("\\n", "\n"));
        if got != (expected.to_owned(), captures) {
            wrong.push(format!("{line}\n    got {got:?}"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 200, "only {count} phrases");
}

#[test]
fn every_shipped_skill_and_workflow_is_started_by_some_phrase() {
    let mut names: Vec<String> = builtin_skills()
        .into_iter()
        .map(|skill| skill.name)
        .collect();
    assert_eq!(names.len(), 11);
    let workflows = builtin_workflows();
    assert_eq!(workflows.len(), 9);
    names.extend(
        workflows
            .iter()
            .map(|workflow| format!("w:{}", workflow.name)),
    );
    for name in names {
        let start = format!("{name} | ");
        assert!(
            PHRASES.lines().any(|line| line.starts_with(&start)),
            "{name}"
        );
    }
}

#[test]
fn a_started_skill_has_all_its_values() {
    let skills = builtin_skills();
    for line in PHRASES.lines().filter(|line| !line.starts_with("w:")) {
        let Some(message) = line.split(" | ").nth(1) else {
            continue;
        };
        if let Intent::Skill { skill, captures } = intent(message, &[], &skills) {
            let text = skill
                .resolve(&captures)
                .unwrap_or_else(|e| panic!("{line}: {e}"));
            assert!(
                captures.values().all(|value| text.contains(value)),
                "{line}"
            );
        }
    }
}
