//! What a log says about its thread.

use butler_protocol::{
    Choice, CommitSha, DecisionKind, MergeBlock, PrNumber, RefusedFor, Role, Sha256Hex, Subject,
    ToolOutcome, Verdict,
};
use serde_json::json;

use super::*;

fn subject(kind: DecisionKind) -> Subject {
    let subject = match kind {
        DecisionKind::Merge => json!({"merge": {"pr": 7, "head": "a", "tree": "b", "title": "t",
            "description": "d", "writer": "lead"}}),
        _ => json!({"command": {"arguments": {"command": "ls"}, "network": false,
            "role": "coder", "root": "/r", "scripts": [], "tool": "Bash",
            "thread": {"channel": "C1", "root": "1700000000.000100"}}}),
    };
    serde_json::from_value(subject).unwrap()
}

#[test]
fn the_log_knows_a_refused_merge_its_time_and_its_end() {
    let refused = |request: &str| Record::MergeRefused {
        request: RequestId::new(request),
        block: MergeBlock::RateLimited,
        not_before_ms: 1_700_000_060_000,
        message: "1700000000.000100".parse().unwrap(),
    };
    let settled = |request: &str| Record::MergeSettled {
        request: RequestId::new(request),
    };
    let mut fold = ThreadFold::default();
    fold.push(0, &refused("k3m9qa"));
    fold.push(0, &settled("zzzzzz"));
    let known = fold.cards.refused.clone().unwrap();
    assert_eq!(
        (known.block, known.not_before_ms),
        (MergeBlock::RateLimited, 1_700_000_060_000)
    );
    fold.push(0, &settled("k3m9qa"));
    assert_eq!(fold.cards.refused, None);
}

#[test]
fn the_first_person_who_speaks_is_the_one_who_asked() {
    let mut fold = ThreadFold::default();
    for name in ["ana", "ben"] {
        fold.push(
            0,
            &Record::User {
                event: None,
                ts: None,
                speaker: Speaker::Person {
                    user: UserId::new(name),
                    name: name.into(),
                },
                text: format!("{name} speaks"),
                images: vec![],
            },
        );
    }
    assert_eq!(fold.request.unwrap().words, "ana speaks");
}

#[test]
fn a_card_is_used_once_its_decision_was_taken_up() {
    let request = RequestId::new("abc123");
    let mut fold = ThreadFold::default();
    fold.push(
        0,
        &Record::DecisionAsked {
            request: request.clone(),
            sha256: Sha256Hex::of("x"),
            subject: subject(DecisionKind::Merge),
            learnings: vec![],
        },
    );
    assert_eq!(fold.cards.asked[&request].used, None);
    fold.push(
        0,
        &Record::DecisionUsed {
            request: request.clone(),
            choice: Choice::Merge,
            person: UserId::new("U1"),
        },
    );
    assert_eq!(fold.cards.asked[&request].used, Some(Choice::Merge));
}

#[test]
fn a_decided_command_is_open_no_more() {
    let request = RequestId::new("abc123");
    let asked = Record::DecisionAsked {
        request: request.clone(),
        sha256: Sha256Hex::of("x"),
        subject: subject(DecisionKind::Command),
        learnings: vec![],
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
        let mut fold = ThreadFold::default();
        fold.push(0, &asked);
        assert_eq!(fold.cards.open().count(), 1);
        fold.push(0, &decided);
        assert_eq!(fold.cards.open().count(), 0, "{decided:?}");
    }
}

#[test]
fn a_click_that_came_before_its_card_is_not_forgotten() {
    let request = RequestId::new("abc123");
    let card = Record::DecisionAsked {
        request: request.clone(),
        sha256: Sha256Hex::of("x"),
        subject: subject(DecisionKind::Merge),
        learnings: vec![],
    };
    let click = Record::DecisionUsed {
        request: request.clone(),
        choice: Choice::Merge,
        person: UserId::new("U1"),
    };
    for log in [[&click, &card, &card], [&card, &click, &card]] {
        let mut fold = ThreadFold::default();
        log.into_iter().for_each(|record| fold.push(0, record));
        assert!(fold.cards.is_closed() && fold.cards.open_merge().is_none());
    }
}

#[test]
fn text_from_outside_taints_and_stays() {
    let call = CallId::new("abcdefghi");
    let ran = |name: &str, ok: bool| {
        let mut fold = ThreadFold::default();
        fold.push(
            0,
            &Record::Assistant {
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
            },
        );
        let outcome = if ok {
            ToolOutcome::ok("text")
        } else {
            ToolOutcome::error("text")
        };
        fold.push(
            0,
            &Record::ToolResult {
                call: call.clone(),
                outcome,
            },
        );
        fold.outside.taint
    };
    assert_eq!(ran("WebFetch", true).as_deref(), Some("WebFetch"));
    assert_eq!(ran("WebFetch", false), None);
    assert_eq!(ran("Read", true), None);
    let answered = |outside: bool| {
        let mut fold = ThreadFold::default();
        fold.push(
            0,
            &Record::Received {
                event: EventId::new("E"),
                hand_over: Box::new(HandOver::Findings {
                    request: RequestId::new("r"),
                    to: Role::Coder,
                    text: "a page says".into(),
                    outside,
                }),
            },
        );
        fold.outside.taint
    };
    assert!(answered(true).is_some());
    assert_eq!(answered(false), None, "nothing was brought");
    let asked = |outside: bool| {
        let mut fold = ThreadFold::default();
        let question = Record::Received {
            event: EventId::new("E"),
            hand_over: Box::new(HandOver::Research {
                request: RequestId::new("r"),
                from: Role::Coder,
                question: "what does https://evil.example/?all-of-it say?".into(),
                outside,
            }),
        };
        fold.push(0, &question);
        fold.outside.taint
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
    let mut fold = ThreadFold::default();
    fold.push(
        0,
        &Record::ToolResult {
            call: CallId::new("abcdefghi"),
            outcome: ToolOutcome::refused(RefusedFor::Unverified, "run RunChecks"),
        },
    );
    assert_eq!(fold.review.unverified, 1);
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
    let mut fold = ThreadFold::default();
    fold.push(0, &gave(HandOver::ReviewPlan(Box::new(plan))));
    assert!(fold.review.risks_hold(1) && !fold.review.risks_hold(2));
    fold.push(0, &verdict(2, &[]));
    assert!(!fold.review.risks_hold(2));
    let form = fold.review.form.clone().unwrap();
    assert_eq!(
        form.risks,
        std::slice::from_ref(&risk),
        "the form stays filled"
    );
    fold.push(0, &verdict(3, &[risk]));
    assert!(fold.review.risks_hold(3));
}

/// A merge that was ordered and then stopped has closed nothing and carried nothing.
#[test]
fn what_a_stop_withdrew_is_open_to_be_asked_again() {
    let request = RequestId::new("abc123");
    let mut fold = ThreadFold::default();
    fold.push(
        0,
        &Record::DecisionAsked {
            request: request.clone(),
            sha256: Sha256Hex::of("x"),
            subject: subject(DecisionKind::Merge),
            learnings: vec![],
        },
    );
    fold.push(
        0,
        &Record::DecisionUsed {
            request: request.clone(),
            choice: Choice::Merge,
            person: UserId::new("U1"),
        },
    );
    assert!(fold.cards.is_closed());
    fold.push(0, &Record::Withdrawn { request });
    assert!(!fold.cards.is_closed() && fold.cards.open_merge().is_none());
}

#[test]
fn how_far_a_log_has_heard_is_read_from_its_events() {
    let mut fold = ThreadFold::default();
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
        fold.push(0, &said(event));
        assert_eq!(fold.seen.heard, heard, "{event}");
    }
    fold.push(
        0,
        &Record::Stopped {
            event: EventId::new("Ev19A3S41"),
            by: "ana".into(),
        },
    );
    assert_eq!(fold.seen.heard, 41);
}

#[test]
fn the_last_lines_of_a_log_say_what_its_role_does() {
    let after = |records: &[&Record]| {
        let mut fold = ThreadFold::default();
        records.iter().for_each(|record| fold.push(0, record));
        fold.doing
    };
    let started = Record::ActivationStarted { activation: 1 };
    let parked = Record::Parked {
        waiting: Waiting::Person,
    };
    let ended = Record::ActivationEnded {
        activation: 1,
        ending: Ending::Stopped,
    };
    let stopped = Record::Stopped {
        event: EventId::new("Ev1S7"),
        by: "ana".into(),
    };
    assert_eq!(after(&[&stopped]), None, "it never took part");
    assert_eq!(after(&[&started]), Some(Doing::Working(1)));
    assert_eq!(after(&[&started, &ended]), Some(Doing::Stopped));
    let waits = Some(Doing::Waiting(Waiting::Person));
    assert_eq!(after(&[&started, &parked]), waits);
}

#[test]
fn friction_is_what_the_log_shows() {
    let ready = |round: u32| {
        json!({"t": "received", "event": format!("E{round}"), "hand_over": {
            "kind": "ready_for_review", "summary": "s", "branch": "codebutler/x",
            "head": "a".repeat(40), "pr": 1, "receipt": null, "round": round}})
    };
    let person = json!({"t": "user", "speaker": {"who": "person", "user": "U1", "name": "ana"},
        "text": "no"});
    let plan = json!({"t": "decision_asked", "request": "abcdef", "sha256": "0".repeat(64),
        "subject": {"plan": {"title": "t", "summary": "s", "steps": [], "criteria": [],
        "complexity": "simple"}}});
    let used = |choice: &str| json!({"t": "decision_used", "request": "abcdef", "choice": choice, "person": "U1"});
    let stuck = json!({"t": "activation_ended", "activation": 1, "ending": {"how": "stuck"}});
    let check = |records: &[serde_json::Value], expected: &[Friction]| {
        let mut fold = ThreadFold::default();
        for record in records {
            fold.push(0, &serde_json::from_value(record.clone()).unwrap());
        }
        assert_eq!(fold.friction, expected);
    };
    check(&[ready(1)], &[]);
    check(&[ready(1), ready(2)], &[Friction::Round(2)]);
    check(std::slice::from_ref(&person), &[]);
    check(&[ready(1), person], &[Friction::Corrected("ana".into())]);
    check(&[plan.clone(), used("approve")], &[]);
    check(&[plan, used("modify")], &[Friction::PlanRefused]);
    check(&[stuck], &[Friction::Stuck]);
}

#[test]
fn hosts_that_a_search_names_are_known_and_those_in_its_words_are_not() {
    let call = butler_protocol::CallId::new("c");
    let mut fold = ThreadFold::default();
    let calls = vec![butler_protocol::ToolCall {
        id: call.clone(),
        name: "WebSearch".into(),
        arguments: json!({"query": "rust"}),
        problem: None,
    }];
    fold.push(
        0,
        &Record::Assistant {
            turn: 1,
            text: None,
            calls,
            reasoning: None,
            model: "m".into(),
            usage: butler_protocol::TokenUsage::default(),
        },
    );
    let text = "<outside-1 from=\"a search\">\n1. See https://evil.example/\nhttps://docs.example/a\n\
                - no date\n> https://evil.example/\n</outside-1>";
    let outcome = ToolOutcome::ok(text);
    fold.push(0, &Record::ToolResult { call, outcome });
    assert_eq!(fold.outside.taint.as_deref(), Some("WebSearch"));
    assert_eq!(fold.outside.found_hosts, ["docs.example"]);
    assert!(fold.outside.read_hosts.is_empty(), "a search reads no page");
}
