//! Stop, and models that fail.

use butler_turn::{Effect, Event, FailureKind, PostKind, StopCause};
use butler_vocab::{Ending, ModelMessage, Record, ToolOutcome, Usd};
use serde_json::json;

use crate::bench::{Bench, call, calls, failure, granted, text, to_run};

fn stop() -> Event {
    Event::Stop {
        by: StopCause::Person("ana".into()),
    }
}

#[test]
fn stop_closes_what_runs_and_late_results_change_nothing() {
    let mut bench = Bench::pm();
    let effects = bench.ana("go");
    let effects = bench.model(
        &effects,
        calls(&[("Bash", json!({})), ("Bash", json!({"a": 1}))]),
    );
    let run = to_run(&effects);
    bench.tool(&run[0].id, ToolOutcome::ok("one"));
    let effects = bench.on(stop());
    assert_eq!(effects.first(), Some(&Effect::Cancel));
    assert_eq!(effects.last(), Some(&Effect::End(Ending::Stopped)));
    let before = bench.log.len();
    assert!(bench.tool(&run[1].id, ToolOutcome::ok("late")).is_empty());
    assert_eq!(bench.log.len(), before);
    assert!(bench.machine.is_idle() && bench.restart_quietly().is_empty());

    let effects = bench.ana("now do this");
    bench.grant(&effects);
    let stopped = |message: &ModelMessage| matches!(message, ModelMessage::Tool { text, .. } if text.contains("stopped by ana"));
    assert_eq!(
        bench
            .messages()
            .iter()
            .filter(|message| stopped(message))
            .count(),
        1
    );
}

#[test]
fn a_stopped_call_is_still_paid_and_its_answer_is_not_used() {
    let mut bench = Bench::pm();
    let effects = bench.ana("go");
    let made = bench.grant(&effects);
    bench.on(stop());
    let mut late = failure(FailureKind::Cancelled);
    late.cost = Usd::from_cents(3);
    let effects = bench.on(Event::ModelFailed {
        reserve: made.reserve,
        failure: late,
    });
    assert!(matches!(&effects[..], [Effect::Settle(settle)] if settle.cost == Usd::from_cents(3)));
    assert!(bench.machine.is_idle());
    let answers = |record: &Record| matches!(record, Record::Assistant { .. });
    assert!(!bench.log.iter().any(|entry| answers(&entry.record)));
}

#[test]
fn money_that_was_granted_after_a_stop_goes_back() {
    let mut bench = Bench::pm();
    let effects = bench.ana("go");
    let Some(Effect::Reserve(reserve)) = effects.last().cloned() else {
        panic!("{effects:#?}")
    };
    bench.on(stop());
    let effects = bench.on(Event::Reserved {
        reserve: reserve.id,
        answer: granted(),
    });
    assert!(matches!(&effects[..], [Effect::Settle(settle)] if settle.cost == Usd::ZERO));
}

#[test]
fn a_stop_when_nothing_runs_does_nothing() {
    let mut bench = Bench::pm();
    assert!(bench.on(stop()).is_empty());
}

#[test]
fn a_model_that_is_down_is_replaced_and_then_the_thread_is_told() {
    let mut bench = Bench::pm();
    let effects = bench.ana("go");
    let made = bench.grant(&effects);
    let down = || failure(FailureKind::Unavailable);
    let effects = bench.on(Event::ModelFailed {
        reserve: made.reserve.clone(),
        failure: down(),
    });
    let second = bench.grant(&effects);
    assert_eq!(second.model, "fallback");
    assert_ne!(second.reserve, made.reserve);
    let effects = bench.on(Event::ModelFailed {
        reserve: second.reserve,
        failure: down(),
    });
    let failed =
        |effect: &Effect| matches!(effect, Effect::Post(post) if post.kind == PostKind::Failure);
    assert!(effects.iter().any(failed), "{effects:#?}");
    bench.posted(&effects);
    assert_eq!(
        bench.endings(),
        [Ending::Failed {
            reason: "It did not work.".into()
        }]
    );
    assert!(bench.machine.is_idle(), "it does not try again by itself");

    let effects = bench.ana("try again");
    let made = bench.grant(&effects);
    assert_eq!(made.model, "usual");
    let effects = bench.on(Event::Replied {
        reserve: made.reserve,
        reply: text("Here."),
    });
    bench.posted(&effects);
    assert_eq!(bench.endings().last(), Some(&Ending::Done));
}

#[test]
fn a_refused_key_is_told_at_once() {
    let mut bench = Bench::pm();
    let effects = bench.ana("go");
    let made = bench.grant(&effects);
    let effects = bench.on(Event::ModelFailed {
        reserve: made.reserve,
        failure: failure(FailureKind::Refused),
    });
    bench.posted(&effects);
    assert!(matches!(&bench.endings()[..], [Ending::Failed { .. }]));
}

#[test]
fn an_answer_to_another_call_is_not_taken() {
    let mut bench = Bench::pm();
    let effects = bench.ana("go");
    let made = bench.grant(&effects);
    bench.on(stop());
    let effects = bench.ana("something else");
    let effects = bench.grant_all(&effects);
    let second = call(&effects);
    bench.on(Event::Replied {
        reserve: made.reserve,
        reply: text("stale"),
    });
    let effects = bench.on(Event::Replied {
        reserve: second.reserve,
        reply: text("fresh"),
    });
    assert_eq!(crate::bench::post_text(&effects).as_deref(), Some("fresh"));
}
