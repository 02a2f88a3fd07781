//! What must hold at the end of every run, whatever happened on the way.

use std::collections::{HashMap, HashSet};

use butler_protocol::{CallId, DecisionKind, ModelMessage, Record, ReserveId, Speaker};

use super::{driver::World, hub::Delivery};

/// A provider would take this request: results follow their calls, one each.
pub(crate) fn check_request(messages: &[ModelMessage]) {
    let mut open: Vec<&CallId> = Vec::new();
    let mut after_user = false;
    for (at, message) in messages.iter().enumerate() {
        match message {
            ModelMessage::System { .. } => assert_eq!(at, 0),
            ModelMessage::User { .. } => assert!(open.is_empty() && !after_user),
            ModelMessage::Assistant { text, calls, .. } => {
                assert!(open.is_empty() && (text.is_some() || !calls.is_empty()));
                open = calls.iter().map(|call| &call.id).collect();
            }
            ModelMessage::Tool { call, .. } => assert_eq!(open.remove(0), call),
        }
        after_user = matches!(message, ModelMessage::User { .. });
    }
    assert!(open.is_empty(), "a call without a result");
    assert!(messages.len() > 1, "nothing to answer");
}

pub(crate) fn all_text(messages: &[ModelMessage]) -> String {
    let texts = messages.iter().filter_map(|message| match message {
        ModelMessage::User { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Everything the simulation promises.
pub(crate) fn check_end(world: &World) {
    check_messages(world);
    check_calls(world);
    check_turns(world);
    check_money(world);
    check_answers(world);
    super::owed::check(world);
    assert!(
        world.machine.is_idle() || world.machine.parked().is_some(),
        "nothing happens and nobody waits: a deadlock"
    );
}

/// Every delivery is in the log once, and a model has seen it unless somebody
/// stopped the work, it failed, or nobody has answered the card about money. Only a person's word ends the pause after
/// roles have talked among themselves for long.
fn check_messages(world: &World) {
    let heard = world.heard();
    let sent = world.hub.mail.iter().filter_map(|mail| match &mail.what {
        Delivery::Message(message) => Some(message),
        Delivery::Decision(_) | Delivery::Stop => None,
    });
    let asleep = world.machine.parked().is_some();
    let mut open = world.hub.open_cards().into_values();
    let unpaid = open.any(|kind| kind == DecisionKind::Cap);
    for message in sent {
        let text = &message.text;
        let places: Vec<u64> = heard
            .iter()
            .filter(|(_, said)| said == text)
            .map(|(seq, _)| *seq)
            .collect();
        assert_eq!(
            places.len(),
            1,
            "{text} is in the log {} times",
            places.len()
        );
        let paused = asleep && matches!(message.speaker, Speaker::Agent { .. });
        let seen = world
            .requests
            .iter()
            .any(|request| request.contains(text.as_str()));
        assert!(
            seen || paused || unpaid || places[0] < world.last_hold(),
            "{text} was never read"
        );
    }
}

/// Every call of an answer has one result, except those that still run.
fn check_calls(world: &World) {
    let mut results: HashMap<&CallId, u32> = HashMap::new();
    for entry in &world.disk {
        if let Record::ToolResult { call, .. } = &entry.record {
            *results.entry(call).or_default() += 1;
        }
    }
    let mut ids = HashSet::new();
    for entry in &world.disk {
        if let Record::Assistant { calls, .. } = &entry.record {
            for call in calls {
                assert!(ids.insert(&call.id), "two calls with one id");
                assert_eq!(results.get(&call.id), Some(&1), "results of {}", call.id);
            }
        }
    }
    assert_eq!(ids.len(), results.len(), "a result without a call");
}

fn check_turns(world: &World) {
    let limit = world.machine.setup().limits.max_turns;
    let mut turns = 0;
    for entry in &world.disk {
        match &entry.record {
            Record::ActivationStarted { .. } => turns = 0,
            Record::Assistant { turn, .. } => {
                turns += 1;
                assert_eq!(*turn, turns);
                assert!(turns <= limit);
            }
            _ => {}
        }
    }
}

/// Whatever was reserved is settled, and never for less than was charged.
fn check_money(world: &World) {
    let mut open: HashSet<&ReserveId> = HashSet::new();
    let mut settled: HashMap<&ReserveId, i64> = HashMap::new();
    for entry in &world.disk {
        match &entry.record {
            Record::Reserved { reserve, .. } => assert!(open.insert(reserve), "reserved twice"),
            Record::Settled { reserve, cost, .. } => {
                assert!(open.remove(reserve), "settled twice");
                settled.insert(reserve, cost.nanos());
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "a reservation was never settled");
    for (reserve, charged) in &world.charged {
        assert!(settled[reserve] >= *charged, "a call was not booked");
    }
    let total: i64 = world.charged.values().sum();
    assert!(total <= world.hub.cap);
}

/// No answer is posted twice, none that was cut off, and what the log calls
/// posted is there.
fn check_answers(world: &World) {
    let mut texts = HashSet::new();
    for text in world
        .hub
        .posts
        .values()
        .filter(|text| text.starts_with("answer"))
    {
        assert!(texts.insert(text), "{text} was posted twice");
        assert!(text.ends_with('.'), "a cut answer was posted: {text}");
    }
    for entry in &world.disk {
        if let Record::Posted { idem, .. } = &entry.record {
            assert!(
                world.hub.posts.contains_key(idem),
                "the log knows a post that is not there"
            );
        }
    }
}
