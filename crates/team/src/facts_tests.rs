//! What a log says about its thread.

use butler_vocab::{CallId, ToolOutcome};
use serde_json::json;

use super::*;

#[test]
fn the_first_person_who_speaks_is_the_one_who_asked() {
    let mut facts = Facts::default();
    for name in ["ana", "ben"] {
        facts.note(&Record::User {
            event: None,
            ts: None,
            speaker: Speaker::Person {
                user: UserId::new(name),
                name: name.into(),
            },
            text: format!("{name} speaks"),
            images: vec![],
        });
    }
    assert_eq!(facts.request.unwrap().words, "ana speaks");
}

#[test]
fn a_card_is_used_once_its_decision_was_taken_up() {
    let request = RequestId::new("abc123");
    let mut facts = Facts::default();
    facts.note(&Record::DecisionAsked {
        request: request.clone(),
        kind: DecisionKind::Merge,
        sha256: Sha256Hex::of("x"),
        subject: json!({}),
    });
    assert_eq!(facts.asked[&request].used, None);
    facts.note(&Record::DecisionUsed {
        request: request.clone(),
        choice: Choice::Merge,
        person: UserId::new("U1"),
    });
    assert_eq!(facts.asked[&request].used, Some(Choice::Merge));
}

#[test]
fn a_decided_command_is_open_no_more() {
    let request = RequestId::new("abc123");
    let asked = Record::DecisionAsked {
        request: request.clone(),
        kind: DecisionKind::Command,
        sha256: Sha256Hex::of("x"),
        subject: json!({}),
    };
    let told = Record::User {
        event: Some(EventId::new("decision:abc123")),
        ts: None,
        speaker: Speaker::Runtime,
        text: "ana pressed Approve".into(),
        images: vec![],
    };
    let rejected = Record::DecisionUsed {
        request,
        choice: Choice::Reject,
        person: UserId::new("U1"),
    };
    for decided in [told, rejected] {
        let mut facts = Facts::default();
        facts.note(&asked);
        assert_eq!(facts.open_cards().count(), 1);
        facts.note(&decided);
        assert_eq!(facts.open_cards().count(), 0, "{decided:?}");
    }
}

#[test]
fn a_click_that_came_before_its_card_is_not_forgotten() {
    let request = RequestId::new("abc123");
    let card = Record::DecisionAsked {
        request: request.clone(),
        kind: DecisionKind::Merge,
        sha256: Sha256Hex::of("x"),
        subject: json!({}),
    };
    let click = Record::DecisionUsed {
        request: request.clone(),
        choice: Choice::Merge,
        person: UserId::new("U1"),
    };
    for log in [[&click, &card, &card], [&card, &click, &card]] {
        let mut facts = Facts::default();
        log.into_iter().for_each(|record| facts.note(record));
        assert!(facts.is_closed() && facts.open_merge().is_none());
    }
}

#[test]
fn text_from_outside_taints_and_stays() {
    let call = CallId::new("abcdefghi");
    let ran = |name: &str, ok: bool| {
        let mut facts = Facts::default();
        facts.note(&Record::Assistant {
            turn: 1,
            text: None,
            calls: vec![butler_vocab::ToolCall {
                id: call.clone(),
                name: name.into(),
                arguments: json!({}),
                problem: None,
            }],
            reasoning: None,
            model: "m".into(),
            usage: butler_vocab::TokenUsage::default(),
        });
        let outcome = if ok {
            ToolOutcome::ok("text")
        } else {
            ToolOutcome::error("text")
        };
        facts.note(&Record::ToolResult {
            call: call.clone(),
            outcome,
        });
        facts.taint
    };
    assert_eq!(ran("WebFetch", true).as_deref(), Some("WebFetch"));
    assert_eq!(ran("WebFetch", false), None);
    assert_eq!(ran("Read", true), None);
    let mut facts = Facts::default();
    facts.note(&Record::Received {
        event: EventId::new("E"),
        hand_over: Box::new(HandOver::Findings {
            request: RequestId::new("r"),
            to: Role::Coder,
            text: "a page says".into(),
        }),
    });
    assert!(facts.taint.is_some());
}

#[test]
fn refused_hand_overs_are_counted_from_the_log() {
    let mut facts = Facts::default();
    facts.note(&Record::ToolResult {
        call: CallId::new("abcdefghi"),
        outcome: ToolOutcome::error(format!("{UNVERIFIED}; run RunChecks")),
    });
    assert_eq!(facts.unverified, 1);
}
