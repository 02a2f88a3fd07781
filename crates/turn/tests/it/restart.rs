//! Killed anywhere: what the log asks for is what happens next.

use butler_protocol::{
    CrashClass, Ending, EventId, Record, Sha256Hex, Then, ToolOutcome, Usd, Waiting,
};
use butler_turn::{Effect, Event};
use serde_json::json;

use crate::harness::{Harness, calls, post_text, text, to_run};

#[test]
fn a_message_that_was_heard_and_not_begun_begins() {
    let mut harness = Harness::pm();
    harness.ana("go");
    harness.log.truncate(1);
    let effects = harness.restart();
    harness.grant(&effects);
}

#[test]
fn a_call_without_an_answer_is_paid_for_and_made_again() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let first = harness.grant(&effects);
    let effects = harness.restart();
    let Some(Effect::Settle(settle)) = effects.first() else {
        panic!("{effects:#?}")
    };
    assert_eq!(
        (&settle.id, settle.cost),
        (&first.reserve, Usd::from_cents(2))
    );
    let second = harness.grant(&effects);
    assert_ne!(first.reserve, second.reserve);
    assert_eq!(second.turn, 1);
    assert!(harness.restart().len() > 1);
    let settled = |record: &Record| matches!(record, Record::Settled { .. });
    assert_eq!(
        harness
            .log
            .iter()
            .filter(|entry| settled(&entry.record))
            .count(),
        2
    );
}

#[test]
fn a_reservation_that_was_not_written_is_asked_for_with_the_same_id() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let Some(Effect::Reserve(first)) = effects.last().cloned() else {
        panic!("{effects:#?}")
    };
    let effects = harness.restart();
    let Some(Effect::Reserve(second)) = effects.last().cloned() else {
        panic!("{effects:#?}")
    };
    assert_eq!(first.id, second.id);
}

#[test]
fn calls_with_results_are_used_interrupted_ones_recovered_new_ones_run() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let reply = calls(&[
        ("Read", json!({})),
        ("Bash", json!({})),
        ("Edit", json!({})),
    ]);
    let effects = harness.model(&effects, reply);
    let run = to_run(&effects);
    harness.tool(&run[0].id, ToolOutcome::ok("A"));
    harness.write(Record::ToolIntent {
        call: run[1].id.clone(),
        tool: "Bash".into(),
        crash: CrashClass::Opaque,
        sha256: Sha256Hex::of("x"),
        trace: Some(json!({"pid": 1})),
    });
    let effects = harness.restart();
    let recovered = effects.iter().find_map(|effect| match effect {
        Effect::RecoverTools(calls) => Some(calls.clone()),
        _ => None,
    });
    let recovered = recovered.unwrap();
    assert_eq!(recovered.len(), 1);
    assert_eq!(
        (recovered[0].id(), recovered[0].crash),
        (&run[1].id, CrashClass::Opaque)
    );
    assert_eq!(recovered[0].trace, Some(json!({"pid": 1})));
    assert_eq!(to_run(&effects), [run[2].clone()]);
    harness.tool(&run[2].id, ToolOutcome::ok("C"));
    let effects = harness.tool(&run[1].id, ToolOutcome::error("interrupted"));
    harness.grant(&effects);
}

#[test]
fn an_answer_that_was_not_posted_is_posted_with_the_same_key_even_if_somebody_spoke() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let effects = harness.model(&effects, text("Here."));
    let [_, Effect::Post(first)] = &effects[..] else {
        panic!("{effects:#?}")
    };
    harness.ana("hello?");
    let effects = harness.restart();
    let again = effects.iter().find_map(|effect| match effect {
        Effect::Post(post) => Some(post.clone()),
        _ => None,
    });
    assert_eq!(again.as_ref(), Some(first));
    let effects = harness.posted(&effects);
    assert!(effects.contains(&Effect::End(Ending::Done)));
    harness.grant(&effects);
}

#[test]
fn a_post_that_the_log_knows_is_not_made_again() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let effects = harness.model(&effects, text("Here."));
    harness.posted(&effects);
    let at = harness
        .log
        .iter()
        .position(|entry| matches!(entry.record, Record::Posted { .. }));
    harness.log.truncate(at.unwrap() + 1);
    let effects = harness.restart();
    assert_eq!(post_text(&effects), None);
    assert!(effects.contains(&Effect::End(Ending::Done)));
}

#[test]
fn a_sleeper_sleeps_on_and_wakes_if_its_time_has_come() {
    let waiting = Waiting::Reply { deadline_ms: 1000 };
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let effects = harness.model(&effects, calls(&[("SendMessage", json!({}))]));
    let run = to_run(&effects);
    let then = Then::Park {
        waiting: waiting.clone(),
    };
    harness.tool(&run[0].id, ToolOutcome::ok("sent").then(then));
    // The sleep itself may be the line that was lost.
    harness.log.pop();
    let effects = harness.restart();
    assert!(effects.contains(&Effect::Park(waiting.clone())));
    let effects = harness.restart();
    assert!(effects.contains(&Effect::Park(waiting)));
    let effects = harness.on(Event::Begin { now_ms: 1000 });
    harness.grant(&effects);
}

#[test]
fn the_prompt_of_a_running_activation_stays_and_a_new_one_gets_the_new() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let Some(Effect::Reserve(_)) = effects.last() else {
        panic!("{effects:#?}")
    };
    let mut setup = harness.machine.setup().clone();
    setup.prompt = "You are new.".into();
    harness.machine = butler_turn::Machine::new(setup, &harness.log);
    let effects = harness.on(Event::Begin { now_ms: 0 });
    let effects = harness.model(&effects, text("Here."));
    harness.posted(&effects);
    let prompts = |harness: &Harness| {
        let prompt = |record: &Record| matches!(record, Record::Prompt { .. });
        harness
            .log
            .iter()
            .filter(|entry| prompt(&entry.record))
            .count()
    };
    assert_eq!(prompts(&harness), 1);
    let effects = harness.ana("more");
    harness.grant(&effects);
    assert_eq!(prompts(&harness), 2);
}

#[test]
fn a_switch_of_models_that_was_written_alone_still_gets_its_nudge() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let effects = harness.model(&effects, text(""));
    harness.model(&effects, text(""));
    let switch = |entry: &butler_protocol::Entry| matches!(entry.record, Record::Model { .. });
    let at = harness.log.iter().position(switch).unwrap();
    harness.log.truncate(at + 1);
    let effects = harness.restart();
    assert_eq!(harness.grant(&effects).model, "fallback");
    assert_eq!(harness.notes().len(), 2);
}

#[test]
fn a_settlement_that_the_hub_may_not_know_is_told_again() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let made = harness.grant(&effects);
    harness.on(Event::Stop {
        event: EventId::new("stop-1"),
        by: "ana".into(),
    });
    let failure = crate::harness::failure(butler_turn::FailureKind::Cancelled);
    let reserve = made.reserve;
    harness.on(Event::ModelFailed { reserve, failure });
    let effects = harness.restart_quietly();
    assert!(matches!(&effects[..], [Effect::Settle(_)]), "{effects:#?}");
}

#[test]
fn an_end_that_the_hub_may_not_know_is_told_again() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let effects = harness.model(&effects, text("Here."));
    let told = harness.posted(&effects);
    let idle = |effect: &&Effect| matches!(effect, Effect::Activity { .. } | Effect::React { .. });
    let told: Vec<_> = told.iter().filter(idle).collect();
    assert!(told.len() >= 2, "{told:#?}");
    let again = harness.restart();
    assert!(
        told.iter().all(|effect| again.contains(effect)),
        "{again:#?}"
    );
}
