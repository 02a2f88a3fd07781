//! Stop, and models that fail.

use butler_protocol::{
    Choice, DecisionKind, Ending, EventId, ModelMessage, Record, ToolOutcome, Usd,
};
use butler_turn::{Effect, Event, FailureKind, PostKind};
use serde_json::json;

use crate::{
    decisions::{asking, decision},
    harness::{Harness, call, calls, failure, granted, text, to_run},
};

fn stop() -> Event {
    Event::Stop {
        event: EventId::new("stop-1"),
        by: "ana".into(),
    }
}

#[test]
fn stop_closes_what_runs_and_late_results_change_nothing() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let effects = harness.model(
        &effects,
        calls(&[("Bash", json!({})), ("Bash", json!({"a": 1}))]),
    );
    let run = to_run(&effects);
    harness.tool(&run[0].id, ToolOutcome::ok("one"));
    let effects = harness.on(stop());
    assert_eq!(effects.first(), Some(&Effect::Cancel));
    assert_eq!(effects.last(), Some(&Effect::End(Ending::Stopped)));
    let before = harness.log.len();
    assert!(harness.tool(&run[1].id, ToolOutcome::ok("late")).is_empty());
    assert_eq!(harness.log.len(), before);
    assert!(harness.machine.is_idle() && harness.restart_quietly().is_empty());

    let effects = harness.ana("now do this");
    harness.grant(&effects);
    let stopped = |message: &ModelMessage| matches!(message, ModelMessage::Tool { text, .. } if text.contains("stopped by ana"));
    assert_eq!(
        harness
            .messages()
            .iter()
            .filter(|message| stopped(message))
            .count(),
        1
    );
}

#[test]
fn a_stopped_call_is_still_paid_and_its_answer_is_not_used() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let made = harness.grant(&effects);
    harness.on(stop());
    let mut late = failure(FailureKind::Cancelled);
    late.cost = Usd::from_cents(3);
    let effects = harness.on(Event::ModelFailed {
        reserve: made.reserve,
        failure: late,
    });
    assert!(matches!(&effects[..], [Effect::Settle(settle)] if settle.cost == Usd::from_cents(3)));
    assert!(harness.machine.is_idle());
    let answers = |record: &Record| matches!(record, Record::Assistant { .. });
    assert!(!harness.log.iter().any(|entry| answers(&entry.record)));
}

#[test]
fn money_that_was_granted_after_a_stop_goes_back() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let Some(Effect::Reserve(reserve)) = effects.last().cloned() else {
        panic!("{effects:#?}")
    };
    harness.on(stop());
    let effects = harness.on(Event::Reserved {
        reserve: reserve.id,
        answer: granted(),
    });
    assert!(matches!(&effects[..], [Effect::Settle(settle)] if settle.cost == Usd::ZERO));
}

#[test]
fn a_stop_when_nothing_runs_is_only_written_down() {
    let mut harness = Harness::pm();
    assert!(harness.on(stop()).is_empty());
    assert!(matches!(&harness.log[..], [one] if matches!(one.record, Record::Stopped { .. })));
    assert!(harness.machine.is_idle());
}

/// The stop comes twice, the second time after the person has spoken again.
#[test]
fn a_stop_that_comes_again_stops_nothing_new() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    harness.grant(&effects);
    harness.on(stop());
    let effects = harness.ana("go on");
    harness.grant(&effects);
    assert!(harness.on(stop()).is_empty());
    harness.restart();
    assert!(harness.on(stop()).is_empty());
    assert!(harness.machine.activation().is_some());
    let told = |message: &ModelMessage| matches!(message, ModelMessage::User { text, .. } if text.contains("ana stopped the thread here"));
    assert_eq!(harness.messages().iter().filter(|one| told(one)).count(), 1);
}

/// What was requested and not done when the stop came is not done at the next word.
#[test]
fn a_stop_withdraws_what_would_begin_or_end_work() {
    for (kind, choice, kept) in [
        (DecisionKind::Merge, Choice::Merge, false),
        (DecisionKind::Merge, Choice::Close, false),
        (DecisionKind::Plan, Choice::Approve, false),
        (DecisionKind::Command, Choice::Approve, false),
        (DecisionKind::Command, Choice::Reject, true),
        (DecisionKind::Plan, Choice::Reject, true),
        (DecisionKind::Learning, Choice::Accept, true),
    ] {
        let (mut harness, request) = asking(kind);
        let effects = harness.on(Event::Decided(decision(&request, kind, choice)));
        let requested = |effect: &Effect| matches!(effect, Effect::CarryOut(_));
        assert!(effects.iter().any(requested), "{effects:?}");
        let effects = harness.on(stop());
        let told = |effect: &Effect| matches!(effect, Effect::Post(post) if post.kind == PostKind::Withdrawn && post.text.contains(request.as_str()));
        assert_eq!(effects.iter().any(told), !kept, "{kind:?} {choice:?}");
        assert!(harness.restart_quietly().is_empty());
        let effects = harness.ana("something else");
        assert_eq!(effects.iter().any(requested), kept, "{kind:?} {choice:?}");
        let outcome = format!("carried:{request}");
        let lines = harness.log.iter().filter(|entry| matches!(&entry.record, Record::User { event: Some(event), .. } if event.as_str() == outcome));
        assert_eq!(lines.count(), usize::from(!kept), "{kind:?} {choice:?}");
    }
}

#[test]
fn a_model_that_is_down_is_replaced_and_then_the_thread_is_told() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let made = harness.grant(&effects);
    let down = || failure(FailureKind::Unavailable);
    let effects = harness.on(Event::ModelFailed {
        reserve: made.reserve.clone(),
        failure: down(),
    });
    let second = harness.grant(&effects);
    assert_eq!(second.model, "fallback");
    assert_ne!(second.reserve, made.reserve);
    let effects = harness.on(Event::ModelFailed {
        reserve: second.reserve,
        failure: down(),
    });
    let failed =
        |effect: &Effect| matches!(effect, Effect::Post(post) if post.kind == PostKind::Failure);
    assert!(effects.iter().any(failed), "{effects:#?}");
    harness.posted(&effects);
    assert_eq!(
        harness.endings(),
        [Ending::Failed {
            reason: "It did not work.".into()
        }]
    );
    assert!(harness.machine.is_idle(), "it does not try again by itself");

    let effects = harness.ana("try again");
    let made = harness.grant(&effects);
    assert_eq!(made.model, "usual");
    let effects = harness.on(Event::Replied {
        reserve: made.reserve,
        reply: text("Here."),
    });
    harness.posted(&effects);
    assert_eq!(harness.endings().last(), Some(&Ending::Done));
}

#[test]
fn a_refused_key_is_told_at_once() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let made = harness.grant(&effects);
    let effects = harness.on(Event::ModelFailed {
        reserve: made.reserve,
        failure: failure(FailureKind::Refused),
    });
    harness.posted(&effects);
    assert!(matches!(&harness.endings()[..], [Ending::Failed { .. }]));
}

#[test]
fn an_answer_to_another_call_is_not_taken() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let made = harness.grant(&effects);
    harness.on(stop());
    let effects = harness.ana("something else");
    let effects = harness.grant_all(&effects);
    let second = call(&effects);
    harness.on(Event::Replied {
        reserve: made.reserve,
        reply: text("stale"),
    });
    let effects = harness.on(Event::Replied {
        reserve: second.reserve,
        reply: text("fresh"),
    });
    assert_eq!(
        crate::harness::post_text(&effects).as_deref(),
        Some("fresh")
    );
}
