//! Nothing a prompt names is missing, nothing a role has goes unexplained.

use std::collections::{BTreeMap, BTreeSet};

use butler_playbook::{
    Memory, builtin_file, builtin_files, builtin_skills, builtin_workflows, parse_workflows,
    role_file, validate_skills,
};
use butler_policy::{Right, Scope, right};
use butler_protocol::{FindingKind, Role, Severity};

use crate::{
    offered::{existing, for_skill, hand_over_kinds, offered},
    spans,
};

/// Files that appear while the team works, or that are a repo's own.
const KNOWN_FILES: [&str; 7] = [
    "roadmap.md",
    "JOURNEY.md",
    "CHANGELOG.md",
    "research/",
    "artist/",
    "artist/style.md",
    "skills/",
];

/// Every text with the roles that read it.
fn texts() -> Vec<(String, Vec<Role>, String)> {
    let mut texts = Vec::new();
    for role in Role::ALL {
        let file = role_file(role);
        texts.push((file.name.to_owned(), vec![role], file.text.to_owned()));
    }
    for (name, roles) in [
        ("global.md", Role::ALL.to_vec()),
        ("workflows.md", vec![Role::Pm, Role::Lead]),
    ] {
        let file = builtin_file(name).unwrap();
        texts.push((name.to_owned(), roles, file.text.to_owned()));
    }
    for skill in builtin_skills() {
        let name = format!("skills/{}.md", skill.name);
        texts.push((name, vec![skill.agent], skill.prompt.text().to_owned()));
    }
    texts
}

#[test]
fn every_tool_a_text_names_is_offered_to_its_readers() {
    for (file, roles, text) in texts() {
        for tool in spans::tools(&text) {
            assert!(
                existing().contains(&tool),
                "{file} names {tool}, which does not exist"
            );
            // A workflow or skill brings the tools that it names to whoever starts it.
            if file == "workflows.md" {
                let has = roles.iter().any(|role| for_skill(*role).contains(&tool));
                assert!(
                    has,
                    "{file} names {tool}, which nobody who reads it may use"
                );
                continue;
            }
            for role in &roles {
                let has = if file.starts_with("skills/") {
                    for_skill(*role).contains(&tool)
                } else {
                    offered(*role).contains(&tool)
                };
                assert!(has, "{file} names {tool}, which {role} is not offered");
            }
        }
    }
}

#[test]
fn every_tool_a_role_is_offered_is_explained_in_its_file() {
    for role in Role::ALL {
        let named = spans::tools(role_file(role).text);
        for tool in offered(role) {
            assert!(named.contains(&tool), "{role}.md does not explain {tool}");
        }
    }
}

#[test]
fn hand_overs_are_of_a_kind_that_exists_and_go_to_a_role() {
    let kinds = hand_over_kinds();
    for (file, _, text) in texts() {
        for kind in spans::arguments(&text, "kind") {
            assert!(
                kinds.iter().any(|known| known == kind),
                "{file}: kind {kind}"
            );
        }
        for to in spans::arguments(&text, "to") {
            assert!(to == "…" || to.parse::<Role>().is_ok(), "{file}: to {to}");
        }
        for mention in text.split("@codebutler.").skip(1) {
            let word: String = mention
                .chars()
                .take_while(char::is_ascii_alphabetic)
                .collect();
            assert!(word.parse::<Role>().is_ok(), "{file}: @codebutler.{word}");
        }
    }
}

#[test]
fn every_file_a_text_names_exists_or_will() {
    let known = |name: &str| {
        let name = name.strip_prefix(".codebutler/").unwrap_or(name);
        name.is_empty() || builtin_file(name).is_some() || KNOWN_FILES.contains(&name)
    };
    for (file, _, text) in texts() {
        for name in spans::files(&text) {
            assert!(known(name), "{file} names {name}");
        }
    }
}

#[test]
fn workflows_refer_to_steps_that_exist() {
    let workflows = builtin_workflows();
    let mut references = 0;
    for workflow in &workflows {
        for reference in workflow.text.split("As ").skip(1) {
            let mut words = reference.split([' ', '.', ';']);
            let (name, step) = (words.next().unwrap(), words.nth(1).unwrap());
            let target = workflows.iter().find(|other| other.name == name);
            let target = target.unwrap_or_else(|| panic!("{}: As {name}", workflow.name));
            let numbered = format!("\n{step}. ");
            assert!(
                target.text.contains(&numbered),
                "{}: {name} {step}",
                workflow.name
            );
            references += 1;
        }
        assert!(!workflow.description.is_empty(), "{}", workflow.name);
    }
    assert!(references >= 4);
}

#[test]
fn no_rule_stands_in_two_files() {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for file in builtin_files() {
        for line in file.text.lines().filter(|line| line.len() > 30) {
            let words: String = line
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric())
                .collect();
            if let Some(other) = seen.insert(words, file.name.to_owned()) {
                panic!("{} and {other}: {line}", file.name);
            }
        }
    }
}

/// The same rule in other words is still the same rule: two sentences of two
/// files that share most of their words.
#[test]
fn no_rule_stands_in_two_files_in_other_words() {
    let files = builtin_files().iter().map(|file| (file.name, file.text));
    let twice = said_twice(&files.collect::<Vec<_>>());
    assert!(twice.is_empty(), "{}", twice.join("\n"));
    let one = "- Never weaken a test, a check or a limit to get past it.";
    let other = "Do not ever weaken any check, any test or any limit to get past it!";
    assert_eq!(said_twice(&[("a.md", one), ("b.md", other)]).len(), 1);
    assert!(said_twice(&[("a.md", one), ("a.md", other)]).is_empty());
}

fn said_twice(files: &[(&str, &str)]) -> Vec<String> {
    let mut seen: Vec<(&str, &str, BTreeSet<String>)> = Vec::new();
    let mut twice = Vec::new();
    for (file, text) in files {
        for sentence in spans::sentences(text) {
            let words: BTreeSet<String> = sentence
                .split(|other: char| !other.is_alphanumeric())
                .filter(|word| word.len() > 1)
                .map(str::to_lowercase)
                .collect();
            if words.len() < 8 {
                continue;
            }
            for (other, said, before) in seen.iter().filter(|(other, _, _)| other != file) {
                let shared = words.intersection(before).count();
                if shared * 100 >= words.len().max(before.len()) * 60 {
                    twice.push(format!("{other}: {said}\n  {file}: {sentence}"));
                }
            }
            seen.push((file, sentence, words));
        }
    }
    twice
}

#[test]
fn what_is_shipped_has_no_problem() {
    let skills: Vec<_> = builtin_files()
        .iter()
        .filter(|file| file.name.starts_with("skills/"))
        .map(|file| (file.name.to_owned(), file.text.to_owned()))
        .collect();
    assert_eq!(skills.len(), 11);
    assert_eq!(validate_skills(&skills), []);
    let workflows = builtin_file("workflows.md").unwrap();
    assert_eq!(parse_workflows(workflows.name, workflows.text).1, []);
    for role in Role::ALL {
        let file = role_file(role);
        assert_eq!(Memory::parse(file.name, file.text).problems(), []);
    }
}

/// The example of a finding is one that the verdict's reader would take, and
/// every kind that the schema offers is in the Reviewer's words too.
#[test]
fn the_example_of_a_finding_has_the_form_it_teaches() {
    let mut specs = butler_agent::chat_specs(Some(Role::Reviewer)).into_iter();
    let spec = specs.find(|spec| spec.name == "HandOver").unwrap();
    let example = spec.description.split("Example: ").nth(1).unwrap();
    let example: serde_json::Value = serde_json::from_str(example).unwrap();
    let finding = &example["findings"][0];
    serde_json::from_value::<FindingKind>(finding["kind"].clone()).unwrap();
    serde_json::from_value::<Severity>(finding["severity"].clone()).unwrap();
    let (path, line) = finding["place"].as_str().unwrap().split_once(':').unwrap();
    assert!(
        path.contains('.') && line.parse::<u32>().is_ok(),
        "{finding}"
    );
    assert!(finding["problem"].is_string() && finding["fix"].is_string());
    let schema = &spec.parameters["properties"]["findings"]["items"]["properties"];
    for kind in schema["kind"]["enum"].as_array().unwrap() {
        serde_json::from_value::<FindingKind>(kind.clone()).unwrap();
    }
    // The line that the role's text shows can be read as one, too: `[kind/severity] path:line …`.
    let text = role_file(Role::Reviewer).text;
    let shown = text.split("as in \"[").nth(1).unwrap();
    let (label, rest) = shown.split_once("] ").unwrap();
    let (kind, severity) = label.split_once('/').unwrap();
    serde_json::from_value::<FindingKind>(kind.into()).unwrap();
    serde_json::from_value::<Severity>(severity.into()).unwrap();
    let (place, rest) = rest.split_once(' ').unwrap();
    let (path, line) = place.split_once(':').unwrap();
    assert!(path.contains('.') && line.parse::<u32>().is_ok(), "{place}");
    let (problem, fix) = rest.split_once('"').unwrap().0.split_once(" -> ").unwrap();
    assert!(!problem.is_empty() && !fix.is_empty());
}

/// A skill may stand in for a plan only where it says so, and only the Coder
/// can change code at all.
#[test]
fn skills_that_change_code_say_so_and_belong_to_a_role_that_can() {
    for skill in builtin_skills() {
        let can = right(skill.agent, "Write") == Right::Scoped(Scope::Worktree);
        assert_eq!(skill.changes_code, can, "{}", skill.name);
    }
}
