//! Messages that people change or take back before a model has read them.

use butler_protocol::{Ending, EventId, ModelMessage};
use butler_turn::{Amended, Effect, Event};
use serde_json::json;

use crate::bench::{Bench, ana, calls, heard, text, to_run};

fn change(number: u32, now: Option<&str>) -> Event {
    let message = heard(number, ana(), "");
    Event::Amended(Amended {
        event: EventId::new(format!("change-{number}-{}", now.unwrap_or("gone"))),
        ts: message.ts.unwrap(),
        speaker: ana(),
        text: now.map(str::to_owned),
    })
}

/// What the next request says.
fn asked(bench: &Bench) -> String {
    let messages = bench.messages();
    let users = messages.iter().filter_map(|message| match message {
        ModelMessage::User { text, .. } => Some(text.as_str()),
        _ => None,
    });
    users.collect::<Vec<_>>().join("\n")
}

/// A PM whose tool runs while a second message of ana waits.
fn steered() -> (Bench, Vec<butler_protocol::ToolCall>) {
    let mut bench = Bench::pm();
    let effects = bench.ana("paint it");
    let effects = bench.model(&effects, calls(&[("Read", json!({}))]));
    let run = to_run(&effects);
    bench.ana("in red");
    (bench, run)
}

#[test]
fn a_message_that_waits_is_read_as_it_was_changed() {
    for restarted in [false, true] {
        let (mut bench, run) = steered();
        assert_eq!(bench.on(change(2, Some("in blue"))), []);
        assert_eq!(bench.on(change(2, Some("in blue"))), [], "a redelivery");
        if restarted {
            bench.restart();
        }
        let effects = bench.tool(&run[0].id, butler_protocol::ToolOutcome::ok("x"));
        bench.grant(&effects);
        let asked = asked(&bench);
        assert!(
            asked.contains("in blue") && !asked.contains("in red"),
            "{asked}"
        );
        assert_eq!(asked.matches("in blue").count(), 1, "{asked}");
    }
}

#[test]
fn a_message_that_was_taken_back_is_not_read() {
    let (mut bench, run) = steered();
    bench.on(change(2, None));
    let effects = bench.tool(&run[0].id, butler_protocol::ToolOutcome::ok("x"));
    bench.grant(&effects);
    let asked = asked(&bench);
    assert!(
        asked.contains("paint it") && !asked.contains("in red"),
        "{asked}"
    );
}

#[test]
fn what_a_model_has_read_stays() {
    let mut bench = Bench::pm();
    let effects = bench.ana("paint it");
    bench.grant_all(&effects);
    let before = bench.log.len();
    assert_eq!(bench.on(change(1, Some("burn it"))), []);
    assert_eq!(bench.on(change(1, None)), []);
    assert_eq!(bench.on(change(7, None)), [], "not for this role");
    assert_eq!(bench.log.len(), before);
}

#[test]
fn an_activation_ends_with_the_message_that_it_was_for() {
    let mut bench = Bench::pm();
    // It waits for its desk: nothing is granted yet.
    bench.ana("paint it");
    let effects = bench.on(change(1, None));
    assert!(effects.contains(&Effect::Cancel), "{effects:#?}");
    assert!(effects.contains(&Effect::End(Ending::Stopped)));
    assert!(bench.machine.is_idle());
    assert!(bench.restart_quietly().is_empty());
    let effects = bench.ana("never mind, what is it?");
    let effects = bench.model(&effects, text("It is a list."));
    assert!(!effects.is_empty());
    assert!(!asked(&bench).contains("paint it"), "{}", asked(&bench));
}
