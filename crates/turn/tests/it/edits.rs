//! Messages that people change or take back before a model has read them.

use butler_protocol::{Ending, EventId, ModelMessage};
use butler_turn::{Edited, Effect, Event};
use serde_json::json;

use crate::harness::{Harness, ana, calls, heard, text, to_run};

fn change(number: u32, now: Option<&str>) -> Event {
    let message = heard(number, ana(), "");
    Event::Edited(Edited {
        event: EventId::new(format!("change-{number}-{}", now.unwrap_or("gone"))),
        ts: message.ts.unwrap(),
        speaker: ana(),
        text: now.map(str::to_owned),
    })
}

/// What the next request says.
fn asked(harness: &Harness) -> String {
    let messages = harness.messages();
    let users = messages.iter().filter_map(|message| match message {
        ModelMessage::User { text, .. } => Some(text.as_str()),
        _ => None,
    });
    users.collect::<Vec<_>>().join("\n")
}

/// A PM whose tool runs while a second message of ana waits.
fn steered() -> (Harness, Vec<butler_protocol::ToolCall>) {
    let mut harness = Harness::pm();
    let effects = harness.ana("paint it");
    let effects = harness.model(&effects, calls(&[("Read", json!({}))]));
    let run = to_run(&effects);
    harness.ana("in red");
    (harness, run)
}

#[test]
fn a_message_that_waits_is_read_as_it_was_changed() {
    for restarted in [false, true] {
        let (mut harness, run) = steered();
        assert_eq!(harness.on(change(2, Some("in blue"))), []);
        assert_eq!(harness.on(change(2, Some("in blue"))), [], "a redelivery");
        if restarted {
            harness.restart();
        }
        let effects = harness.tool(&run[0].id, butler_protocol::ToolOutcome::ok("x"));
        harness.grant(&effects);
        let asked = asked(&harness);
        assert!(
            asked.contains("in blue") && !asked.contains("in red"),
            "{asked}"
        );
        assert_eq!(asked.matches("in blue").count(), 1, "{asked}");
    }
}

#[test]
fn a_message_that_was_taken_back_is_not_read() {
    let (mut harness, run) = steered();
    harness.on(change(2, None));
    let effects = harness.tool(&run[0].id, butler_protocol::ToolOutcome::ok("x"));
    harness.grant(&effects);
    let asked = asked(&harness);
    assert!(
        asked.contains("paint it") && !asked.contains("in red"),
        "{asked}"
    );
}

#[test]
fn what_a_model_has_read_stays() {
    let mut harness = Harness::pm();
    let effects = harness.ana("paint it");
    harness.grant_all(&effects);
    let before = harness.log.len();
    assert_eq!(harness.on(change(1, Some("burn it"))), []);
    assert_eq!(harness.on(change(1, None)), []);
    assert_eq!(harness.on(change(7, None)), [], "not for this role");
    assert_eq!(harness.log.len(), before);
}

#[test]
fn an_activation_ends_with_the_message_that_it_was_for() {
    let mut harness = Harness::pm();
    // It waits for its slot: nothing is granted yet.
    harness.ana("paint it");
    let effects = harness.on(change(1, None));
    assert!(effects.contains(&Effect::Cancel), "{effects:#?}");
    assert!(effects.contains(&Effect::End(Ending::Stopped)));
    assert!(harness.machine.is_idle());
    assert!(harness.restart_quietly().is_empty());
    let effects = harness.ana("never mind, what is it?");
    let effects = harness.model(&effects, text("It is a list."));
    assert!(!effects.is_empty());
    assert!(!asked(&harness).contains("paint it"), "{}", asked(&harness));
}
