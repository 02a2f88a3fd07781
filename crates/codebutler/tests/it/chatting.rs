//! `chat` and `logs` with a whole team: a person at a terminal without a page.

use std::process::Command;

use assert_cmd::cargo::cargo_bin;

use crate::{
    scratch::{Ran, fed, json_lines, ran},
    team::Team,
};

const QUESTION: &str = r#"
title: a question, then a plan
roles:
  pm:
    - expect: { last_user_contains: "what is this" }
      say: This is a program that keeps notes.
    - expect: { last_user_contains: "add colours" }
      call:
        - tool: ProposePlan
          with:
            title: Add colours
            summary: Notes in colour.
            steps: ["Print colours — notes.sh"]
            criteria: ["notes are coloured"]
            files: ["notes.sh"]
            complexity: simple
    - expect: { last_user_contains: "pressed Reject" }
      say: Then it stays as it is.
"#;

fn command(team: &Team, args: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin!("codebutler"));
    command
        .current_dir(team.scratch.root())
        .env("CODEBUTLER_HOME", team.home())
        .env("NO_COLOR", "1")
        .args(args);
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn one_message_in_answers_out_and_a_number_presses_a_button() {
    let team = Team::start(QUESTION).await;
    let asked = fed(&mut command(&team, &["chat"]), b"what is this?\n");
    assert_eq!(asked.code, 0, "{asked:?}");
    assert!(
        asked.out.contains("This is a program that keeps notes."),
        "{asked:?}"
    );
    let listed = ran(&mut command(&team, &["chat", "--list"]));
    assert!(listed.out.contains("what is this?"), "{listed:?}");
    let planned = ran(&mut command(&team, &["chat", "last", "-m", "add colours"]));
    assert_eq!(planned.code, 0, "{planned:?}");
    assert!(
        !planned.out.contains("keeps notes"),
        "old words are no answer: {planned:?}"
    );
    for part in ["1. Print colours", "notes are coloured", "$"] {
        assert!(planned.out.contains(part), "{part}: {planned:?}");
    }
    let number = planned
        .out
        .lines()
        .find_map(|line| line.strip_suffix("] Reject"));
    let number = number
        .unwrap()
        .trim_start()
        .trim_start_matches('[')
        .to_owned();
    let pressed = ran(&mut command(&team, &["chat", "last", "-m", &number]));
    assert_eq!(pressed.code, 0, "{pressed:?}");
    assert!(pressed.err.contains("→ Reject"), "{pressed:?}");
    let root = listed.out.split_whitespace().next().unwrap();
    let thread = team.thread(root).await.unwrap();
    assert_eq!(thread["decisions"][0]["decided"]["choice"], "reject");
    let nowhere = ran(&mut command(&team, &["chat", "1.000001", "-m", "x"]));
    assert_eq!(nowhere.code, 4, "{nowhere:?}");
    logs(&team);
}

/// The same team's log, afterwards.
fn logs(team: &Team) {
    let all: Ran = ran(&mut command(team, &["logs", "--json"]));
    assert_eq!(all.code, 0, "{all:?}");
    let lines = json_lines(&all.out);
    let answered = |line: &&serde_json::Value| line["message"] == "the model answered";
    let answer = lines.iter().find(answered).unwrap();
    assert_eq!(answer["role"], "pm");
    assert_eq!(answer["turn"], 1);
    assert!(answer["thread"].is_string() && answer["fields"]["duration_ms"].is_u64());
    assert!(lines.iter().any(|line| line["tool"] == "ProposePlan"));
    let one = ran(&mut command(team, &["logs", "--role", "lead", "--json"]));
    let own = json_lines(&one.out);
    assert!(!own.is_empty() && own.iter().all(|line| line["process"] == "lead"));
    let words = ran(&mut command(team, &["logs", "--role", "pm"]));
    assert!(
        words.out.contains("turn 1: the model answered"),
        "{words:?}"
    );
}
