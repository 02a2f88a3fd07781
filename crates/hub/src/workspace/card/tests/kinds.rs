//! Merge, learning and cap cards, read back like commands and plans.

use butler_protocol::{
    BudgetRefusal, Change, CommitSha, Confidence, Fate, MergeSubject, PrNumber, Proposal, Role,
    Subject, TreeHash, Usd,
};
use proptest::prelude::*;
use serde_json::json;

use super::{Found, check, grown, list_of, nanos, nasty, text_of};

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
}
