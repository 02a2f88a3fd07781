use super::*;
use crate::ThreadStory;

fn learning(title: &str, when: &str, rule: &str, confidence: Confidence, date: &str) -> String {
    let learning = Learning {
        title: title.into(),
        when: when.into(),
        rule: rule.into(),
        example: "thread-1: old/gone.rs".into(),
        confidence,
        source: format!("thread-1, {date}"),
    };
    format!("\n{}\n", learning.render())
}

fn memory(learnings: &[String]) -> Memory {
    Memory::parse(
        "coder.md",
        format!("# Coder\n\n## Learnings\n{}", learnings.concat()),
    )
}

fn check(memory: &Memory, evidence: &Evidence<'_>, expected: &[(&str, Fate, &str)]) {
    let found = memory.prunings(evidence);
    let shown: Vec<_> = found
        .iter()
        .map(|one| (one.title.as_str(), one.fate, one.reason.as_str()))
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn each_rule_finds_its_own_and_leaves_the_rest() {
    use Confidence::{High, Low, Medium};
    let coder = memory(&[
        learning(
            "Old way",
            "adding a flag",
            "parse by hand",
            High,
            "2026-01-01",
        ),
        learning(
            "New way",
            "adding a flag",
            "use the parser",
            Medium,
            "2026-03-01",
        ),
        learning(
            "Gone",
            "editing src/old.rs",
            "mind `lib/dead/`",
            High,
            "2026-01-01",
        ),
        learning(
            "Half gone",
            "editing src/old.rs",
            "see src/main.rs:12 too",
            High,
            "2026-01-01",
        ),
        learning(
            "Unsure",
            "always",
            "sleep and/or wait, e.g. 1.5 s",
            Low,
            "2026-01-01",
        ),
        learning("Unsure but young", "often", "wait", Low, "2026-01-01"),
        learning("Sure and idle", "rarely", "think", Medium, "2026-01-01"),
        learning("Said twice", "here", "Use tabs!", High, "2026-01-01"),
    ]);
    let global = Memory::parse(
        "global.md",
        format!(
            "## Learnings\n{}",
            learning("Tabs", "everywhere", "use tabs", High, "2026-01-01")
        ),
    );
    let idle = [
        ("Unsure", 10),
        ("Unsure but young", 9),
        ("Sure and idle", 99),
    ];
    let idle = idle
        .map(|(title, threads)| (title.to_owned(), threads))
        .into();
    let evidence = Evidence {
        exists: &|path| path == "src/main.rs",
        idle: &idle,
        tried: &BTreeMap::new(),
        global: Some(&global),
    };
    check(
        &coder,
        &evidence,
        &[
            (
                "Old way",
                Fate::Remove,
                "\"New way\" is newer, about the same case, and says something else",
            ),
            (
                "Gone",
                Fate::Archive,
                "it is about lib/dead, src/old.rs, which is gone",
            ),
            (
                "Unsure",
                Fate::Archive,
                "nobody was sure of it, and it helped in none of 10 threads",
            ),
            (
                "Said twice",
                Fate::Remove,
                "global.md says it to everybody: \"Tabs\"",
            ),
        ],
    );
    let agreed = coder.prunings(&evidence);
    let pruned = coder.prune(&agreed).unwrap();
    assert_eq!(pruned.live().count(), 4);
    assert_eq!(pruned.archived().count(), 2);
    assert!(
        pruned
            .text()
            .contains("- **Archived:** it is about lib/dead")
    );
    check(&pruned, &evidence, &[]);
    assert!(pruned.tokens() < coder.tokens());
}

#[test]
fn without_evidence_everything_stays() {
    let coder = memory(&[learning(
        "A",
        "x",
        "see src/a.rs",
        Confidence::Low,
        "2026-01-01",
    )]);
    let evidence = Evidence {
        exists: &|_| true,
        idle: &BTreeMap::new(),
        tried: &BTreeMap::new(),
        global: None,
    };
    check(&coder, &evidence, &[]);
    let unknown = Pruning {
        title: "B".into(),
        reason: "x".into(),
        fate: Fate::Remove,
    };
    assert!(coder.prune(&[unknown]).is_err());
}

#[test]
fn what_names_a_file_and_what_does_not() {
    for path in ["src/a.rs", "src/", "notes.sh", "a-b/c_d.tsx", "Makefile.am"] {
        assert!(is_path(path), "{path}");
    }
    for word in [
        "and/or",
        "e.g",
        "1.2",
        "https://a.b/c.html",
        "v1.2.3",
        "i.e",
        "word",
        "a=b.rs",
    ] {
        assert!(!is_path(word), "{word}");
    }
}

#[test]
fn use_is_counted_from_prompts_and_from_what_helped() {
    let lesson = |title: &str| learning(title, "x", "y", Confidence::Low, "2026-01-01");
    let role = format!("# Coder\n\n## Learnings\n{}{}", lesson("A"), lesson("B"));
    let global = format!(
        "# The team\n\n## Learnings\n{}\n### More learnings, by title\n\n- D\n\n## Rules\n\n### E\n",
        lesson("C")
    );
    let prompt = format!("{role}\n\n---\n\n{global}");
    let given: Vec<String> = learnings_in(&prompt)
        .into_iter()
        .map(|(_, title)| title)
        .collect();
    assert_eq!(given, ["A", "B", "C"]);
    let thread = |helped: &[&str]| ThreadUse {
        given: vec!["A".into(), "B".into(), "A".into()],
        helped: helped.iter().map(|title| (*title).to_owned()).collect(),
    };
    let idle = idle_threads(&[thread(&[]), thread(&["A"]), thread(&[]), thread(&[])]);
    assert_eq!(idle, [("A".to_owned(), 2), ("B".to_owned(), 4)].into());
}

#[test]
fn what_half_of_the_threads_did_not_miss_goes_with_its_figures() {
    let lesson = |title: &str| learning(title, "x", "y", Confidence::High, "2026-01-01");
    let text = format!(
        "# Coder\n\n## Learnings\n{}{}",
        lesson("Idle"),
        lesson("Good")
    );
    let coder = Memory::parse("coder.md", text);
    let ids: Vec<String> = coder.live().map(|entry| entry.id.clone()).collect();
    let thread = |trouble: u32, given: &[&String]| ThreadStory {
        given: given.iter().map(|id| (*id).clone()).collect(),
        trouble,
        ..ThreadStory::default()
    };
    let threads: Vec<ThreadStory> = (0..8)
        .map(|n| match n % 4 {
            0 => thread(0, &[&ids[0], &ids[1]]),
            1 => thread(0, &[&ids[1]]),
            2 => thread(2, &[&ids[0]]),
            _ => thread(2, &[]),
        })
        .collect();
    let tried = ids
        .iter()
        .map(|id| (id.clone(), Worth::of(id, &threads)))
        .collect();
    let evidence = Evidence {
        exists: &|_| true,
        idle: &BTreeMap::new(),
        tried: &tried,
        global: None,
    };
    let found = coder.prunings(&evidence);
    let [only] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!((only.title.as_str(), only.fate), ("Idle", Fate::Archive));
    assert!(
        only.reason.contains("4 threads with it, 4 without"),
        "{}",
        only.reason
    );
}
