//! What holds for every text, for the parts that put several files together.

use butler_protocol::Role;
use proptest::prelude::*;

use crate::{
    Evidence, Memory, Playbook, Research, ResearchNote, Roadmap, Shortcut, Take,
    markdown::outline::section,
    parse_skill_folder,
    properties_tests::{any_text, markdown, only_between},
    update,
};

/// Front matter with anything in it.
fn skill_file() -> impl Strategy<Value = String> {
    (".{0,20}", ".{0,20}", markdown()).prop_map(|(name, description, body)| {
        format!("---\nname: {name}\ndescription: {description}\n---\n{body}")
    })
}

fn path() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        ".codebutler/pm.md",
        ".codebutler/global.md",
        ".codebutler/workflows.md",
        ".codebutler/roadmap.md",
        ".codebutler/skills/deploy.md",
        ".codebutler/skills/a/SKILL.md",
        ".codebutler/research/a.md",
        ".claude/skills/a/SKILL.md",
        "AGENTS.md",
        "x/AGENTS.md",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_repo_panics_a_playbook(
        files in prop::collection::vec((path(), prop_oneof![any_text(), skill_file()]), 0..5),
        said in any_text(),
        answer in ".{0,6}",
    ) {
        let book = Playbook::new(files);
        let _ = (book.problems(), book.help(), book.menu(), book.roadmap().graph());
        for role in [Role::Pm, Role::Coder] {
            let shortcut = book.shortcut(role, &said);
            let built = matches!(&shortcut, Shortcut::Build { .. });
            prop_assert!(!built || book.plan_of(&said).is_some());
            let _ = book.shortcut_chosen(role, &said, &answer);
        }
        let _ = parse_skill_folder("a/SKILL.md", &said);
    }

    #[test]
    fn a_note_reads_back_and_the_index_changes_only_its_section(
        global in any_text(),
        title in ".{1,40}",
        text in "[a-z \n]{1,40}",
        sources in prop::collection::vec("[a-z:/.]{1,20}", 1..3),
    ) {
        let date = Some(jiff::civil::date(2026, 2, 20));
        let note = ResearchNote { title, date, text, sources };
        let research = Research::new([], &global);
        let keep = research.keep(&note);
        let (read, _) = ResearchNote::parse("x.md", &keep.text);
        prop_assert_eq!(&read.sources, &note.sources);
        prop_assert_eq!(read.date, note.date);
        prop_assert_eq!(&ResearchNote::parse("x.md", &read.render()).0, &read);
        if let Some(found) = section(&global, 2, "Research Index") {
            prop_assert!(only_between(&global, &keep.global, found.body.start, found.range.end));
        }
        let lines = |text: &str| text.lines().count();
        prop_assert!(lines(&keep.global) <= lines(&global) + 5, "one line, a heading, empty lines");
    }

    #[test]
    fn an_update_keeps_what_it_is_told_to_keep(base in any_text(), ours in any_text(), shipped in any_text()) {
        for base in [None, Some(base.as_str())] {
            for take in [Take::Nothing, Take::Ours, Take::Shipped] {
                let made = update(base, &ours, &shipped, take);
                prop_assert!(take == Take::Nothing || made.conflicts.is_empty());
            }
        }
        // Who changed nothing gets the release; a release that changed nothing leaves ours.
        prop_assert_eq!(update(Some(&ours), &ours, &shipped, Take::Nothing).text, shipped.clone());
        prop_assert_eq!(update(Some(&shipped), &ours, &shipped, Take::Nothing).text, ours.clone());
        prop_assert_eq!(update(None, &ours, &shipped, Take::Ours).text, ours);
    }

    #[test]
    fn pruning_only_takes_away(text in any_text()) {
        let memory = Memory::parse("x.md", text.as_str());
        let idle = memory.live().map(|entry| (entry.learning.title.clone(), 99)).collect();
        let evidence = Evidence { exists: &|_| false, idle: &idle, tried: &std::collections::BTreeMap::new(), global: Some(&memory) };
        let found = memory.prunings(&evidence);
        if let Ok(pruned) = memory.prune(&found) {
            prop_assert!(pruned.live().count() <= memory.live().count());
            prop_assert!(pruned.tokens() <= memory.tokens() + 1);
        }
    }

    #[test]
    fn every_item_stands_in_the_graph_once(text in markdown()) {
        let roadmap = Roadmap::parse(text.as_str());
        let graph = roadmap.graph();
        let lines = graph.lines().filter(|line| !line.is_empty() && !line.starts_with("Cannot")).count();
        let mut numbers: Vec<_> = roadmap.items().iter().map(|item| item.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(lines, numbers.len(), "{}", graph);
    }
}
