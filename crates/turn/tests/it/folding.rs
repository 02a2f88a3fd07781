//! The fold: from a log to what the model sees.

use butler_protocol::{
    CallId, Ending, Entry, Image, ModelMessage, Record, ReserveId, TokenUsage, ToolCall,
    ToolOutcome, Usd,
};
use butler_turn::fold;
use proptest::prelude::*;
use serde_json::json;

use crate::harness::{ana, plain};

fn folded(log: &[Entry]) -> Vec<ModelMessage> {
    plain(&fold(log))
}

fn log(records: Vec<Record>) -> Vec<Entry> {
    let entry = |(seq, record)| Entry {
        seq,
        epoch: 1,
        at_ms: 0,
        record,
    };
    (1..).zip(records).map(entry).collect()
}

fn user(text: &str) -> Record {
    Record::User {
        event: None,
        ts: None,
        speaker: ana(),
        text: text.into(),
        images: vec![],
    }
}

fn assistant(turn: u32, text: Option<&str>, calls: &[&str]) -> Record {
    let call = |id: &&str| ToolCall {
        id: CallId::new(*id),
        name: "Read".into(),
        arguments: json!({}),
        problem: None,
    };
    Record::Assistant {
        turn,
        text: text.map(str::to_owned),
        calls: calls.iter().map(call).collect(),
        reasoning: None,
        model: "m".into(),
        usage: TokenUsage::default(),
    }
}

fn result(id: &str, text: &str) -> Record {
    Record::ToolResult {
        call: CallId::new(id),
        outcome: ToolOutcome::ok(text),
    }
}

fn reserved() -> Record {
    Record::Reserved {
        reserve: ReserveId::new("r"),
        amount: Usd::ZERO,
    }
}

/// One word per message: `S`, `U`, `A`, `A:calls`, `T:call=text`.
fn shape(records: Vec<Record>) -> Vec<String> {
    let word = |message: &ModelMessage| match message {
        ModelMessage::System { .. } => "S".to_owned(),
        ModelMessage::User { .. } => "U".to_owned(),
        ModelMessage::Assistant { calls, .. } if calls.is_empty() => "A".to_owned(),
        ModelMessage::Assistant { calls, .. } => format!("A:{}", calls.len()),
        ModelMessage::Tool { call, text } => {
            let text: String = text.chars().take(11).collect();
            format!("T:{call}={text}")
        }
    };
    folded(&log(records)).iter().map(word).collect()
}

#[test]
fn pictures_of_results_follow_all_results_in_call_order() {
    let picture = |text: &str| Image::new("image/png", text.as_bytes());
    let shown = |id: &str, name: &str| Record::ToolResult {
        call: CallId::new(id),
        outcome: ToolOutcome::ok(name).showing(picture(name)),
    };
    let records = vec![
        user("look"),
        assistant(1, None, &["a", "b", "c"]),
        shown("c", "third"),
        user("and be quick"),
        result("b", "text only"),
        shown("a", "first"),
        assistant(2, Some("seen"), &[]),
    ];
    assert_eq!(
        shape(records.clone()),
        [
            "U",
            "A:3",
            "T:a=first",
            "T:b=text only",
            "T:c=third",
            "U",
            "A"
        ]
    );
    let messages = folded(&log(records));
    let ModelMessage::User { text, images } = &messages[5] else {
        panic!("{messages:?}");
    };
    assert_eq!(*images, [picture("first"), picture("third")]);
    assert!(
        text.starts_with("<note>") && text.contains("and be quick"),
        "{text}"
    );
}

#[test]
fn adjacent_users_are_one_message_with_their_pictures() {
    let picture = Image {
        media_type: "image/png".into(),
        base64: "AA==".into(),
    };
    let mut second = user("two");
    if let Record::User { images, .. } = &mut second {
        images.push(picture.clone());
    }
    let messages = folded(&log(vec![
        user("one"),
        second,
        Record::Note {
            text: "three".into(),
        },
    ]));
    let [ModelMessage::User { text, images }] = &messages[..] else {
        panic!("{messages:#?}")
    };
    assert_eq!(images, &[picture]);
    assert_eq!(
        text.matches("<message from=\"person\" name=\"ana\"")
            .count(),
        2
    );
    assert!(text.ends_with("<note>\nthree\n</note>"), "{text}");
}

#[test]
fn a_call_without_a_result_is_closed_wherever_the_log_goes_on() {
    let open = |next: Vec<Record>| {
        let mut records = vec![
            user("go"),
            assistant(1, None, &["a", "b"]),
            result("b", "B"),
        ];
        records.extend(next);
        shape(records)
    };
    let closed = ["U", "A:2", "T:a=Interrupted", "T:b=B"];
    assert_eq!(open(vec![]), closed);
    let ended = Record::ActivationEnded {
        activation: 1,
        ending: Ending::Stopped,
    };
    assert_eq!(open(vec![ended.clone()]), closed);
    assert_eq!(open(vec![ended, result("a", "late")]), closed);
    assert_eq!(
        open(vec![assistant(2, Some("x"), &[])]),
        [&closed[..], &["A"]].concat()
    );
    assert_eq!(
        open(vec![user("hm"), result("a", "A")]),
        ["U", "A:2", "T:a=A", "T:b=B", "U"]
    );
    assert_eq!(
        open(vec![result("b", "again"), result("a", "A")]),
        ["U", "A:2", "T:a=A", "T:b=B"]
    );
}

#[test]
fn an_empty_answer_keeps_its_place() {
    let records = vec![
        user("go"),
        assistant(1, None, &[]),
        Record::Note {
            text: "again".into(),
        },
    ];
    assert_eq!(shape(records), ["U", "A", "U"]);
}

#[test]
fn what_was_heard_during_a_request_comes_after_its_answer() {
    let during = vec![
        user("go"),
        reserved(),
        user("wait"),
        assistant(1, Some("x"), &[]),
    ];
    assert_eq!(shape(during), ["U", "A", "U"]);
    let failed = vec![
        user("go"),
        reserved(),
        user("wait"),
        reserved(),
        assistant(1, Some("x"), &[]),
    ];
    assert_eq!(shape(failed), ["U", "A"]);
}

#[test]
fn a_summary_replaces_what_it_covers() {
    let summary = Record::Summary {
        upto: 4,
        text: "so far".into(),
    };
    let records = vec![
        Record::Prompt {
            text: "p".into(),
            tools: vec![],
        },
        user("go"),
        assistant(1, None, &["a"]),
        result("a", "A"),
        user("more"),
        assistant(2, None, &["b"]),
        result("b", "B"),
        summary,
    ];
    assert_eq!(shape(records.clone()), ["S", "U", "A:1", "T:b=B"]);
    let messages = folded(&log(records));
    let ModelMessage::User { text, .. } = &messages[1] else {
        panic!("{messages:#?}")
    };
    assert!(text.starts_with("<summary>\nso far\n</summary>"), "{text}");
}

fn any_record() -> impl Strategy<Value = Record> {
    let id = || prop::sample::select(vec!["a", "b", "c", "d"]);
    prop_oneof![
        ".{0,8}".prop_map(|text| user(&text)),
        Just(reserved()),
        (1u32..9, prop::collection::vec(id(), 0..3)).prop_map(|(turn, mut ids)| {
            ids.dedup();
            assistant(turn, None, &ids)
        }),
        id().prop_map(|id| result(id, "r")),
        Just(Record::Note { text: "n".into() }),
        (0u64..20).prop_map(|upto| Record::Summary {
            upto,
            text: "s".into()
        }),
        Just(Record::ActivationStarted { activation: 1 }),
        Just(Record::ActivationEnded {
            activation: 1,
            ending: Ending::Done
        }),
        Just(Record::Prompt {
            text: "p".into(),
            tools: vec![]
        }),
    ]
}

proptest! {
    #[test]
    fn any_log_folds_to_a_conversation_that_providers_take(
        records in prop::collection::vec(any_record(), 0..25)
    ) {
        let messages = folded(&log(records));
        let mut open: Vec<CallId> = vec![];
        for (at, message) in messages.iter().enumerate() {
            match message {
                ModelMessage::System { .. } => prop_assert_eq!(at, 0),
                ModelMessage::User { .. } => {
                    prop_assert!(open.is_empty());
                    let doubled = at > 0 && matches!(messages[at - 1], ModelMessage::User { .. });
                    prop_assert!(!doubled);
                }
                ModelMessage::Assistant { text, calls, .. } => {
                    prop_assert!(open.is_empty());
                    prop_assert!(text.is_some() || !calls.is_empty());
                    open = calls.iter().map(|call| call.id.clone()).collect();
                }
                ModelMessage::Tool { call, .. } => {
                    prop_assert_eq!(Some(call), open.first());
                    open.remove(0);
                }
            }
        }
        prop_assert!(open.is_empty());
    }
}
