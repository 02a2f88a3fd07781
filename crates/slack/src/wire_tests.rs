use serde_json::json;

use super::*;

fn envelope(event: &Value) -> Envelope {
    serde_json::from_value(json!({
        "envelope_id": "e1", "type": "events_api", "accepts_response_payload": false,
        "retry_attempt": 1, "retry_reason": "timeout",
        "payload": {"type": "event_callback", "event_id": "Ev1", "event": event},
        "codebutler": {"seq": 4, "kind": "message", "active": "coder"},
    }))
    .unwrap()
}

#[test]
fn an_envelope_keeps_what_it_does_not_know() {
    let envelope = envelope(&json!({"type": "team_join", "new": {"x": 1}}));
    let again = serde_json::to_value(&envelope).unwrap();
    assert_eq!(again["retry_reason"], "timeout");
    assert_eq!(again["accepts_response_payload"], false);
    assert_eq!(again["payload"]["event"]["new"]["x"], 1);
    assert_eq!(envelope.event_id().as_str(), "Ev1");
    assert_eq!(envelope.stamp.as_ref().unwrap().seq, 4);
    assert!(matches!(envelope.event(), Some(Event::Other(_))));
}

#[test]
fn messages_edits_deletions_and_reactions_are_told_apart() {
    let post = json!({"type": "message", "channel": "C1", "ts": "1700000000.000100",
        "subtype": "bot_message", "username": "codebutler.pm", "bot_id": "B1", "text": "hi",
        "icons": {"emoji": ":robot:"}});
    let Some(Event::Message { channel, message }) = envelope(&post).event() else {
        panic!("a role's post is a message");
    };
    assert_eq!(channel.as_str(), "C1");
    assert_eq!(message.username.as_deref(), Some("codebutler.pm"));
    assert_eq!(message.extra["icons"]["emoji"], ":robot:");
    assert_eq!(message.thread(&channel).root, message.ts);

    let changed = json!({"type": "message", "subtype": "message_changed", "channel": "C1",
        "ts": "1700000001.000000",
        "message": {"ts": "1700000000.000100", "text": "new", "edited": {"user": "U1"}},
        "previous_message": {"ts": "1700000000.000100", "text": "old"}});
    let Some(Event::Changed {
        message, previous, ..
    }) = envelope(&changed).event()
    else {
        panic!("an edit");
    };
    assert!(message.is_edited());
    assert_eq!(previous.unwrap().text, "old");

    let deleted = json!({"type": "message", "subtype": "message_deleted", "channel": "C1",
        "ts": "1700000001.000000", "deleted_ts": "1700000000.000100"});
    assert!(matches!(
        envelope(&deleted).event(),
        Some(Event::Deleted { .. })
    ));

    let thumb = json!({"type": "reaction_added", "user": "U1", "reaction": "thumbsup::skin-tone-3",
        "item": {"type": "message", "channel": "C1", "ts": "1700000000.000100"}});
    let Some(Event::Reaction(reaction)) = envelope(&thumb).event() else {
        panic!("a reaction");
    };
    assert_eq!(reaction.name, "thumbsup");
    assert!(reaction.added);
}

#[test]
fn a_click_is_read_with_its_place_and_its_card() {
    let envelope: Envelope = serde_json::from_value(json!({
        "envelope_id": "e2", "type": "interactive", "accepts_response_payload": true,
        "payload": {"type": "block_actions", "user": {"id": "U1"},
            "container": {"type": "message", "message_ts": "1700000002.000000",
                "channel_id": "C1", "thread_ts": "1700000000.000100"},
            "actions": [{"type": "button", "action_id": "cb:k3m9qa:approve", "value": "k3m9qa"}]}
    }))
    .unwrap();
    let action = envelope.action().unwrap();
    assert_eq!(action.thread.root.as_str(), "1700000000.000100");
    assert_eq!(action.decision().unwrap().request.as_str(), "k3m9qa");
    assert_eq!(envelope.event_id().as_str(), "e2");
    assert!(envelope.event().is_none());
}

#[test]
fn what_cannot_be_read_is_kept_as_it_came() {
    for odd in [
        json!(null),
        json!({"type": 7}),
        json!({"type": "message"}),
        json!({"type": "message", "channel": "C1", "ts": 5.0}),
        json!({"type": "reaction_added", "item": {}}),
    ] {
        assert_eq!(Event::read(&odd), Event::Other(odd.clone()), "{odd}");
    }
}
