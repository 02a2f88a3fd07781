use super::*;

fn shipped() -> Playbook {
    Playbook::new([])
}

fn with(name: &str, triggers: &str) -> (String, String) {
    let text = format!(
        "# {name}\n\nIt is {name}.\n\n## Trigger\n{triggers}\n\n## Agent\npm\n\n## Prompt\nDo {name}.\n"
    );
    (format!(".codebutler/skills/{name}.md"), text)
}

#[test]
fn a_skill_of_the_pm_and_a_workflow_are_told_to_its_model() {
    let Shortcut::Own { note } = shipped().shortcut(Role::Pm, "explain the parser") else {
        panic!("explain is the PM's own");
    };
    assert!(
        note.contains("skill `explain`") && note.contains("Explain: the parser."),
        "{note}"
    );
    let Shortcut::Own { note } = shipped().shortcut(Role::Pm, "bug: the menu stays open") else {
        panic!("bugfix is the PM's to begin");
    };
    assert!(
        note.contains("workflow `bugfix`") && note.contains("bug: the menu stays open"),
        "{note}"
    );
}

#[test]
fn a_skill_of_another_role_is_passed_on_and_one_that_changes_code_is_built() {
    let Shortcut::PassOn { to, text } = shipped().shortcut(Role::Pm, "security scan of src/")
    else {
        panic!("security-scan is the Reviewer's");
    };
    assert_eq!(to, Role::Reviewer);
    assert!(
        text.contains("Audit the security of src/.") && text.contains("`SendMessage`"),
        "{text}"
    );
    let Shortcut::Build { plan } = shipped().shortcut(Role::Pm, "write tests for the parser")
    else {
        panic!("test changes code");
    };
    assert_eq!(plan.title, "test: the parser");
    assert!(
        plan.summary.contains("Write tests for: the parser."),
        "{}",
        plan.summary
    );
    assert_eq!(plan.steps.len(), 5);
    assert!(
        plan.steps[4].text.starts_with("`RunChecks`, then"),
        "{:?}",
        plan.steps
    );
    assert_eq!(shipped().plan_of("write tests for the parser"), Some(*plan));
}

#[test]
fn only_exact_words_of_a_skill_that_says_so_stand_for_a_plan() {
    for message in [
        "please could somebody write tests for the parser soon",
        "explain the parser",
        "security scan",
        "implement: dark mode",
        "",
    ] {
        assert_eq!(shipped().plan_of(message), None, "{message}");
    }
    let quiet = with("tidy", "tidy up");
    let quiet = (quiet.0, quiet.1.replace("pm", "coder"));
    assert_eq!(
        Playbook::new([quiet]).plan_of("tidy up"),
        None,
        "it does not declare it"
    );
}

#[test]
fn a_role_that_was_named_starts_its_own_skills_only() {
    let book = shipped();
    assert!(matches!(
        book.shortcut(Role::Reviewer, "@codebutler.reviewer review pr 31"),
        Shortcut::Own { .. }
    ));
    assert_eq!(
        book.shortcut(Role::Reviewer, "explain the parser"),
        Shortcut::Open
    );
    assert_eq!(
        book.shortcut(Role::Coder, "develop everything"),
        Shortcut::Open
    );
    assert_eq!(book.shortcut(Role::Pm, "add a --json flag"), Shortcut::Open);
}

#[test]
fn a_tie_is_a_menu_and_the_answer_starts_what_was_chosen() {
    let book = Playbook::new([with("notes", "read {x}"), with("docs", "read {y}")]);
    // Two triggers of one shape cannot both be there; these two differ.
    assert_eq!(book.skills().skills.len(), 1);
    let book = Playbook::new([
        with("notes", "read {x} now then"),
        with("docs", "read me {y} then"),
    ]);
    let asked = "read me now then";
    let Shortcut::Menu { text, names } = book.shortcut(Role::Pm, asked) else {
        panic!("{:?}", book.shortcut(Role::Pm, asked));
    };
    assert!(
        text.contains("\n1. docs: It is docs.\n2. notes: It is notes.\n"),
        "{text}"
    );
    assert_eq!(
        names,
        ["docs", "notes"],
        "one button each, in the same order"
    );
    for (answer, name) in [
        ("1", "docs"),
        ("2", "notes"),
        ("Notes", "notes"),
        ("docs.", "docs"),
    ] {
        let Some(Shortcut::Own { note }) = book.shortcut_chosen(Role::Pm, asked, answer) else {
            panic!("{answer}");
        };
        assert!(note.contains(&format!("`{name}`")), "{answer}: {note}");
    }
    for answer in ["3", "0", "neither", ""] {
        assert_eq!(
            book.shortcut_chosen(Role::Pm, asked, answer),
            None,
            "{answer}"
        );
    }
    assert_eq!(book.shortcut_chosen(Role::Pm, "something else", "1"), None);
}

#[test]
fn help_names_every_workflow_and_skill() {
    let (book, help) = (shipped(), shipped().help());
    for item in book.menu() {
        assert!(help.contains(&item.description), "{}", item.name);
    }
    assert!(help.contains("`explain {target}`"), "{help}");
}

#[test]
fn a_name_that_the_model_chose_starts_what_its_words_would() {
    let book = shipped();
    let target = ["Target: notes.sh".to_owned()];
    let by_name = book.shortcut_named(Role::Pm, " Explain", &target).unwrap();
    assert_eq!(by_name, book.shortcut(Role::Pm, "explain notes.sh"));
    let by_name = book
        .shortcut_named(Role::Pm, "security_scan", &target)
        .unwrap();
    assert_eq!(
        by_name,
        book.shortcut(Role::Pm, "security scan of notes.sh")
    );
    for bare in ["notes.sh", "target=notes.sh"] {
        let started = book.shortcut_named(Role::Pm, "explain", &[bare.to_owned()]);
        assert_eq!(
            started.unwrap(),
            book.shortcut(Role::Pm, "explain notes.sh")
        );
    }
    let line = ["notes.sh:14".to_owned()];
    let Ok(Shortcut::Own { note }) = book.shortcut_named(Role::Pm, "explain", &line) else {
        panic!("a colon is no name");
    };
    assert!(note.contains("Explain: notes.sh:14."), "{note}");
    let built = book.shortcut_named(Role::Pm, "test", &target).unwrap();
    assert!(matches!(built, Shortcut::Build { .. }), "{built:?}");
    let problem = book.shortcut_named(Role::Pm, "explain", &[]).unwrap_err();
    assert!(problem.contains("no value for target"), "{problem}");
    let problem = book
        .shortcut_named(Role::Pm, "explode", &target)
        .unwrap_err();
    assert!(
        problem.contains("`explode`") && problem.contains("explain, "),
        "{problem}"
    );
}

/// The prompt has the names only, so the steps come with the start; also those of
/// the workflow that it goes on with.
#[test]
fn a_workflow_brings_its_steps_and_those_it_goes_on_with() {
    let started = shipped().shortcut_named(Role::Pm, "discovery", &[]);
    let Ok(Shortcut::Own { note }) = started else {
        panic!("{started:?}");
    };
    for part in [
        "## discovery",
        "## roadmap-add",
        "one `ChangeRoadmap` with all that changes",
    ] {
        assert!(note.contains(part), "{part}: {note}");
    }
    assert!(!note.contains("## bugfix"), "{note}");
    assert_eq!(note.matches("## roadmap-add").count(), 1);
}

#[test]
fn a_menu_of_the_pm_has_what_it_names_and_its_answer_starts_that() {
    let book = shipped();
    let names = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    let (text, buttons) = book
        .menu_of(&names(&["Status", "changelog", "status"]))
        .unwrap();
    assert_eq!(buttons, ["status", "changelog"]);
    assert!(text.contains("\n- status: Report where"), "{text}");
    let problem = book
        .menu_of(&names(&["status", "no", "never"]))
        .unwrap_err();
    assert!(
        problem.contains("`no`, `never`"),
        "every one is named: {problem}"
    );
    assert!(book.menu_of(&names(&["status"])).is_err());
    let asked = "how is it going";
    let Some(Shortcut::Own { note }) = book.shortcut_chosen(Role::Pm, asked, "Status.") else {
        panic!("a name is enough");
    };
    assert!(note.contains("skill `status`"), "{note}");
    let Some(Shortcut::Own { note }) = book.shortcut_chosen(Role::Pm, asked, "explain") else {
        panic!("a name is enough");
    };
    assert!(
        note.contains("no value for target") && note.contains("`Start`"),
        "{note}"
    );
    for other in ["1", "neither", ""] {
        assert_eq!(
            book.shortcut_chosen(Role::Pm, asked, other),
            None,
            "{other}"
        );
    }
}
