//! Merge, learning and cap cards, read back like commands and plans.

use butler_protocol::{
    BudgetRefusal, Change, CommitSha, Confidence, DevelopItem, DevelopSubject, Fate, MapChange,
    MapsSubject, MergeSubject, PrNumber, Proposal, RoadmapChange, RoadmapItem, RoadmapStatus,
    RoadmapSubject, Role, Sha256Hex, Subject, TreeHash, Usd,
};
use proptest::prelude::*;
use serde_json::json;

use super::{Found, check, grown, list_of, nanos, nasty, text_of, written};

fn merge(found: &[(String, Found)]) -> Subject {
    let text = |label: &str| text_of(found, label).unwrap();
    let writer = text("In their own words");
    let writes = |role: &Role| writer == format!("The {} writes", role.title());
    let research = text_of(found, "Research merged with it");
    let evidence = list_of(found, "What the runtime saw").into_iter();
    let number = |text: &str| PrNumber(text.strip_prefix('#').unwrap().parse().unwrap());
    Subject::Merge(Box::new(MergeSubject {
        pr: number(&text("Pull request")),
        head: CommitSha::new(text("Reviewed commit")),
        tree: TreeHash::new(text("Reviewed tree")),
        title: text("Title"),
        description: text("Description"),
        writer: Role::ALL.into_iter().find(writes).unwrap(),
        evidence: evidence.map(|(line, _)| line).collect(),
        research: research.map(|text| {
            let (pr, head) = text.split_once(" at ").unwrap();
            (number(pr), CommitSha::new(head))
        }),
        knowledge: text_of(found, "Only knowledge").is_some_and(|word| word == "yes"),
    }))
}

fn learning(found: &[(String, Found)]) -> Subject {
    let text = |label: &str| text_of(found, label).unwrap();
    let change = match text("Change").as_str() {
        "a learning is added" => Change::Learning {
            title: text("Title"),
            when: text("When"),
            rule: text("Rule"),
            example: text("Example"),
            confidence: serde_json::from_value(json!(text("Confidence"))).unwrap(),
            source: text("Source"),
        },
        "a passage is replaced" => Change::Passage {
            old: text("Replaces"),
            new: text("With"),
            why: text("Why"),
        },
        "a learning goes" => Change::Pruning {
            title: text("Title"),
            reason: text("Because"),
            fate: match text("Then").as_str() {
                "out of the file" => Fate::Remove,
                _ => Fate::Archive,
            },
        },
        other => panic!("{other}"),
    };
    let file = text("File");
    Subject::Learning(Box::new(Proposal { file, change }))
}

fn cap(found: &[(String, Found)]) -> Subject {
    let text = |label: &str| text_of(found, label).unwrap();
    Subject::Cap(BudgetRefusal {
        budget: text("Budget"),
        cap: nanos(&text("It holds")),
        used: nanos(&text("Spent or set aside")),
    })
}

/// Reads the parts in their order: a label tells which change begins.
fn roadmap(found: &[(String, Found)]) -> Subject {
    let mut changes: Vec<RoadmapChange> = Vec::new();
    let mut diff = String::new();
    for (label, value) in found {
        let text = || match value {
            Found::Text(text) => written(text),
            Found::List(items) => panic!("{label}: {items:?}"),
        };
        let number = || text().parse().unwrap();
        let item = |title: String| RoadmapItem {
            number: None,
            title,
            depends_on: Vec::new(),
            criteria: Vec::new(),
        };
        match label.as_str() {
            "Add" => changes.push(RoadmapChange::Add(item(text()))),
            "Change item" => changes.push(RoadmapChange::Change {
                item: number(),
                title: None,
                depends_on: None,
                criteria: None,
            }),
            "Move item" => changes.push(RoadmapChange::Move {
                item: number(),
                before: None,
            }),
            "Split item" => changes.push(RoadmapChange::Split {
                item: number(),
                into: vec![],
            }),
            "Block item" => changes.push(RoadmapChange::Block {
                item: number(),
                reason: String::new(),
            }),
            "In the file" => diff = text(),
            // What is said about the card is none of its fields.
            remark if remark.starts_with("Reason") => {}
            more => {
                let last = changes.pop().unwrap();
                changes.push(with(last, more, value, &item));
            }
        }
    }
    Subject::Roadmap(Box::new(RoadmapSubject { changes, diff }))
}

/// A file begins with its name.
fn maps(found: &[(String, Found)]) -> Subject {
    let mut files: Vec<MapChange> = Vec::new();
    for (label, value) in found {
        let Found::Text(text) = value else { continue };
        match label.as_str() {
            "File" => files.push(MapChange {
                file: written(text),
                diff: String::new(),
            }),
            "Project map" => files.last_mut().unwrap().diff = written(text),
            _ => {}
        }
    }
    Subject::Maps(Box::new(MapsSubject { files }))
}

/// An item begins with its number and title.
fn run(found: &[(String, Found)]) -> Subject {
    let text = |label: &str| text_of(found, label).unwrap();
    let waits = text("A question without an answer");
    let mut items: Vec<DevelopItem> = Vec::new();
    for (label, value) in found {
        let (text, lines) = match value {
            Found::Text(text) => (written(text), Vec::new()),
            Found::List(items) => (
                String::new(),
                items.iter().map(|(one, _)| written(one)).collect(),
            ),
        };
        if label == "Item" {
            let (number, title) = text.split_once(". ").unwrap();
            items.push(DevelopItem {
                number: number.parse().unwrap(),
                title: title.to_owned(),
                depends_on: Vec::new(),
                criteria: Vec::new(),
                sha256: Sha256Hex::of(""),
                cap: Usd::ZERO,
            });
            continue;
        }
        let Some(item) = items.last_mut() else {
            continue;
        };
        match label.as_str() {
            "Depends on" => {
                item.depends_on = text
                    .split(", ")
                    .filter_map(|one| one.parse().ok())
                    .collect();
            }
            "Done when" => item.criteria = lines,
            "At most" => item.cap = nanos(&text),
            "As in" => item.sha256 = serde_json::from_value(json!(text)).unwrap(),
            _ => {}
        }
    }
    Subject::Develop(Box::new(DevelopSubject {
        items,
        at_once: text("At the same time").parse().unwrap(),
        budget: nanos(&text("Together at most")),
        answer_after_minutes: waits.split(' ').find_map(|word| word.parse().ok()),
    }))
}

fn with(
    change: RoadmapChange,
    label: &str,
    value: &Found,
    item: &dyn Fn(String) -> RoadmapItem,
) -> RoadmapChange {
    let (text, lines) = match value {
        Found::Text(text) => (written(text), Vec::new()),
        Found::List(items) => (
            String::new(),
            items.iter().map(|(one, _)| written(one)).collect(),
        ),
    };
    let numbers: Vec<u32> = text
        .split(", ")
        .filter_map(|one| one.parse().ok())
        .collect();
    let fill = |item: &mut RoadmapItem| match label {
        "As item" => item.number = numbers.first().copied(),
        "Depends on" => item.depends_on.clone_from(&numbers),
        "Done when" => item.criteria.clone_from(&lines),
        other => panic!("{other}"),
    };
    match (change, label) {
        (RoadmapChange::Add(mut item), _) => {
            fill(&mut item);
            RoadmapChange::Add(item)
        }
        (
            RoadmapChange::Split {
                item: number,
                mut into,
            },
            _,
        ) => {
            if label == "Into" {
                into.push(item(text));
            } else {
                fill(into.last_mut().unwrap());
            }
            RoadmapChange::Split { item: number, into }
        }
        (RoadmapChange::Change { item, .. }, "Status") => RoadmapChange::Status {
            item,
            status: serde_json::from_value(json!(text)).unwrap(),
        },
        (
            RoadmapChange::Change {
                item,
                title,
                depends_on,
                criteria,
            },
            _,
        ) => RoadmapChange::Change {
            item,
            title: if label == "Title" { Some(text) } else { title },
            depends_on: if label == "Depends on" {
                Some(numbers)
            } else {
                depends_on
            },
            criteria: if label == "Done when" {
                Some(lines)
            } else {
                criteria
            },
        },
        (RoadmapChange::Move { item, .. }, "Before item") => RoadmapChange::Move {
            item,
            before: Some(text.parse().unwrap()),
        },
        (change @ RoadmapChange::Move { .. }, "Then") => change,
        (RoadmapChange::Block { item, .. }, "Because") => {
            RoadmapChange::Block { item, reason: text }
        }
        (change, _) => panic!("{label} in {change:?}"),
    }
}

fn roadmap_item() -> impl Strategy<Value = RoadmapItem> {
    let numbers = prop::collection::vec(any::<u32>(), 0..3);
    let criteria = prop::collection::vec(nasty(), 0..3);
    (any::<Option<u32>>(), nasty(), numbers, criteria).prop_map(
        |(number, title, depends_on, criteria)| RoadmapItem {
            number,
            title,
            depends_on,
            criteria,
        },
    )
}

fn roadmap_change() -> impl Strategy<Value = RoadmapChange> {
    let status = prop::sample::select(vec![
        RoadmapStatus::Pending,
        RoadmapStatus::InProgress,
        RoadmapStatus::Done,
    ]);
    let numbers = prop::collection::vec(any::<u32>(), 0..3);
    let criteria = prop::collection::vec(nasty(), 0..3);
    let words = (
        prop::option::of(nasty()),
        prop::option::of(numbers),
        prop::option::of(criteria),
    );
    prop_oneof![
        roadmap_item().prop_map(RoadmapChange::Add),
        (any::<u32>(), words).prop_map(|(item, (title, depends_on, criteria))| {
            RoadmapChange::Change {
                item,
                title,
                depends_on,
                criteria,
            }
        }),
        (any::<u32>(), prop::option::of(any::<u32>()))
            .prop_map(|(item, before)| RoadmapChange::Move { item, before }),
        (any::<u32>(), prop::collection::vec(roadmap_item(), 0..3))
            .prop_map(|(item, into)| RoadmapChange::Split { item, into }),
        (any::<u32>(), status).prop_map(|(item, status)| RoadmapChange::Status { item, status }),
        (any::<u32>(), nasty()).prop_map(|(item, reason)| RoadmapChange::Block { item, reason }),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let texts = prop::collection::vec(nasty(), 6);
    (0..3, texts, prop::bool::weighted(0.03)).prop_map(|(kind, texts, long)| {
        let [a, b, c, d, e, f]: [String; 6] = texts.try_into().unwrap();
        match kind {
            0 => Change::Learning {
                title: a,
                when: b,
                rule: grown(&c, long),
                example: d,
                confidence: if e.len() % 2 == 0 {
                    Confidence::High
                } else {
                    Confidence::Low
                },
                source: f,
            },
            1 => Change::Passage {
                old: a,
                new: grown(&b, long),
                why: c,
            },
            _ => Change::Pruning {
                title: a,
                reason: grown(&b, long),
                fate: if c.len() % 2 == 0 {
                    Fate::Archive
                } else {
                    Fate::Remove
                },
            },
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_merge_is_read_back_as_it_is_hashed(
        pr in any::<u64>(),
        texts in prop::collection::vec(nasty(), 4),
        writer in prop::sample::select(Role::ALL.to_vec()),
        evidence in prop::collection::vec(nasty(), 0..6),
        research in prop::option::of((any::<u64>(), nasty())),
        knowledge in any::<bool>(),
        long in prop::bool::weighted(0.03),
    ) {
        let [head, tree, title, description] = texts.try_into().unwrap();
        let subject = Subject::Merge(Box::new(MergeSubject {
            pr: PrNumber(pr),
            head: CommitSha::new(head),
            tree: TreeHash::new(tree),
            title,
            description: grown(&description, long),
            writer,
            evidence,
            research: research.map(|(pr, head)| (PrNumber(pr), CommitSha::new(head))),
            knowledge,
        }));
        check(&subject, merge);
    }

    #[test]
    fn a_learning_is_read_back_as_it_is_hashed(file in nasty(), change in change()) {
        let subject = Subject::Learning(Box::new(Proposal { file, change }));
        check(&subject, learning);
    }

    #[test]
    fn a_cap_is_read_back_as_it_is_hashed(
        budget in nasty(),
        cap_nanos in 0i64..9_000_000_000_000_000,
        used in 0i64..9_000_000_000_000_000,
    ) {
        let subject = Subject::Cap(BudgetRefusal {
            budget,
            cap: Usd::from_nanos(cap_nanos),
            used: Usd::from_nanos(used),
        });
        check(&subject, cap);
    }
    #[test]
    fn a_run_over_the_roadmap_is_read_back_as_it_is_hashed(
        items in prop::collection::vec(
            (1u32..99, nasty(), prop::collection::vec(1u32..99, 0..3), prop::collection::vec(nasty(), 0..3), 0i64..9_000_000_000),
            0..4,
        ),
        at_once in 1u32..9,
        budget in 0i64..9_000_000_000_000_000,
        answer_after_minutes in prop::option::of(1u32..999),
    ) {
        let items = items.into_iter().map(|(number, title, depends_on, criteria, cap)| DevelopItem {
            number,
            sha256: Sha256Hex::of(&title),
            title,
            depends_on,
            criteria,
            cap: Usd::from_nanos(cap),
        });
        let subject = Subject::Develop(Box::new(DevelopSubject {
            items: items.collect(),
            at_once,
            budget: Usd::from_nanos(budget),
            answer_after_minutes,
        }));
        check(&subject, run);
    }

    #[test]
    fn project_maps_are_read_back_as_they_are_hashed(
        files in prop::collection::vec((nasty(), nasty(), prop::bool::weighted(0.03)), 1..5),
    ) {
        let files = files.into_iter().map(|(file, diff, long)| MapChange {
            file,
            diff: grown(&diff, long),
        });
        let subject = Subject::Maps(Box::new(MapsSubject { files: files.collect() }));
        check(&subject, maps);
    }

    #[test]
    fn a_change_of_the_roadmap_is_read_back_as_it_is_hashed(
        changes in prop::collection::vec(roadmap_change(), 0..5),
        diff in nasty(),
    ) {
        let subject = Subject::Roadmap(Box::new(RoadmapSubject { changes, diff }));
        check(&subject, roadmap);
    }
}
