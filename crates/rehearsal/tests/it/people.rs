//! People who speak while a story is played: branches for their words, an aside
//! from whoever works, and what was stopped is given again.

use butler_protocol::{ModelMessage, ToolSpec};
use butler_rehearsal::Scenario;
use serde_json::json;

use crate::kit::{called, chat, request, result, said, short, stage_with, user};

const STORY: &str = r#"
title: a story
words: [blue]
aside: I heard you.
roles:
  coder:
    - when: { person_said: true, since: { call: HandOver, with: ready, heard: "pressed Hold" } }
      repeat: forever
      capture: { said: { from: person, regex: '(?s)^(.{1,9})' } }
      say: Held, and you said ${said}.
    - when: { person_said: true, since: { call: HandOver, with: ready, unheard: "pressed " } }
      repeat: forever
      say: It is with the others.
    - call: [{ tool: Grep, with: { pattern: x } }]
    - call: [{ tool: Edit, with: { path: a } }]
    - call: [{ tool: HandOver, with: { kind: question } }]
    - call: [{ tool: HandOver, with: { kind: ready } }]
"#;

fn person(text: &str) -> ModelMessage {
    user(&format!(
        "<message from=\"person\" name=\"ana\" id=\"U1\">\n{text}\n</message>"
    ))
}

fn told(text: &str) -> ModelMessage {
    user(&format!("<note>\n{text}\n</note>"))
}

fn grep() -> Vec<ModelMessage> {
    vec![
        person("make it blue"),
        called("1", "Grep", json!({"pattern": "x"})),
        result("1", "nothing"),
    ]
}

fn handed() -> Vec<ModelMessage> {
    let mut messages = grep();
    messages.extend([
        called("2", "Edit", json!({"path": "a"})),
        result("2", "edited"),
        called("3", "HandOver", json!({"kind": "question"})),
        result("3", "asked"),
        called("4", "HandOver", json!({"kind": "ready"})),
        result("4", "handed over"),
    ]);
    messages
}

fn with(mut messages: Vec<ModelMessage>, more: &[ModelMessage]) -> Vec<ModelMessage> {
    messages.extend_from_slice(more);
    messages
}

/// What the coder calls when it may also speak.
fn calls(messages: Vec<ModelMessage>) -> Vec<String> {
    let mut chat = chat(messages);
    chat.tools.push(ToolSpec {
        name: "SendMessage".into(),
        description: "speaks".into(),
        parameters: json!({"type": "object"}),
    });
    let story = Scenario::parse(STORY).unwrap();
    let played = story.play(butler_protocol::Role::Coder, &chat, &|_| false);
    let calls = played.unwrap().calls.into_iter();
    calls.map(|call| call.tool).collect()
}

#[test]
fn the_words_that_open_a_story_are_not_taken_for_a_remark() {
    assert_eq!(calls(vec![person("make it blue")]), ["Grep"]);
    assert_eq!(calls(grep()), ["Edit"]);
}

#[test]
fn who_works_says_a_word_and_goes_on_with_the_same_step() {
    let spoken = with(grep(), &[person("and green?")]);
    assert_eq!(calls(spoken.clone()), ["SendMessage", "Edit"]);
    let ModelMessage::Assistant { calls: edit, .. } = called("2", "Edit", json!({"path": "a"}))
    else {
        unreachable!()
    };
    let ModelMessage::Assistant { calls: send, .. } =
        called("1a", "SendMessage", json!({"message": "I heard you."}))
    else {
        unreachable!()
    };
    let both = ModelMessage::Assistant {
        text: None,
        calls: [send, edit].concat(),
        reasoning: None,
    };
    let done = [both, result("1a", "posted"), result("2", "edited")];
    assert_eq!(calls(with(spoken, &done)), ["HandOver"], "the edit counts");
}

#[test]
fn words_meet_the_branch_of_what_was_decided_since() {
    let open = with(handed(), &[person("well?")]);
    assert_eq!(short(STORY, open.clone()), "It is with the others.");
    let again = with(open, &[said("It is with the others."), person("well?")]);
    assert_eq!(short(STORY, again), "It is with the others.");
    let held = [
        told("U1 pressed Hold on the card x."),
        person("hm, on with it"),
    ];
    assert_eq!(
        short(STORY, with(handed(), &held)),
        "Held, and you said hm, on wi."
    );
}

#[test]
fn what_a_person_stopped_is_given_again() {
    let stopped = [
        called("2", "Edit", json!({"path": "a"})),
        result("2", "This call was stopped by ana before it had a result."),
        person("go on"),
    ];
    assert_eq!(calls(with(grep(), &stopped)), ["SendMessage", "Edit"]);
}

#[test]
fn shared_steps_stand_behind_a_roles_own_branches() {
    let shared = r#"
title: shared
aside: Hello.
roles:
  coder:
    - { when: { person_said: true }, repeat: forever, say: shared }
  pm:
    - { when: { person_said: true }, repeat: forever, say: the PM }
"#;
    let shared = Scenario::parse(shared).unwrap();
    let story = Scenario::parse(STORY).unwrap().with_shared(&shared);
    let play = |messages: Vec<ModelMessage>| {
        let played = story.play(butler_protocol::Role::Coder, &chat(messages), &|_| false);
        played.unwrap().say.unwrap_or_default()
    };
    assert_eq!(
        play(with(handed(), &[person("?")])),
        "It is with the others."
    );
    assert_eq!(play(with(grep(), &[person("?")])), "shared");
    assert!(
        story
            .roles()
            .any(|(role, _)| role == butler_protocol::Role::Pm)
    );
}

#[tokio::test]
async fn a_text_in_vain_becomes_a_question() {
    let stage = stage_with("title: t\nroles: { pm: [{ say: x }] }", false, |_| {}).await;
    let mut asking = request(
        "pm",
        vec![told("go"), said("x"), told("Your text was not sent.")],
    );
    let ask = ToolSpec {
        name: "AskUser".into(),
        description: "asks".into(),
        parameters: json!({"type": "object"}),
    };
    asking.tools = asking.tools.iter().cloned().chain([ask]).collect();
    let reply = stage.ask(&asking).await.unwrap();
    assert_eq!(reply.calls[0].name, "AskUser");
    asking.messages.push(person("hm?").into());
    let reply = stage.ask(&asking).await.unwrap();
    assert!(reply.calls.is_empty() && reply.text.unwrap().contains("script"));
}

#[tokio::test]
async fn notes_come_back_as_they_are() {
    let stage = stage_with(STORY, false, |_| {}).await;
    let mut asking = request("pm", vec![user("make it blue\n\nand round")]);
    asking.tools = [].into();
    let reply = stage.ask(&asking).await.unwrap();
    assert_eq!(reply.text.as_deref(), Some("make it blue\n\nand round"));
}
