//! Whatever people say to proposals, in whatever order: every file stays well-formed,
//! nothing that was accepted is lost, and what people wrote stays.

use std::collections::BTreeSet;

use butler_playbook::{Memory, map_in, with_map};
use butler_protocol::{Change, Confidence, Fate, Proposal};
use proptest::prelude::*;

use super::apply;

/// What somebody does.
#[derive(Debug, Clone)]
enum Act {
    Accept(usize, String),
    Reject,
    Remove(usize, Fate),
    Map(String),
}

fn act() -> impl Strategy<Value = Act> {
    let words = "[a-zA-Z:*#`\n -]{0,40}";
    prop_oneof![
        4 => (0usize..6, words).prop_map(|(title, rule)| Act::Accept(title, rule)),
        1 => Just(Act::Reject),
        2 => (0usize..6, any::<bool>()).prop_map(|(title, keep)| {
            Act::Remove(title, if keep { Fate::Archive } else { Fate::Remove })
        }),
        1 => "[a-z`: \n-]{1,40}".prop_map(Act::Map),
    ]
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_keeps_files_well_formed_and_loses_nothing_accepted(
        acts in prop::collection::vec(act(), 0..12),
        own in "[a-z \n]{0,30}",
    ) {
        let mut text = format!(
            "# Coder\n\nBe kind. {own}\n\n## Project Map\n\n## Learnings\n\n## Working With Other Roles\n\n- ask ana\n\n## Archived Learnings\n"
        );
        let head = text.split("## Project Map").next().unwrap().to_owned();
        // What is accepted and not removed, by rule.
        let mut live: BTreeSet<(String, String)> = BTreeSet::new();
        let mut map = String::new();
        for act in acts {
            match act {
                Act::Reject => {}
                Act::Accept(title, rule) => {
                    let (title, rule) = (format!("Title {title}"), format!("do it {rule}"));
                    let proposal = Proposal {
                        file: "coder.md".into(),
                        change: Change::Learning {
                            title: title.clone(),
                            when: "always".into(),
                            rule: rule.clone(),
                            example: "e".into(),
                            confidence: Confidence::Medium,
                            source: "thread-1, 2026-01-02".into(),
                        },
                    };
                    text = apply(&proposal, &text).unwrap();
                    prop_assert_eq!(apply(&proposal, &text).unwrap(), text.clone(), "a repeat changes nothing");
                    live.insert((title, plain(&rule)));
                }
                Act::Remove(title, fate) => {
                    let title = format!("Title {title}");
                    let proposal = Proposal {
                        file: "coder.md".into(),
                        change: Change::Pruning {
                            title: title.clone(),
                            reason: "it is gone".into(),
                            fate,
                        },
                    };
                    let memory = Memory::parse("coder.md", text.as_str());
                    let mut found = memory.live().map(|entry| entry.learning.clone());
                    let gone = found.find(|learning| learning.title == title);
                    text = apply(&proposal, &text).unwrap();
                    if let Some(gone) = gone {
                        live.remove(&(title, plain(&gone.rule)));
                    }
                }
                Act::Map(after) => {
                    let after = after.trim().to_owned();
                    if let Some(next) = with_map(&text, &map, &after) {
                        (text, map) = (next, after);
                    }
                }
            }
            let memory = Memory::parse("coder.md", text.as_str());
            prop_assert_eq!(memory.problems(), &[], "{}", text);
            let rules: Vec<String> = memory.live().map(|entry| plain(&entry.learning.rule)).collect();
            for (_, rule) in &live {
                prop_assert!(rules.contains(rule), "{rule:?} is lost: {text}");
            }
            prop_assert!(rules.len() >= live.len(), "{}", text);
            prop_assert_eq!(map_in(&text), map.clone());
            prop_assert!(text.starts_with(&head) && text.contains("\n- ask ana\n"), "{}", text);
        }
    }
}
