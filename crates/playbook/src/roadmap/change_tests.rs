use butler_protocol::RoadmapStatus;
use proptest::prelude::*;

use super::*;
use crate::{
    markdown::outline::sections,
    properties_tests::{any_text, markdown},
    roadmap::item,
};

const FILE: &str = "# Roadmap: shop\n\nA word of ana.\n\n## 1. Auth\n- Status: done\n\n## 2) Profile API\n* **Status:** pending\n* **Depends on:** #1\n\nben's notes stay.\n\n## Ideas\n- Status: whatever\n\n## 3. Profile page\nDepends on: items 1 and 2\nAcceptance criteria: page\n  - edit form\n\nMore of ben.\n";

fn item(title: &str, depends_on: &[u32]) -> RoadmapItem {
    RoadmapItem {
        number: None,
        title: title.into(),
        depends_on: depends_on.into(),
        criteria: vec!["it works".into()],
    }
}

fn change(
    item: u32,
    title: Option<&str>,
    needs: Option<&[u32]>,
    criteria: Option<&[&str]>,
) -> RoadmapChange {
    RoadmapChange::Change {
        item,
        title: title.map(Into::into),
        depends_on: needs.map(Into::into),
        criteria: criteria.map(|all| all.iter().map(|one| (*one).into()).collect()),
    }
}

#[test]
fn words_are_changed_where_they_stand() {
    let roadmap = Roadmap::parse(FILE);
    let changes = [change(
        3,
        Some("Profile"),
        Some(&[2]),
        Some(&["page", "form"]),
    )];
    let changed = roadmap.apply(&changes).unwrap();
    let expected = FILE
        .replace("## 3. Profile page", "## 3. Profile")
        .replace("items 1 and 2", "2")
        .replace(
            "criteria: page\n  - edit form",
            "criteria:\n  - page\n  - form",
        );
    assert_eq!(changed.text(), expected);
    // A second time changes nothing.
    assert_eq!(changed.apply(&changes).unwrap().text(), expected);
}

#[test]
fn an_item_moves_with_all_that_belongs_to_it() {
    let roadmap = Roadmap::parse(FILE);
    let moved = |item, before| {
        roadmap
            .apply(&[RoadmapChange::Move { item, before }])
            .unwrap()
    };
    let first = moved(3, Some(1));
    let numbers: Vec<_> = first.items().iter().map(|one| one.number).collect();
    assert_eq!(numbers, [3, 1, 2]);
    assert!(
        first
            .text()
            .contains("  - edit form\n\nMore of ben.\n\n## 1. Auth\n"),
        "{}",
        first.text()
    );
    let last = moved(1, None);
    assert!(
        last.text()
            .ends_with("More of ben.\n\n## 1. Auth\n- Status: done\n\n"),
        "{}",
        last.text()
    );
    assert_eq!(moved(1, Some(2)).text(), FILE);
    assert_eq!(moved(3, None).text(), FILE);
}

#[test]
fn what_waited_for_a_split_item_waits_for_its_pieces() {
    let roadmap = Roadmap::parse(FILE);
    let split = RoadmapChange::Split {
        item: 2,
        into: vec![item("Read API", &[]), item("Write API", &[2])],
    };
    let changed = roadmap.apply(&[split]).unwrap();
    let numbers: Vec<_> = changed.items().iter().map(|one| one.number).collect();
    assert_eq!(numbers, [1, 2, 4, 3]);
    assert_eq!(changed.item(2).unwrap().title, "Read API");
    assert_eq!(changed.item(4).unwrap().depends_on, [1, 2]);
    assert_eq!(changed.item(3).unwrap().depends_on, [1, 2, 4]);
    assert!(changed.text().contains("ben's notes stay."));
    let alone = RoadmapChange::Split {
        item: 2,
        into: vec![item("One", &[])],
    };
    assert!(roadmap.apply(&[alone]).unwrap_err()[0].contains("two pieces"));
}

#[test]
fn everything_that_is_wrong_is_said_at_once_and_nothing_is_changed() {
    let roadmap = Roadmap::parse(FILE);
    let wrong = roadmap
        .apply(&[
            RoadmapChange::Block {
                item: 9,
                reason: "no account".into(),
            },
            change(1, None, Some(&[3]), None),
            RoadmapChange::Add(item("Mail", &[77])),
        ])
        .unwrap_err();
    let told = wrong.join("\n");
    for part in [
        "change 1 (item 9 is blocked: no account): the roadmap has no item 9",
        "items 1, 2, 3 wait for each other",
        "item 4 depends on 77, which does not exist",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
}

#[test]
fn new_items_may_wait_for_each_other_in_order() {
    let roadmap = Roadmap::parse("# Roadmap\n");
    let changes = [
        RoadmapChange::Add(item("Store", &[])),
        RoadmapChange::Add(item("Search", &[1])),
        RoadmapChange::Status {
            item: 1,
            status: RoadmapStatus::InProgress,
        },
    ];
    let changed = roadmap.apply(&changes).unwrap();
    assert_eq!(changed.item(2).unwrap().depends_on, [1]);
    assert_eq!(changed.item(1).unwrap().status, Status::InProgress);
}

fn any_change() -> impl Strategy<Value = RoadmapChange> {
    let number = 1_u32..7;
    let words = prop_oneof!["[a-z#`*: -]{0,12}", "\\PC{0,10}"];
    let numbers = prop::collection::vec(1_u32..7, 0..3);
    let criteria = prop::collection::vec(words.clone(), 0..3);
    let new = (words.clone(), numbers.clone(), criteria.clone()).prop_map(
        |(title, depends_on, criteria)| RoadmapItem {
            number: None,
            title,
            depends_on,
            criteria,
        },
    );
    let status = prop::sample::select(vec![
        RoadmapStatus::Pending,
        RoadmapStatus::InProgress,
        RoadmapStatus::Done,
    ]);
    prop_oneof![
        new.clone().prop_map(RoadmapChange::Add),
        (
            number.clone(),
            prop::option::of(words.clone()),
            prop::option::of(numbers),
            prop::option::of(criteria)
        )
            .prop_map(
                |(item, title, depends_on, criteria)| RoadmapChange::Change {
                    item,
                    title,
                    depends_on,
                    criteria
                }
            ),
        (number.clone(), prop::option::of(number.clone()))
            .prop_map(|(item, before)| RoadmapChange::Move { item, before }),
        (number.clone(), prop::collection::vec(new, 0..3))
            .prop_map(|(item, into)| RoadmapChange::Split { item, into }),
        (number.clone(), status).prop_map(|(item, status)| RoadmapChange::Status { item, status }),
        (number, words).prop_map(|(item, reason)| RoadmapChange::Block { item, reason }),
    ]
}

/// A file as people keep it: items among sections of their own.
fn any_roadmap() -> impl Strategy<Value = String> {
    let body = prop::sample::select(vec![
        "- Status: pending\n",
        "- Status: blocked (why)\n- Depends on: 1\n",
        "Depends on: —\n",
        "Acceptance criteria: a, b\n",
        "- Acceptance criteria:\n  - [ ] one\n  - two\n\nprose\n",
        "",
        "```\n## 9. not an item\n```\n",
        "- Branch: x\r\n",
    ]);
    let part = prop_oneof![
        3 => Just(true),
        1 => Just(false),
    ];
    let parts = prop::collection::vec((part, body), 0..6);
    let end = prop::sample::select(vec!["", "\n", "last words"]);
    (parts, end).prop_map(|(parts, end)| {
        let mut text = "# Roadmap\n\npreface\n\n".to_owned();
        let mut number = 0;
        for (own, body) in parts {
            if own {
                number += 1;
                text.push_str(&format!("## {number}. Title {number}\n{body}\n"));
            } else {
                text.push_str(&format!("## Notes\n{body}\n"));
            }
        }
        text + end
    })
}

/// What stands in no item, and each item's own text by its number.
fn apart(text: &str) -> (Vec<String>, Vec<(u32, String)>) {
    let all = sections(text);
    let second: Vec<_> = all.iter().filter(|one| one.level <= 2).collect();
    let mut own = vec![];
    let mut items = vec![];
    let start = second.iter().map(|one| one.range.start).find(|at| *at > 0);
    own.push(text[..start.unwrap_or(text.len())].trim_end().to_owned());
    for section in second.iter().filter(|one| one.level == 2) {
        let words = text[section.range.clone()].trim_end().to_owned();
        match item::read(text, section) {
            Some(item) => items.push((item.number, words)),
            None => own.push(words),
        }
    }
    (own, items)
}

fn touched(changes: &[RoadmapChange], roadmap: &Roadmap) -> Vec<u32> {
    let mut numbers = vec![];
    for change in changes {
        match change {
            RoadmapChange::Add(_) | RoadmapChange::Move { .. } => {}
            RoadmapChange::Change { item, .. }
            | RoadmapChange::Status { item, .. }
            | RoadmapChange::Block { item, .. } => numbers.push(*item),
            RoadmapChange::Split { item, .. } => {
                numbers.push(*item);
                let all = roadmap.items().iter();
                numbers.extend(
                    all.filter(|one| !one.depends_on.is_empty())
                        .map(|one| one.number),
                );
            }
        }
    }
    numbers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_changes_keep_the_file_sound_and_everything_else_as_it_is(
        text in any_roadmap(),
        changes in prop::collection::vec(any_change(), 0..6),
    ) {
        let mut roadmap = Roadmap::parse(text);
        for one in changes.chunks(2) {
            let Ok(changed) = roadmap.apply(one) else { continue };
            let known = |roadmap: &Roadmap| roadmap.problems("").len();
            prop_assert!(known(&changed) <= known(&roadmap));
            prop_assert!(changed.cycles().len() <= roadmap.cycles().len());
            let (own, items) = apart(roadmap.text());
            let (still, now) = apart(changed.text());
            prop_assert_eq!(own, still);
            let touched = touched(one, &changed);
            for (number, words) in items.iter().filter(|(number, _)| !touched.contains(number)) {
                prop_assert!(
                    now.iter().any(|(other, same)| other == number && same == words),
                    "item {}: {:?} in {}", number, words, changed.text()
                );
            }
            roadmap = changed;
        }
    }

    #[test]
    fn no_text_and_no_change_makes_it_panic(
        text in prop_oneof![any_text(), markdown()],
        changes in prop::collection::vec(any_change(), 0..4),
    ) {
        let roadmap = Roadmap::parse(text);
        if let Ok(changed) = roadmap.apply(&changes) {
            prop_assert!(changed.problems("").len() <= roadmap.problems("").len());
        }
    }
}

#[test]
fn what_was_approved_is_written_with_its_numbers_or_not_at_all() {
    let before = Roadmap::parse("# Roadmap\n\n## 1. Auth\n\n## 6. Mail\n- Depends on: 1\n");
    let wanted = vec![
        RoadmapChange::Add(item("Module", &[])),
        RoadmapChange::Add(item("Types", &[7])),
        RoadmapChange::Split {
            item: 1,
            into: vec![item("Keys", &[]), item("Login", &[])],
        },
    ];
    let changes = before.numbered(wanted);
    let lines: Vec<String> = changes.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "add 7. “Module”",
            "add 8. “Types”",
            "split item 1 into 1. “Keys”, 9. “Login”"
        ]
    );
    let after = before.apply(&changes).unwrap();
    assert_eq!(after.item(8).unwrap().depends_on, [7]);
    assert_eq!(after.item(6).unwrap().depends_on, [1, 9]);
    // Somebody else's item took the 7 in between: the 8 would wait for that one.
    let (_, other) = before.add("A command line", &[], &[]).unwrap();
    let wrong = other.apply(&changes).unwrap_err();
    assert!(wrong[0].contains("the number 8, not 7"), "{wrong:?}");
}
