//! The plain path: a message, an answer; tools in between; limits.

use butler_protocol::{
    ActivityState, BudgetRefusal, Ending, EventId, ModelMessage, Record, Role, Speaker, Then,
    ToolOutcome, Usd, Waiting,
};
use butler_turn::{Budget, Effect, Event, Mark, PostKind};
use serde_json::json;

use crate::harness::{Harness, ana, call, calls, coder, heard, post_text, setup, text, to_run};

#[test]
fn a_question_is_answered_and_the_machine_is_idle_again() {
    let mut harness = Harness::pm();
    assert!(harness.machine.is_idle());
    let effects = harness.ana("what does this do?");
    assert!(!harness.machine.is_idle());
    let effects = harness.grant_all(&effects);
    let ts = "1700000000.000001".parse().unwrap();
    assert!(effects.contains(&Effect::React {
        ts,
        mark: Mark::Seen
    }));
    let made = call(&effects);
    assert_eq!((made.turn, made.model.as_str()), (1, "usual"));
    let sent = harness.messages();
    assert_eq!(sent.len(), 2);
    assert!(matches!(&sent[0], ModelMessage::System { text } if text == "You are at work."));
    assert_eq!(harness.machine.tools().len(), 1);

    let effects = harness.on(Event::Replied {
        reserve: made.reserve,
        reply: text("It greets."),
    });
    assert_eq!(post_text(&effects).as_deref(), Some("It greets."));
    assert!(
        matches!(&effects[..], [Effect::Settle(_), Effect::Post(_)]),
        "{effects:#?}"
    );
    let effects = harness.posted(&effects);
    let ts = "1700000000.000001".parse().unwrap();
    assert_eq!(
        effects,
        [
            Effect::React {
                ts,
                mark: Mark::Answered
            },
            Effect::Activity {
                state: ActivityState::Idle,
                step: None
            },
            Effect::End(Ending::Done),
        ]
    );
    assert!(harness.machine.is_idle());
}

#[test]
fn tools_run_and_their_results_come_back_in_call_order() {
    let mut harness = Harness::pm();
    let effects = harness.ana("look");
    let reply = calls(&[
        ("Read", json!({"path": "a"})),
        ("Read", json!({"path": "b"})),
    ]);
    let effects = harness.model(&effects, reply);
    let run = to_run(&effects);
    assert_eq!(run.len(), 2);
    assert!(harness.tool(&run[1].id, ToolOutcome::ok("B")).is_empty());
    let effects = harness.tool(&run[0].id, ToolOutcome::ok("A"));
    let results: Vec<String> = harness
        .messages()
        .into_iter()
        .filter_map(|message| match message {
            ModelMessage::Tool { text, .. } => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(results, ["A", "B"]);
    let made = harness.grant(&effects);
    assert_eq!(made.turn, 2);
}

#[test]
fn text_beside_calls_is_progress_and_not_posted() {
    let mut harness = Harness::pm();
    let effects = harness.ana("look");
    let mut reply = calls(&[("Read", json!({"path": "a"}))]);
    reply.text = Some("Reading a.".into());
    let effects = harness.model(&effects, reply);
    assert!(effects.contains(&Effect::Progress("Reading a.".into())));
    assert_eq!(post_text(&effects), None);
}

#[test]
fn a_call_that_could_not_be_read_is_answered_and_never_run() {
    let mut harness = Harness::pm();
    let effects = harness.ana("look");
    let mut reply = calls(&[("Read", json!({})), ("Read", json!({"path": "b"}))]);
    reply.calls[0].problem = Some("`path` is missing".into());
    let effects = harness.model(&effects, reply);
    let run = to_run(&effects);
    assert_eq!(run.len(), 1);
    assert_eq!(run[0].arguments, json!({"path": "b"}));
    harness.tool(&run[0].id, ToolOutcome::ok("B"));
    let answered = |message: &ModelMessage| matches!(message, ModelMessage::Tool { text, .. } if text == "`path` is missing");
    assert!(harness.messages().iter().any(answered));
}

#[test]
fn a_redelivered_message_is_heard_once() {
    let mut harness = Harness::pm();
    let message = heard(7, ana(), "hi");
    harness.on(Event::Heard(vec![message.clone(), message.clone()]));
    let before = harness.log.len();
    assert!(harness.on(Event::Heard(vec![message])).is_empty());
    assert_eq!(harness.log.len(), before);
}

#[test]
fn a_message_during_a_call_joins_before_the_next_turn_and_changes_nothing_sent() {
    let mut harness = Harness::pm();
    let effects = harness.ana("look");
    let made = harness.grant(&effects);
    let sent = harness.messages();
    assert!(harness.ana("and look at b too").is_empty());
    let reply = calls(&[("Read", json!({"path": "a"}))]);
    let effects = harness.on(Event::Replied {
        reserve: made.reserve,
        reply,
    });
    let run = to_run(&effects);
    harness.ana("and c");
    harness.tool(&run[0].id, ToolOutcome::ok("A"));
    let next = harness.messages();
    assert_eq!(
        next[..sent.len()],
        sent[..],
        "every request is the last one plus more"
    );
    assert!(matches!(&next[2], ModelMessage::Assistant { .. }));
    assert!(matches!(&next[3], ModelMessage::Tool { .. }));
    let ModelMessage::User { text, .. } = &next[4] else {
        panic!("{next:#?}")
    };
    assert!(text.find("look at b").unwrap() < text.find("and c").unwrap());
}

#[test]
fn a_message_that_the_answer_could_not_know_starts_the_next_activation() {
    let mut harness = Harness::pm();
    let effects = harness.ana("one");
    let made = harness.grant(&effects);
    harness.ana("two");
    let effects = harness.on(Event::Replied {
        reserve: made.reserve,
        reply: text("Answer to one."),
    });
    let effects = harness.posted(&effects);
    assert!(effects.contains(&Effect::End(Ending::Done)));
    let made = harness.grant(&effects);
    assert_eq!(made.turn, 1);
    assert_eq!(harness.machine.activation(), Some(2));
}

#[test]
fn a_tool_can_end_the_activation_once_all_results_are_in() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let effects = harness.model(
        &effects,
        calls(&[("HandOver", json!({})), ("Read", json!({}))]),
    );
    let run = to_run(&effects);
    let effects = harness.tool(&run[0].id, ToolOutcome::ok("handed over").then(Then::End));
    assert!(effects.is_empty());
    let effects = harness.tool(&run[1].id, ToolOutcome::ok("A"));
    assert!(effects.contains(&Effect::End(Ending::Done)));
    assert!(harness.machine.is_idle());
}

fn park(harness: &mut Harness, waiting: Waiting) -> Vec<Effect> {
    let effects = harness.ana("go");
    let effects = harness.model(&effects, calls(&[("SendMessage", json!({}))]));
    let run = to_run(&effects);
    harness.tool(
        &run[0].id,
        ToolOutcome::ok("sent").then(Then::Park { waiting }),
    )
}

#[test]
fn a_parked_activation_sleeps_until_a_message_or_its_deadline() {
    let waiting = Waiting::Reply { deadline_ms: 1000 };
    let mut harness = Harness::pm();
    let effects = park(&mut harness, waiting.clone());
    assert!(effects.contains(&Effect::Park(waiting.clone())));
    assert_eq!(harness.machine.parked(), Some(&waiting));
    assert!(harness.on(Event::Deadline { now_ms: 999 }).is_empty());
    let effects = harness.says(coder(), "done");
    let effects = harness.grant_all(&effects);
    let working = |effect: &Effect| {
        matches!(
            effect,
            Effect::Activity {
                state: ActivityState::Working,
                ..
            }
        )
    };
    assert!(
        effects.iter().any(working),
        "the hub hears that it is awake"
    );
    let made = call(&effects);
    assert_eq!((made.turn, harness.machine.activation()), (2, Some(1)));

    let mut harness = Harness::pm();
    park(&mut harness, waiting);
    let effects = harness.on(Event::Deadline { now_ms: 1000 });
    harness.grant(&effects);
    let last = harness.messages().pop();
    assert!(
        matches!(last, Some(ModelMessage::User { text, .. }) if text.contains("Nobody answered"))
    );
    assert!(
        harness.on(Event::Deadline { now_ms: 2000 }).is_empty(),
        "it wakes once"
    );
}

#[test]
fn a_reply_that_came_before_the_sleep_is_not_slept_over() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let effects = harness.model(&effects, calls(&[("SendMessage", json!({}))]));
    let run = to_run(&effects);
    harness.says(coder(), "here is your answer");
    let waiting = Waiting::Reply { deadline_ms: 1000 };
    let effects = harness.tool(
        &run[0].id,
        ToolOutcome::ok("sent").then(Then::Park { waiting }),
    );
    harness.grant(&effects);
}

#[test]
fn a_free_worktree_wakes_only_who_waits_for_it() {
    let mut harness = Harness::pm();
    assert!(harness.on(Event::WorktreeFree).is_empty());
    park(&mut harness, Waiting::Worktree);
    let effects = harness.on(Event::WorktreeFree);
    harness.grant(&effects);
}

#[test]
fn the_last_two_turns_are_announced_and_at_the_limit_people_are_asked() {
    let mut harness = Harness::new(setup(Role::Coder, 3));
    let mut effects = harness.ana("go");
    for turn in 1..=3u32 {
        effects = harness.model(&effects, calls(&[("Read", json!({"path": turn}))]));
        let run = to_run(&effects);
        effects = harness.tool(&run[0].id, ToolOutcome::ok(format!("result {turn}")));
    }
    assert_eq!(harness.notes().len(), 2);
    assert!(harness.notes()[0].contains("Two turns"));
    assert!(harness.notes()[1].contains("last turn"));
    assert!(matches!(&effects[..], [Effect::Post(post)] if post.kind == PostKind::TurnLimit));
    let effects = harness.posted(&effects);
    assert!(effects.contains(&Effect::End(Ending::TurnLimit)));
    assert!(harness.machine.is_idle());
    let effects = harness.ana("yes, go on");
    assert_eq!(harness.grant(&effects).turn, 1);
    assert!(harness.messages().len() > 7, "nothing is thrown away");
}

#[test]
fn without_money_it_asks_once_sleeps_and_goes_on_when_the_cap_is_raised() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let Some(Effect::Reserve(first)) = effects.last() else {
        panic!("{effects:#?}")
    };
    let refused = || {
        Budget::Refused(BudgetRefusal {
            budget: "thread".into(),
            cap: Usd::from_cents(500),
            used: Usd::from_cents(500),
        })
    };
    let effects = harness.on(Event::Reserved {
        reserve: first.id.clone(),
        answer: refused(),
    });
    let [Effect::AskForMoney { request, .. }] = &effects[..] else {
        panic!("{effects:#?}")
    };
    let effects = harness.on(Event::Asked {
        request: request.clone(),
    });
    let waiting = Waiting::Decision {
        request: request.clone(),
    };
    assert!(effects.contains(&Effect::Park(waiting.clone())));

    let effects = harness.ana("are you there?");
    let Some(Effect::Reserve(second)) = effects.last() else {
        panic!("{effects:#?}")
    };
    assert_ne!(first.id, second.id, "a refused id stays refused");
    let effects = harness.on(Event::Reserved {
        reserve: second.id.clone(),
        answer: refused(),
    });
    // No second card, but they hear what their words wait for; once.
    let told = post_text(&effects).unwrap();
    assert!(told.contains("budget is used up"), "{told}");
    let effects = harness.posted(&effects);
    let Some(Effect::Reserve(third)) = effects.last() else {
        panic!("{effects:#?}")
    };
    let effects = harness.on(Event::Reserved {
        reserve: third.id.clone(),
        answer: refused(),
    });
    assert!(effects.contains(&Effect::Park(waiting)), "{effects:#?}");
    assert_eq!(post_text(&effects), None, "told once");

    let raised = crate::decisions::cap(request, butler_protocol::Choice::Raise);
    let effects = harness.on(Event::Decided(raised));
    harness.grant(&effects);

    let reserved =
        |entry: &&butler_protocol::Entry| matches!(entry.record, Record::Reserved { .. });
    assert_eq!(harness.log.iter().filter(reserved).count(), 1);
}

/// The process died between posting the card and writing it down, and the click
/// was quicker than the second posting.
#[test]
fn a_cap_decided_before_its_card_is_written_down_holds() {
    for (choice, restarted) in [
        (butler_protocol::Choice::Raise, false),
        (butler_protocol::Choice::Raise, true),
        (butler_protocol::Choice::Stop, false),
    ] {
        let mut harness = Harness::pm();
        let effects = harness.ana("go");
        let Some(Effect::Reserve(first)) = effects.last() else {
            panic!("{effects:#?}")
        };
        let refused = Budget::Refused(BudgetRefusal {
            budget: "thread".into(),
            cap: Usd::from_cents(500),
            used: Usd::from_cents(500),
        });
        let effects = harness.on(Event::Reserved {
            reserve: first.id.clone(),
            answer: refused,
        });
        let [Effect::AskForMoney { request, .. }] = &effects[..] else {
            panic!("{effects:#?}")
        };
        harness.on(Event::Decided(crate::decisions::cap(request, choice)));
        harness.write(Record::DecisionAsked {
            request: request.clone(),
            sha256: butler_protocol::Sha256Hex::of("x"),
            subject: crate::harness::subject(butler_protocol::DecisionKind::Cap),
            learnings: vec![],
        });
        let request = request.clone();
        let mut effects = harness.on(Event::Asked { request });
        if choice == butler_protocol::Choice::Stop {
            assert!(
                effects.contains(&Effect::End(Ending::OutOfMoney)),
                "{effects:#?}"
            );
            continue;
        }
        if restarted {
            effects = harness.restart();
        }
        let Some(Effect::Reserve(second)) = effects.last() else {
            panic!("it sleeps for a decision that was made: {effects:#?}")
        };
        assert_ne!(first.id, second.id, "a refused id stays refused");
    }
}

#[test]
fn most_of_the_budget_is_warned_about_once() {
    let mut harness = Harness::pm();
    let mut effects = harness.ana("go");
    let mut warnings = 0;
    for _ in 0..3 {
        let Some(Effect::Reserve(reserve)) = effects.last() else {
            panic!("{effects:#?}")
        };
        let answer = Budget::Granted {
            amount: Usd::from_cents(1),
            max_tokens: 4000,
            thread_total: Usd::from_cents(400),
            thread_cap: Usd::from_cents(500),
        };
        let granted = harness.on(Event::Reserved {
            reserve: reserve.id.clone(),
            answer,
        });
        if post_text(&granted).is_some_and(|text| text.contains("$4.00 of $5.00")) {
            warnings += 1;
            harness.posted(&granted);
        }
        let made = call(&granted);
        effects = harness.on(Event::Replied {
            reserve: made.reserve,
            reply: calls(&[("Read", json!({}))]),
        });
        let run = to_run(&effects);
        effects = harness.tool(&run[0].id, ToolOutcome::ok("x"));
    }
    assert_eq!(warnings, 1);
}

#[test]
fn roles_that_only_talk_to_each_other_pause_for_a_person() {
    let mut setup = setup(Role::Pm, 15);
    setup.limits.agent_messages = 3;
    let mut harness = Harness::new(setup);
    for _ in 0..2 {
        let effects = harness.says(coder(), "a question");
        let effects = harness.model(&effects, calls(&[("SendMessage", json!({}))]));
        let run = to_run(&effects);
        harness.tool(&run[0].id, ToolOutcome::ok("sent").then(Then::End));
    }
    let effects = harness.says(coder(), "another question");
    assert!(matches!(effects.last(), Some(Effect::Post(post)) if post.kind == PostKind::GoOn));
    let effects = harness.posted(&effects);
    assert!(effects.contains(&Effect::Park(Waiting::Person)));
    let effects = harness.says(coder(), "and one more");
    assert!(effects.contains(&Effect::Park(Waiting::Person)));
    assert_eq!(post_text(&effects), None, "people are asked once");
    let effects = harness.ana("go on");
    harness.grant(&effects);
}

/// Two roles paused and the person answered one of them: the other must not
/// stay silent when it is spoken to again.
#[test]
fn a_persons_word_to_another_role_counts_too() {
    let mut setup = setup(Role::Reviewer, 15);
    setup.limits.agent_messages = 1;
    let mut harness = Harness::new(setup);
    let effects = harness.says(coder(), "a question");
    let effects = harness.posted(&effects);
    assert!(effects.contains(&Effect::Park(Waiting::Person)));
    let mut missed = heard(50, Speaker::Runtime, "- ana: go on, both of you");
    missed.event = EventId::context("1700000000.000050".parse().ok().as_ref(), true);
    let effects = harness.on(Event::Heard(vec![missed]));
    harness.grant(&effects);
    let effects = harness.restart();
    assert!(post_text(&effects).is_none(), "{effects:#?}");
    harness.grant(&effects);
}

#[test]
fn money_is_set_aside_for_what_was_counted_and_for_all_that_came_since() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    assert!(
        matches!(effects.last(), Some(Effect::Reserve(reserve)) if reserve.input_tokens.is_none() && reserve.input_bytes > 0)
    );
    let mut reply = calls(&[("Read", json!({}))]);
    reply.usage.input = 1000;
    reply.usage.output = 10;
    let effects = harness.model(&effects, reply);
    let run = to_run(&effects);
    let effects = harness.tool(&run[0].id, ToolOutcome::ok("x".repeat(3000)));
    let Some(Effect::Reserve(reserve)) = effects.last() else {
        panic!("{effects:#?}")
    };
    let tokens = reserve.input_tokens.unwrap();
    assert!((2510..2600).contains(&tokens), "{tokens}");
}
