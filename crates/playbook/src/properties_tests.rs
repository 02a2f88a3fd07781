//! What holds for every text, also for one that nobody would write on purpose.

use butler_protocol::{Confidence, Role};
use proptest::prelude::*;

use crate::{
    Captures, Extras, Intent, Learning, Memory, Profile, RepoRules, Roadmap, SMALL_TOKENS, Sources,
    Status, builtin_files, builtin_skills, builtin_workflows, intent,
    markdown::outline::{lines, section, sections},
    parse_skill, parse_workflows, prompt_with, render_skill, tokens, validate_skills,
};

/// Pieces that our parsers react to, in any order, with noise between them.
pub(crate) fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => prop::sample::select(vec![
            "# deploy\n", "## Trigger\n", "## Agent\n", "## Prompt\n", "## Changes\n", "code\n",
            "deploy, deploy to {env}\n", "coder\n", "{{env}}", "{{env | default: \"x\"}}", "{{", "}}",
            "{", "}", "## Learnings\n", "## Archived Learnings\n", "### Title\n", "### Other\n",
            "- **When:** x\n", "- **Rule:** y\n", "- **Confidence:** low\n", "- **Source:** z\n",
            "## 1. A\n", "## 2) B\n", "### 3. C\n", "- Status: pending\n", "* **Status:** done\n",
            "- Status:\n", "- Depends on: 1, 2\n", "Depends on: 4294967296\n", "Branch: x\n",
            "Acceptance criteria:\n", "  - [ ] p\n", "```\n", "~~~~\n", "\r\n", "\n", "\n\n", " ",
            "Triggers: go {x}, stop\n", "## implement\n", "#", "é", "🛑", "**", ":", "Status: ✅ Done",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
        1 => ".{0,12}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// A shipped file with something put into it, as a person would edit it.
fn edited() -> impl Strategy<Value = String> {
    let file = prop::sample::select(builtin_files().to_vec());
    (file, any::<prop::sample::Index>(), markdown()).prop_map(|(file, place, put)| {
        let mut at = place.index(file.text.len() + 1);
        while !file.text.is_char_boundary(at) {
            at -= 1;
        }
        format!("{}{put}{}", &file.text[..at], &file.text[at..])
    })
}

pub(crate) fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![markdown(), edited()]
}

fn learning(title: String, rule: String) -> Learning {
    Learning {
        title,
        when: "w".into(),
        rule,
        example: "e".into(),
        confidence: Confidence::Medium,
        source: "thread-1, 2026-01-01".into(),
    }
}

/// Whether `new` is `old` with only the bytes from `start` to `end` changed.
pub(crate) fn only_between(old: &str, new: &str, start: usize, end: usize) -> bool {
    new.starts_with(&old[..start])
        && new[start..].ends_with(&old[end..])
        && new.len() >= start + (old.len() - end)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_panics_and_every_text_reads_back(text in any_text(), said in any_text()) {
        let (memory, roadmap) = (Memory::parse("x.md", text.as_str()), Roadmap::parse(text.as_str()));
        prop_assert_eq!(memory.text(), &text);
        prop_assert_eq!(roadmap.text(), &text);
        let joined: String = lines(&text).iter().map(|line| line.raw).collect();
        prop_assert_eq!(&joined, &text);
        for section in sections(&text) {
            prop_assert!(text.get(section.range).is_some() && text.get(section.body).is_some());
        }
        let _ = roadmap.problems("x.md");
        let _ = validate_skills(&[("a.md".into(), text.clone()), ("b.md".into(), said.clone())]);
        let (workflows, _) = parse_workflows("x.md", &text);
        let skills: Vec<_> = parse_skill("deploy.md", &text).into_iter().collect();
        if let Intent::Skill { skill, captures } = intent(&said, &workflows, &skills) {
            let _ = skill.resolve(&captures);
        }
        let _ = intent(&said, &builtin_workflows(), &builtin_skills());
    }

    #[test]
    fn no_file_breaks_a_prompt(text in any_text(), task in ".{0,40}") {
        let sources = Sources {
            role: text.clone(),
            global: text.clone(),
            workflows: text.clone(),
            rules: Some(RepoRules { name: "AGENTS.md".into(), text }),
        };
        for profile in [Profile::Full, Profile::Small] {
            let extras = Extras { profile, skills: &[], task: &task, left_out: &[] };
            for role in [Role::Pm, Role::Coder] {
                let made = prompt_with(role, &sources, &extras);
                prop_assert_eq!(&made, &prompt_with(role, &sources, &extras));
                prop_assert!(profile == Profile::Full || tokens(&made) < SMALL_TOKENS);
            }
        }
    }

    #[test]
    fn a_skill_that_reads_renders_to_the_same_skill(text in markdown(), prompt in "[a-z{} ]{1,20}") {
        let whole = format!("# deploy\n\nx\n\n## Trigger\ngo {{a}}, stop\n\n## Agent\npm\n\n## Prompt\n{prompt}\n");
        for text in [text, whole] {
            if let Ok(skill) = parse_skill("deploy.md", &text) {
                prop_assert_eq!(parse_skill("deploy.md", &render_skill(&skill)), Ok(skill.clone()));
                let _ = skill.resolve(&Captures::new());
            }
        }
    }

    #[test]
    fn a_learning_changes_its_section_only(text in any_text(), title in ".{1,20}", rule in ".{1,20}") {
        let memory = Memory::parse("x.md", text.as_str());
        let new = learning(title, rule);
        if let Ok(changed) = memory.add(&new, usize::MAX) {
            prop_assert_eq!(changed.live().count(), memory.live().count() + 1);
            prop_assert_eq!(changed.archived().count(), memory.archived().count());
            if let Some(found) = section(&text, 2, "Learnings") {
                prop_assert!(only_between(&text, changed.text(), found.body.start, found.range.end));
            }
            let back = changed.remove(&new.title).unwrap();
            prop_assert_eq!(back.live().count(), memory.live().count());
        }
        let first = memory.live().next().map(|entry| entry.learning.title.clone());
        if let Some(title) = first {
            let found = section(&text, 2, "Learnings").unwrap();
            let without = memory.remove(&title).unwrap();
            prop_assert!(only_between(&text, without.text(), found.body.start, found.range.end));
            if let Ok(replaced) = memory.replace(&title, &new, usize::MAX) {
                prop_assert_eq!(replaced.live().count(), memory.live().count());
                prop_assert!(only_between(&text, replaced.text(), found.body.start, found.range.end));
            }
            if let Ok(archived) = memory.archive(&title, "old") {
                prop_assert_eq!(archived.live().count() + 1, memory.live().count());
                prop_assert_eq!(archived.archived().count(), memory.archived().count() + 1);
            }
        }
    }

    #[test]
    fn a_status_changes_its_item_only(text in markdown(), reason in ".{0,20}") {
        let roadmap = Roadmap::parse(text.as_str());
        for status in [Status::Done, Status::Blocked(reason)] {
            for item in roadmap.items() {
                let Ok(changed) = roadmap.set_status(item.number, &status) else { continue };
                let first = roadmap.item(item.number).unwrap();
                let whole = sections(&text).into_iter().find(|one| one.line == first.line).unwrap();
                prop_assert!(only_between(&text, changed.text(), whole.body.start, whole.range.end));
                prop_assert_eq!(changed.items().len(), roadmap.items().len());
                for (old, new) in roadmap.items().iter().zip(changed.items()) {
                    prop_assert_eq!((old.number, &old.title), (new.number, &new.title));
                    prop_assert_eq!(&old.depends_on, &new.depends_on);
                    if old != first {
                        prop_assert_eq!(&old.status, &new.status);
                    }
                }
            }
        }
    }
}
