//! Merge, learning and cap cards, read back like commands and plans.

use butler_protocol::{BudgetRefusal, DecisionKind, Role, Subject, Usd};
use proptest::prelude::*;
use serde::Serialize;

use super::{Found, check, grown, list_of, nanos, nasty, text_of};

/// What an agent puts up for a merge, in its order.
#[derive(Debug, Serialize)]
struct Merge {
    pr: u64,
    head: String,
    tree: String,
    title: String,
    description: String,
    writer: Role,
    evidence: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    research: Option<(u64, String)>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    knowledge: bool,
}

#[derive(Debug, Serialize)]
struct Proposal {
    file: String,
    change: Change,
}

#[derive(Debug, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
enum Change {
    Learning {
        title: String,
        when: String,
        rule: String,
        example: String,
        confidence: String,
        source: String,
    },
    Passage {
        old: String,
        new: String,
        why: String,
    },
    Pruning {
        title: String,
        reason: String,
        fate: String,
    },
}

fn merge(found: &[(String, Found)]) -> Subject {
    let text = |label: &str| text_of(found, label).unwrap();
    let writer = text("In their own words");
    let writes = |role: &Role| writer == format!("The {} writes", role.title());
    let research = text_of(found, "Research merged with it (JSON)");
    let evidence = list_of(found, "What the runtime saw").into_iter();
    Subject::of(&Merge {
        pr: text("Pull request")
            .strip_prefix('#')
            .unwrap()
            .parse()
            .unwrap(),
        head: text("Reviewed commit"),
        tree: text("Reviewed tree"),
        title: text("Title"),
        description: text("Description"),
        writer: Role::ALL.into_iter().find(writes).unwrap(),
        evidence: evidence.map(|(line, _)| line).collect(),
        research: research.map(|json| serde_json::from_str(&json).unwrap()),
        knowledge: text_of(found, "Only knowledge").is_some_and(|word| word == "yes"),
    })
}

fn learning(found: &[(String, Found)]) -> Subject {
    let text = |label: &str| text_of(found, label).unwrap();
    let change = match text("Change").as_str() {
        "learning" => Change::Learning {
            title: text("Title"),
            when: text("When"),
            rule: text("Rule"),
            example: text("Example"),
            confidence: text("Confidence"),
            source: text("Source"),
        },
        "passage" => Change::Passage {
            old: text("Replaces"),
            new: text("With"),
            why: text("Why"),
        },
        "pruning" => Change::Pruning {
            title: text("Title"),
            reason: text("Because"),
            fate: text("Then"),
        },
        other => panic!("{other}"),
    };
    Subject::of(&Proposal {
        file: text("File"),
        change,
    })
}

fn cap(found: &[(String, Found)]) -> Subject {
    let text = |label: &str| text_of(found, label).unwrap();
    Subject::of(&BudgetRefusal {
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
                confidence: e,
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
                fate: c,
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
        let subject = Subject::of(&Merge {
            pr,
            head,
            tree,
            title,
            description: grown(&description, long),
            writer,
            evidence,
            research,
            knowledge,
        });
        check(DecisionKind::Merge, &subject, merge);
    }

    #[test]
    fn a_learning_is_read_back_as_it_is_hashed(file in nasty(), change in change()) {
        let subject = Subject::of(&Proposal { file, change });
        check(DecisionKind::Learning, &subject, learning);
    }

    #[test]
    fn a_cap_is_read_back_as_it_is_hashed(
        budget in nasty(),
        cap_nanos in 0i64..9_000_000_000_000_000,
        used in 0i64..9_000_000_000_000_000,
    ) {
        let subject = Subject::of(&BudgetRefusal {
            budget,
            cap: Usd::from_nanos(cap_nanos),
            used: Usd::from_nanos(used),
        });
        check(DecisionKind::Cap, &subject, cap);
    }
}
