//! Which step answers, from the messages alone.

use serde_json::json;

use crate::kit::{called, chat, play, result, said, short, user};

const STORY: &str = r#"
title: a story
vars: { greeting: hello }
roles:
  coder:
    - say: Let me look.
      call: [{ tool: Grep, with: { pattern: main } }]
    - when: { tool_result_contains: no matches }
      say: There is nothing here.
    - id: edit
      capture: { file: { from: tool_result, regex: '(\S+\.rs):\d+' } }
      call: [{ tool: Edit, with: { path: "${file}", old: a, new: b } }]
    - call: [{ tool: RunChecks }]
    - when: { last_tool: RunChecks, tool_result_contains: FAILED }
      call: [{ tool: Edit, with: { path: "${file}", old: b, new: c } }]
    - expect: { tool_result_contains: green }
      say: Done in ${file}, ${greeting}.
    - id: look
      when: { interrupted: true }
      call: [{ tool: Bash, with: { command: git status } }]
"#;

fn grep() -> Vec<butler_protocol::ModelMessage> {
    vec![
        user("go"),
        called("1", "Grep", json!({"pattern": "main"})),
        result("1", "src/m.rs:4: fn main"),
    ]
}

fn edit() -> Vec<butler_protocol::ModelMessage> {
    let mut messages = grep();
    messages.push(called(
        "2",
        "Edit",
        json!({"path": "src/m.rs", "old": "a", "new": "b"}),
    ));
    messages.push(result("2", "edited"));
    messages
}

fn checks(outcome: &str) -> Vec<butler_protocol::ModelMessage> {
    let mut messages = edit();
    messages.push(called("3", "RunChecks", json!({})));
    messages.push(result("3", outcome));
    messages
}

#[test]
fn steps_follow_each_other_and_values_are_carried_along() {
    assert_eq!(short(STORY, vec![user("go")]), r#"Grep{"pattern":"main"}"#);
    assert_eq!(
        short(STORY, grep()),
        r#"Edit{"path":"src/m.rs","old":"a","new":"b"}"#
    );
    assert_eq!(short(STORY, edit()), "RunChecks{}");
    assert_eq!(short(STORY, checks("green")), "Done in src/m.rs, hello.");
}

#[test]
fn the_same_history_gets_the_same_answer() {
    for history in [vec![user("go")], grep(), edit(), checks("green")] {
        assert_eq!(short(STORY, history.clone()), short(STORY, history));
    }
}

#[test]
fn a_branch_is_taken_only_when_its_condition_holds() {
    let mut nothing = vec![user("go"), called("1", "Grep", json!({"pattern": "main"}))];
    nothing.push(result("1", "no matches"));
    assert_eq!(short(STORY, nothing), "There is nothing here.");
    assert_eq!(
        short(STORY, checks("1 FAILED")),
        r#"Edit{"path":"src/m.rs","old":"b","new":"c"}"#
    );
}

#[test]
fn an_interrupted_call_takes_the_emergency_exit_wherever_it_stands() {
    let mut messages = grep();
    messages.push(called(
        "2",
        "Edit",
        json!({"path": "src/m.rs", "old": "a", "new": "b"}),
    ));
    messages.push(result("2", "The call was interrupted by a restart."));
    assert_eq!(
        short(STORY, messages.clone()),
        r#"Bash{"command":"git status"}"#
    );
    messages.push(called("3", "Bash", json!({"command": "git status"})));
    messages.push(result("3", "clean"));
    assert_eq!(
        short(STORY, messages),
        "RunChecks{}",
        "then the story goes on"
    );
}

#[test]
fn a_shortened_history_does_not_start_over() {
    let recent = vec![
        user("summary of what was done; src/x.rs:1"),
        called(
            "2",
            "Edit",
            json!({"path": "src/x.rs", "old": "a", "new": "b"}),
        ),
        result("2", "src/x.rs:1 edited"),
    ];
    assert_eq!(short(STORY, recent.clone()), "RunChecks{}");
    let mut checked = recent;
    checked.push(called("3", "RunChecks", json!({})));
    checked.push(result("3", "green"));
    assert_eq!(
        short(STORY, checked),
        "Done in src/x.rs, hello.",
        "the value is learned from the call"
    );
    let recent = vec![
        user("summary"),
        called("3", "RunChecks", json!({})),
        result("3", "green"),
    ];
    let off = play(STORY, recent).unwrap_err().to_string();
    assert!(off.contains("`${file}` has no value"), "{off}");
}

#[test]
fn off_the_script_says_what_came_and_what_was_expected() {
    let off = play(STORY, checks("amber")).unwrap_err().to_string();
    for part in [
        "coder",
        "a story",
        "RunChecks",
        "amber",
        "does not contain “green”",
        "line 16",
    ] {
        assert!(off.contains(part), "{part} in {off}");
    }
    let mut done = checks("green");
    done.push(said("Done in src/m.rs,  hello."));
    done.push(user("more?"));
    let off = play(STORY, done).unwrap_err();
    assert!(off.to_string().contains("“more?”"), "{off}");
    assert!(off.friendly().contains("rehearsal"), "{}", off.friendly());
}

#[test]
fn conditions_look_at_people_counts_and_played_steps() {
    let yaml = r#"
title: t
roles:
  coder:
    - { id: a, when: { last_user_contains: [red, car] }, say: A }
    - { when: { first_user_contains: go, nth: 2 }, say: B }
    - { when: { played: a, any_user_contains: blue }, say: C }
    - { when: { turn: 2 }, say: D }
    - { repeat: 2, call: [{ tool: Bash, with: { command: x } }] }
    - { say: E }
"#;
    assert_eq!(short(yaml, vec![user("a red car")]), "A");
    assert_eq!(short(yaml, vec![user("go"), said("?"), user("on")]), "B");
    assert_eq!(
        short(yaml, vec![user("red car"), said("A"), user("blue")]),
        "C"
    );
    let bash = |id: &str| [called(id, "bash", json!({"command": "x"})), result(id, "y")];
    assert_eq!(short(yaml, vec![user("z")]), r#"Bash{"command":"x"}"#);
    let mut once = vec![user("z")];
    once.extend(bash("1"));
    assert_eq!(short(yaml, once.clone()), "D");
    once.push(said("D"));
    assert_eq!(
        short(yaml, once.clone()),
        r#"Bash{"command":"x"}"#,
        "repeated"
    );
    once.extend(bash("2"));
    assert_eq!(short(yaml, once), "E");
}

#[test]
fn a_request_without_tools_gets_a_summary_and_no_step() {
    let scenario = butler_rehearsal::Scenario::parse(STORY).unwrap();
    let mut chat = chat(edit());
    chat.tools.clear();
    let played = scenario
        .play(butler_protocol::Role::Coder, &chat, &|_| false)
        .unwrap();
    let say = played.say.unwrap();
    assert!(
        say.contains("rehearsal") && say.contains("go") && say.contains("Edit 1×"),
        "{say}"
    );
    assert_eq!(played.step, None);
}
