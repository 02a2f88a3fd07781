//! A question to several roles: the asker sleeps until all have answered.

use butler_protocol::{
    EventId, HandOver, ModelMessage, Record, Role, Speaker, Then, ToolOutcome, Waiting,
};
use butler_turn::{Effect, Event, Heard};
use serde_json::json;

use crate::harness::{Harness, calls, to_run};

fn agent(role: Role) -> Speaker {
    Speaker::Agent { role }
}

fn replies(from: &[Role], deadline_ms: i64) -> Waiting {
    Waiting::Replies {
        deadline_ms,
        from: from.to_vec(),
    }
}

/// A PM that asks the Coder and the Artist in one turn, with what comes in between
/// the calls and their results.
fn asking(harness: &mut Harness, early: &[Role]) -> Vec<Effect> {
    let effects = harness.ana("what does everybody think?");
    let two = calls(&[
        ("HandOver", json!({"to": "coder"})),
        ("HandOver", json!({"to": "artist"})),
    ]);
    let effects = harness.model(&effects, two);
    let run = to_run(&effects);
    for role in early {
        harness.says(agent(*role), "quick as I am");
    }
    let park = |role, by| {
        ToolOutcome::ok("asked").then(Then::Park {
            waiting: replies(&[role], by),
        })
    };
    harness.tool(&run[0].id, park(Role::Coder, 1000));
    harness.tool(&run[1].id, park(Role::Artist, 2000))
}

fn asks(effects: &[Effect]) -> bool {
    effects
        .iter()
        .any(|effect| matches!(effect, Effect::Reserve(_)))
}

fn last(harness: &Harness) -> String {
    match harness.messages().pop() {
        Some(ModelMessage::User { text, .. }) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_wakes_when_all_have_answered_and_hears_them_together() {
    for restart in [false, true] {
        let mut harness = Harness::pm();
        let effects = asking(&mut harness, &[]);
        let both = replies(&[Role::Coder, Role::Artist], 2000);
        assert!(effects.contains(&Effect::Park(both)), "{effects:?}");
        let effects = harness.says(agent(Role::Artist), "blue");
        assert!(!asks(&effects), "{effects:?}");
        assert_eq!(
            harness.machine.parked(),
            Some(&replies(&[Role::Coder], 2000))
        );
        if restart {
            assert!(!asks(&harness.restart()));
            assert_eq!(
                harness.machine.parked(),
                Some(&replies(&[Role::Coder], 2000))
            );
        }
        let effects = harness.says(agent(Role::Coder), "two days");
        harness.grant(&effects);
        let told = last(&harness);
        assert!(told.contains("blue") && told.contains("two days"), "{told}");
    }
}

#[test]
fn what_came_before_the_sleep_counts() {
    let mut harness = Harness::pm();
    let effects = asking(&mut harness, &[Role::Coder]);
    assert!(!asks(&effects), "{effects:?}");
    assert_eq!(
        harness.machine.parked(),
        Some(&replies(&[Role::Artist], 2000))
    );
    let mut harness = Harness::pm();
    let effects = asking(&mut harness, &[Role::Coder, Role::Artist]);
    harness.grant(&effects);
}

#[test]
fn a_person_somebody_else_and_a_question_back_wake_at_once() {
    let mut harness = Harness::pm();
    asking(&mut harness, &[]);
    let effects = harness.ana("never mind");
    harness.grant(&effects);

    let mut harness = Harness::pm();
    asking(&mut harness, &[]);
    let effects = harness.says(agent(Role::Lead), "stop asking");
    harness.grant(&effects);

    // Whoever asks back waits too: two that wait for each other would not end.
    let mut harness = Harness::pm();
    asking(&mut harness, &[]);
    let event = EventId::new("Ev-9");
    harness.write(Record::Received {
        event: event.clone(),
        hand_over: Box::new(HandOver::Question {
            to: Role::Pm,
            text: "which list?".into(),
        }),
    });
    let effects = harness.on(Event::Heard(vec![Heard {
        event,
        ts: None,
        speaker: agent(Role::Coder),
        text: "which list?".into(),
        images: vec![],
    }]));
    harness.grant(&effects);
}

#[test]
fn the_deadline_names_who_did_not_answer() {
    let mut harness = Harness::pm();
    asking(&mut harness, &[]);
    harness.says(agent(Role::Coder), "two days");
    assert!(harness.on(Event::Deadline { now_ms: 1999 }).is_empty());
    let effects = harness.on(Event::Deadline { now_ms: 2000 });
    harness.grant(&effects);
    let told = last(&harness);
    assert!(
        told.contains("two days") && told.contains("No answer in time from the Artist"),
        "{told}"
    );
}
