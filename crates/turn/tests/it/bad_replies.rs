//! A collection of bad replies, each with the reaction it must get, and of good
//! ones that look a little like them.

use butler_protocol::{Ending, ModelReply, Record, Role, Then, ToolOutcome, Waiting};
use butler_turn::{Effect, Event, PostKind};
use serde_json::json;

use crate::harness::{Harness, calls, coder, post_text, setup, text, to_run};

/// What happens to a reply without calls when a person asked.
#[derive(Debug, PartialEq)]
enum Reaction {
    Posted,
    /// Not posted; the model is told, with these words.
    Nudged(&'static str),
}

const EMPTY: Reaction = Reaction::Nudged("was empty");
const MARKUP: Reaction = Reaction::Nudged("text of a tool call");
const PROMISE: Reaction = Reaction::Nudged("announced a step");

fn check(reply: &str, expected: &Reaction) {
    let mut harness = Harness::pm();
    let effects = harness.ana("please do it");
    let effects = harness.model(&effects, text(reply));
    match expected {
        Reaction::Posted => {
            assert_eq!(post_text(&effects).as_deref(), Some(reply));
            assert!(harness.notes().is_empty(), "{reply}: {:?}", harness.notes());
        }
        Reaction::Nudged(words) => {
            assert_eq!(post_text(&effects), None, "{reply}");
            assert!(
                harness.notes()[0].contains(words),
                "{reply}: {:?}",
                harness.notes()
            );
            harness.grant(&effects);
        }
    }
}

#[test]
fn replies_that_nobody_may_read() {
    for reply in ["", " ", "\n\n"] {
        check(reply, &EMPTY);
    }
    for reply in [
        "<tool_call>{\"name\": \"Read\", \"arguments\": {\"path\": \"a\"}}</tool_call>",
        "Sure.\n<tool_call>\n<function=Read>",
        "<function_call>Read(a)</function_call>",
        "[TOOL_CALLS][{\"name\": \"Read\", \"arguments\": {}}]",
        "<|python_tag|>Read.call(path=\"a\")",
        "<|tool_calls_section_begin|>",
        "<｜tool▁calls▁begin｜>",
        "<invoke name=\"Read\">",
        "functions.Read({\"path\": \"a\"})",
        "```json\n{\"name\": \"Read\", \"arguments\": {\"path\": \"a\"}}\n```",
        "{\"tool\": \"Read\", \"input\": {\"path\": \"a\"}}",
        "```tool_code\nread(\"a\")\n```",
        "```xml\n<tool_call>Read</tool_call>\n```",
        "Here is the plan:\n\n```json\n{\"name\": \"ProposePlan\", \"arguments\": {\"title\": \"x\"}}\n```",
        "Thought: look first\nAction: Read\nAction Input: {\"path\": \"a\"}",
    ] {
        check(reply, &MARKUP);
    }
    for reply in [
        "I will now read the file.",
        "I’ll now run the tests:",
        "Sure! Let me look at main.rs.",
        "Understood. I'm going to implement this.",
        "The bug is in `parse`. Let me fix it…",
        "Plan:\n- read\n- write\n\nI'll start by reading the code.",
        "Great idea!\n\n**Let me check the tests first.**",
        "I'll get started right away!",
    ] {
        check(reply, &PROMISE);
    }
}

#[test]
fn replies_that_only_look_bad() {
    for reply in [
        "Done.",
        "The model wrote `<tool_call>` as text, which is why nothing ran.",
        "It looks like this:\n```\n<tool_call>x</tool_call>\n```\nand is refused.",
        "```rust\nfn main() {}\n```",
        "The config is:\n```json\n{\"name\": \"x\", \"arguments\": []}\n```",
        "{\"answer\": 42}",
        "A client calls it so:\n```json\n{\"name\": \"add_note\", \"arguments\": {\"text\": \"x\"}}\n```",
        "It sent\n```json\n{\"name\": \"Read\", \"arguments\": {\"path\": \"a\"}}\n```\nand got nothing.",
        "Let me know if you need anything else.",
        "I will now wait for your approval.",
        "I'm going to need your decision first.",
        "I'll now hand this over as soon as you say so.",
        "Let me check with you: tabs or spaces?",
        "Should I go on? Next, I'll write the tests.",
        "I'm going to the plan in three steps. It is attached.",
        "Thanks! Thank you!",
        "Ich sehe mir das an und melde mich.",
    ] {
        check(reply, &Reaction::Posted);
    }
}

#[test]
fn one_nudge_then_the_fallback_model_then_people_are_told() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let effects = harness.model(&effects, text(""));
    let effects = harness.model(&effects, text("I will now begin."));
    let made = harness.grant(&effects);
    assert_eq!(made.model, "fallback");
    let effects = harness.on(Event::Replied {
        reserve: made.reserve,
        reply: text("<tool_call>"),
    });
    let failed =
        |effect: &Effect| matches!(effect, Effect::Post(post) if post.kind == PostKind::Failure);
    assert!(effects.iter().any(failed), "{effects:#?}");
    harness.posted(&effects);
    assert!(matches!(&harness.endings()[..], [Ending::Failed { .. }]));
    assert_eq!(harness.notes().len(), 2);
}

#[test]
fn without_a_fallback_the_second_bad_reply_is_the_last() {
    let mut setup = setup(Role::Pm, 15);
    setup.models.fallback = None;
    let mut harness = Harness::new(setup);
    let effects = harness.ana("go");
    let effects = harness.model(&effects, text(""));
    let effects = harness.model(&effects, text(""));
    harness.posted(&effects);
    assert!(matches!(&harness.endings()[..], [Ending::Failed { .. }]));
}

#[test]
fn work_in_between_makes_a_bad_reply_the_first_again() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let effects = harness.model(&effects, text(""));
    let effects = harness.model(&effects, calls(&[("Read", json!({}))]));
    let run = to_run(&effects);
    let effects = harness.tool(&run[0].id, ToolOutcome::ok("x"));
    let effects = harness.model(&effects, text(""));
    assert_eq!(harness.grant(&effects).model, "usual");
}

#[test]
fn a_cut_answer_is_asked_for_again() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let reply = ModelReply {
        cut: true,
        ..text("A long story that")
    };
    let effects = harness.model(&effects, reply);
    assert_eq!(post_text(&effects), None);
    assert!(harness.notes()[0].contains("cut off"));
    harness.grant(&effects);
}

#[test]
fn a_text_that_answers_no_person_gets_one_nudge_and_then_the_default_hand_over() {
    let mut harness = Harness::new(setup(Role::Coder, 15));
    let effects = harness.says(coder(), "here is your task");
    let effects = harness.model(&effects, text("All done."));
    assert!(harness.notes()[0].contains("hand-over"));
    let effects = harness.model(&effects, text("It is done."));
    let handed = |effect: &Effect| matches!(effect, Effect::HandOverByDefault { text, .. } if text == "It is done.");
    assert!(effects.iter().any(handed), "{effects:#?}");

    let again = harness.restart();
    assert!(again.iter().any(handed), "a crash repeats it");
    let effects = harness.posted(&again);
    assert!(effects.contains(&Effect::End(Ending::PassedOn)));
}

#[test]
fn a_word_to_a_person_does_not_end_work_that_a_role_gave() {
    let mut harness = Harness::new(setup(Role::Coder, 15));
    let effects = harness.says(coder(), "here are my findings");
    let effects = harness.model(&effects, calls(&[("Read", json!({}))]));
    let run = to_run(&effects);
    harness.ana("and call it TOTAL");
    let effects = harness.tool(&run[0].id, ToolOutcome::ok("x"));
    let effects = harness.model(&effects, text("Done, it is called TOTAL now."));
    assert_eq!(post_text(&effects), None, "nobody would go on from here");
    assert!(harness.notes()[0].contains("still yours"));
    let effects = harness.model(&effects, text("I have nothing to add."));
    let told = |effect: &Effect| matches!(effect, Effect::HandOverByDefault { .. });
    assert!(effects.iter().any(told), "people see that nobody goes on");

    // Asked by a person alone, a text is the answer, whoever spoke in between.
    let mut harness = Harness::pm();
    let effects = harness.ana("how does it work?");
    let effects = harness.model(&effects, calls(&[("Read", json!({}))]));
    let run = to_run(&effects);
    harness.says(coder(), "by the way");
    let effects = harness.tool(&run[0].id, ToolOutcome::ok("x"));
    let effects = harness.model(&effects, text("Like this."));
    assert_eq!(post_text(&effects).as_deref(), Some("Like this."));
}

#[test]
fn a_message_is_not_yet_a_hand_over() {
    let mut harness = Harness::new(setup(Role::Coder, 15));
    let effects = harness.says(coder(), "here is your task");
    let effects = harness.model(&effects, calls(&[("SendMessage", json!({}))]));
    let run = to_run(&effects);
    let effects = harness.tool(&run[0].id, ToolOutcome::ok("sent"));
    let effects = harness.model(&effects, text("All done."));
    assert!(harness.notes()[0].contains("pass it on with HandOver"));
    let effects = harness.model(&effects, text("Nothing is left to pass on."));
    assert!(effects.contains(&Effect::End(Ending::Done)));
    assert_eq!(post_text(&effects), None);
}

#[test]
fn the_nudge_and_the_last_turns_are_said_in_one_note() {
    let mut harness = Harness::new(setup(Role::Coder, 2));
    let effects = harness.says(coder(), "task");
    harness.model(&effects, text("Done."));
    let notes = harness.notes();
    assert_eq!(notes.len(), 2);
    assert!(
        notes[1].contains("hand-over") && notes[1].contains("last turn"),
        "{notes:?}"
    );
}

#[test]
fn a_text_after_a_message_stays_in_the_log() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let effects = harness.model(&effects, calls(&[("SendMessage", json!({}))]));
    let run = to_run(&effects);
    let effects = harness.tool(&run[0].id, ToolOutcome::ok("sent"));
    let effects = harness.model(&effects, text("I told them."));
    assert_eq!(post_text(&effects), None);
    assert!(effects.contains(&Effect::End(Ending::Done)));
}

#[test]
fn a_text_after_a_message_that_failed_is_posted() {
    let mut harness = Harness::pm();
    let effects = harness.ana("go");
    let effects = harness.model(&effects, calls(&[("SendMessage", json!({}))]));
    let run = to_run(&effects);
    let effects = harness.tool(&run[0].id, ToolOutcome::error("refused").then(Then::GoOn));
    let effects = harness.model(&effects, text("I could not tell them."));
    assert!(post_text(&effects).is_some());
}

#[test]
fn bad_replies_count_as_turns() {
    let mut harness = Harness::new(setup(Role::Coder, 1));
    let effects = harness.ana("go");
    let effects = harness.model(&effects, text(""));
    harness.posted(&effects);
    assert_eq!(harness.endings(), [Ending::TurnLimit]);
    let answers = |record: &Record| matches!(record, Record::Assistant { .. });
    assert_eq!(
        harness
            .log
            .iter()
            .filter(|entry| answers(&entry.record))
            .count(),
        1
    );
}

/// Whatever told people before, a text after their next word is an answer to it.
#[test]
fn words_after_a_persons_word_are_posted_whatever_was_told_before() {
    for tool in [
        "AskUser",
        "ProposePlan",
        "HandOver",
        "ProposeLearnings",
        "SendMessage",
    ] {
        let asked = || {
            let mut harness = Harness::pm();
            let effects = harness.ana("please do it");
            let effects = harness.model(&effects, calls(&[(tool, json!({}))]));
            let run = to_run(&effects);
            (harness, run[0].id.clone())
        };
        let parked = ToolOutcome::ok("asked").then(Then::Park {
            waiting: Waiting::Person,
        });
        // The answer comes while the role sleeps.
        let (mut harness, call) = asked();
        harness.tool(&call, parked.clone());
        let effects = harness.ana("tabs");
        let effects = harness.model(&effects, text("Tabs it is."));
        assert_eq!(
            post_text(&effects).as_deref(),
            Some("Tabs it is."),
            "{tool}"
        );
        // The same when the process died in between.
        let (mut harness, call) = asked();
        harness.tool(&call, parked.clone());
        harness.ana("tabs");
        let effects = harness.restart();
        let effects = harness.model(&effects, text("Tabs it is."));
        assert_eq!(
            post_text(&effects).as_deref(),
            Some("Tabs it is."),
            "{tool}"
        );
        // It comes while the call still runs.
        let (mut harness, call) = asked();
        harness.ana("tabs, by the way");
        let effects = harness.tool(&call, parked);
        let effects = harness.model(&effects, text("Tabs it is."));
        assert_eq!(
            post_text(&effects).as_deref(),
            Some("Tabs it is."),
            "{tool}"
        );
        // Nobody spoke: what was told is not told again, and that is written down.
        let (mut harness, call) = asked();
        let effects = harness.tool(&call, ToolOutcome::ok("told"));
        let effects = harness.model(&effects, text("I told them."));
        assert_eq!(post_text(&effects), None, "{tool}");
        let kept = |effect: &Effect| matches!(effect, Effect::Chose { what, .. } if what.contains("I told them."));
        assert!(effects.iter().any(kept), "{effects:#?}");
    }
}
