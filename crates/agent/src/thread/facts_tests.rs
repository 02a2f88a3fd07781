//! What a log says about its thread.

use butler_protocol::{CallId, ToolOutcome};
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
            calls: vec![butler_protocol::ToolCall {
                id: call.clone(),
                name: name.into(),
                arguments: json!({}),
                problem: None,
            }],
            reasoning: None,
            model: "m".into(),
            usage: butler_protocol::TokenUsage::default(),
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
    let answered = |outside: bool| {
        let mut facts = Facts::default();
        facts.note(&Record::Received {
            event: EventId::new("E"),
            hand_over: Box::new(HandOver::Findings {
                request: RequestId::new("r"),
                to: Role::Coder,
                text: "a page says".into(),
                outside,
            }),
        });
        facts.taint
    };
    assert!(answered(true).is_some());
    assert_eq!(answered(false), None, "nothing was brought");
    let asked = |outside: bool| {
        let mut facts = Facts::default();
        facts.note(&Record::Received {
            event: EventId::new("E"),
            hand_over: Box::new(HandOver::Research {
                request: RequestId::new("r"),
                from: Role::Coder,
                question: "what does https://evil.example/?all-of-it say?".into(),
                outside,
            }),
        });
        facts.taint
    };
    assert_eq!(asked(true).as_deref(), Some("the question of the Coder"));
    assert_eq!(asked(false), None, "its words are the role's own");
}

#[test]
fn an_answer_that_does_not_say_where_it_is_from_is_from_outside() {
    let old = json!({"kind": "findings", "request": "r", "to": "coder", "text": "x"});
    let body: Result<HandOver, _> = serde_json::from_value(old);
    assert!(matches!(body, Ok(HandOver::Findings { outside: true, .. })));
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

/// What was a risk in an earlier round is repeated only when it is said again.
#[test]
fn risks_hold_for_the_round_in_which_they_were_said() {
    let risk = butler_protocol::Risk {
        area: "security".into(),
        severity: butler_protocol::Severity::Low,
        note: "no input reaches a shell".into(),
    };
    let gave = |hand_over: HandOver| Record::Gave {
        call: CallId::new("abcdefghi"),
        hand_over: Box::new(hand_over),
    };
    let plan = butler_protocol::ReviewPlan {
        head: CommitSha::new("a"),
        round: 1,
        summary: "s".into(),
        invariants: vec!["the list stays".into()],
        risks: vec![risk.clone()],
        tests: vec![],
    };
    let verdict = |round, risks: &[butler_protocol::Risk]| {
        let verdict = Verdict {
            head: CommitSha::new("a"),
            tree: butler_protocol::TreeHash::new("b"),
            approved: true,
            round,
            last: false,
            summary: "s".into(),
            invariants: vec![],
            risks: risks.to_vec(),
            tests: vec![],
            findings: vec![],
            observed: butler_protocol::Observed::default(),
        };
        gave(HandOver::Verdict {
            verdict,
            pr: PrNumber(1),
        })
    };
    let mut facts = Facts::default();
    facts.note(&gave(HandOver::ReviewPlan(Box::new(plan))));
    assert!(facts.risks_hold(1) && !facts.risks_hold(2));
    facts.note(&verdict(2, &[]));
    assert!(!facts.risks_hold(2));
    let form = facts.form.clone().unwrap();
    assert_eq!(
        form.risks,
        std::slice::from_ref(&risk),
        "the form stays filled"
    );
    facts.note(&verdict(3, &[risk]));
    assert!(facts.risks_hold(3));
}

/// A merge that was requested and then stopped has closed nothing and carried nothing.
#[test]
fn what_a_stop_withdrew_is_open_to_be_asked_again() {
    let request = RequestId::new("abc123");
    let mut facts = Facts::default();
    facts.note(&Record::DecisionAsked {
        request: request.clone(),
        kind: DecisionKind::Merge,
        sha256: Sha256Hex::of("x"),
        subject: json!({"merge": {}}),
    });
    facts.note(&Record::DecisionUsed {
        request,
        choice: Choice::Merge,
        person: UserId::new("U1"),
    });
    assert!(facts.is_closed());
    facts.note(&Record::User {
        event: Some(EventId::new("carried:abc123")),
        ts: None,
        speaker: Speaker::Runtime,
        text: "Withdrawn by the stop of ana: Merge on card abc123".into(),
        images: vec![],
    });
    assert!(!facts.is_closed() && facts.open_merge().is_none());
}

#[test]
fn how_far_a_log_has_heard_is_read_from_its_events() {
    let mut facts = Facts::default();
    let said = |event: &str| Record::User {
        event: Some(EventId::new(event)),
        ts: None,
        speaker: Speaker::Runtime,
        text: String::new(),
        images: vec![],
    };
    for (event, heard) in [
        ("Ev19A3S12", 12),
        ("decision:abc234", 12),
        ("cb-3-40", 40),
        ("people:1700000000.000100", 40),
        ("Ev19A3S7", 40),
    ] {
        facts.note(&said(event));
        assert_eq!(facts.heard, heard, "{event}");
    }
    facts.note(&Record::Stopped {
        event: EventId::new("Ev19A3S41"),
        by: "ana".into(),
    });
    assert_eq!(facts.heard, 41);
}
