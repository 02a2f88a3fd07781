use butler_protocol::Role;

use super::*;
use crate::builtin_skills;

const SHARED: &str = "---\nname: pdf\ndescription: Fill forms.\n---\nDo it.\n";
const OWN: &str =
    "# ship\n\nShips it.\n\n## Trigger\nship it\n\n## Agent\ncoder\n\n## Prompt\nShip.\n";

fn book(files: &[(&str, &str)]) -> Playbook {
    let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
    Playbook::new(files.iter().map(owned))
}

fn names(book: &Playbook) -> Vec<&str> {
    let skills = book.skills().skills.iter();
    skills.map(|skill| skill.name.as_str()).collect()
}

#[test]
fn without_files_of_its_own_a_repo_has_the_shipped_ones() {
    let empty = book(&[("src/main.rs", "fn main() {}")]);
    assert_eq!(empty.skills().skills, builtin_skills());
    assert_eq!(empty.workflows().len(), 9);
    assert_eq!(empty.problems(), []);
    assert!(
        empty
            .prompt(Role::Pm, Profile::Full, "", &[])
            .contains("\n- explain (target): ")
    );
    assert!(empty.roadmap().items().is_empty());
}

#[test]
fn files_of_the_team_replace_the_shipped_ones() {
    let own = book(&[
        (".codebutler/coder.md", "# Coder\n\nOur own way.\n"),
        (".codebutler/workflows.md", "## sprint\nTwo weeks.\n"),
        (".codebutler/skills/ship.md", OWN),
    ]);
    let prompt = own.prompt(Role::Coder, Profile::Full, "", &[]);
    assert!(prompt.starts_with("# Coder\n\nOur own way."), "{prompt}");
    assert!(
        prompt.contains("# The team"),
        "global.md is still the shipped one"
    );
    assert_eq!(names(&own), ["ship"]);
    assert!(matches!(own.intent("sprint"), Intent::Workflow { .. }));
    assert!(matches!(own.intent("ship it"), Intent::Skill { .. }));
    assert_eq!(own.menu().len(), 2);
}

#[test]
fn shared_skills_stand_beside_our_own_and_the_first_place_wins() {
    let other = SHARED.replace("Do it.", "Do it differently.");
    let all = book(&[
        (".codebutler/skills/ship.md", OWN),
        (".claude/skills/pdf/SKILL.md", &other),
        (".agents/skills/pdf/SKILL.md", SHARED),
        (".agents/skills/pdf/reference.md", "not a skill"),
        (".claude/skills/broken/SKILL.md", "# broken\n"),
        (
            ".codebutler/skills/deep/SKILL.md",
            &SHARED.replace("pdf", "deep"),
        ),
    ]);
    assert_eq!(names(&all), ["deep", "pdf", "ship"]);
    let pdf = all.skill("pdf").unwrap();
    assert_eq!(pdf.folder.as_deref(), Some(".agents/skills/pdf"));
    let found: Vec<_> = all.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            ".claude/skills/broken/SKILL.md:1: missing front matter: begin with ---, name, description, ---",
            ".claude/skills/pdf/SKILL.md:1: there is another skill \"pdf\"; this one is left out",
        ]
    );
    let index = all.prompt(Role::Pm, Profile::Full, "", &[]);
    assert!(index.contains("\n- pdf: Fill forms."), "{index}");
    let started = all.shortcut_named(Role::Pm, "pdf", &[]);
    let Ok(crate::Shortcut::Own { note }) = started else {
        panic!("{started:?}");
    };
    assert!(note.contains("`.agents/skills/pdf/`"), "{note}");
}

#[test]
fn a_skill_found_twice_with_one_text_is_no_problem() {
    let twice = book(&[
        (".claude/skills/pdf/SKILL.md", SHARED),
        (".agents/skills/pdf/SKILL.md", SHARED),
    ]);
    assert_eq!(twice.problems(), []);
    assert_eq!(twice.skills().skills.len(), builtin_skills().len() + 1);
}

#[test]
fn the_repos_own_rules_are_read_and_nested_ones_are_named() {
    let rules = [
        ("AGENTS.md", "Use tabs."),
        ("CLAUDE.md", "Use spaces."),
        ("web/AGENTS.md", "Use CSS."),
    ];
    for role in Role::ALL {
        let text = book(&rules).prompt(role, Profile::Full, "", &[]);
        assert!(
            text.contains("itself (AGENTS.md)") && text.contains("Use tabs."),
            "{role}"
        );
        assert!(
            text.contains("web/AGENTS.md") && !text.contains("Use CSS."),
            "{role}"
        );
        assert!(!text.contains("Use spaces."), "{role}");
    }
    let other = book(&rules[1..2]).prompt(Role::Coder, Profile::Full, "", &[]);
    assert!(other.contains("Use spaces."));
}

#[test]
fn a_changed_file_changes_the_next_prompt_and_nothing_else_does() {
    let before = book(&[(".codebutler/coder.md", "# Coder\n\nOld.\n")]);
    let same = book(&[
        (".codebutler/coder.md", "# Coder\n\nOld.\n"),
        ("src/x.rs", "new"),
    ]);
    let after = book(&[(".codebutler/coder.md", "# Coder\n\nNew.\n")]);
    let prompt = |book: &Playbook| book.prompt(Role::Coder, Profile::Full, "", &[]);
    assert_eq!(prompt(&before), prompt(&same));
    assert_ne!(prompt(&before), prompt(&after));
}

#[test]
fn only_what_belongs_to_a_playbook_is_wanted() {
    for path in [
        ".codebutler/pm.md",
        ".codebutler/roadmap.md",
        ".codebutler/skills/a.md",
        ".codebutler/skills/a/SKILL.md",
        ".codebutler/research/a.md",
        ".claude/skills/a/SKILL.md",
        "AGENTS.md",
        "deep/down/CLAUDE.md",
    ] {
        assert!(Playbook::wants(path), "{path}");
    }
    for path in [
        "README.md",
        ".codebutler/config.json",
        ".codebutler/journals/thread-1.md",
        ".codebutler/threads/x/plan.md",
        ".claude/skills/SKILL.md",
        ".claude/skills/a/b/SKILL.md",
        ".claude/settings.json",
    ] {
        assert!(!Playbook::wants(path), "{path}");
    }
}
