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

const ASKS_THEN_FAILS: &str = r#"
title: a question back, an answer, and a model that is away
roles:
  pm:
    - expect: { last_user_contains: "colours" }
      call: [{ tool: AskUser, with: { question: "1. Which colours? I would take red." } }]
    - expect: { last_user_contains: "green" }
      say: Green it is.
    - fault: { kind: auth, times: 9 }
      say: never said
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
    assert!(asked.err.contains("… PM at work"), "{asked:?}");
    let short = listed.out.split_whitespace().next().unwrap().to_owned();
    assert!(asked.err.contains(&format!("thread {short}")), "{asked:?}");
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
    assert_eq!(number.unwrap().trim_start(), "[2.3", "{planned:?}");
    let open = ran(&mut command(&team, &["threads"]));
    assert!(
        open.out.contains(&short) && open.out.contains("needs you: decide about the plan"),
        "{open:?}"
    );
    // Without a terminal, and with nothing to say: the thread is read.
    let read = fed(&mut command(&team, &["chat", &short]), b"");
    assert_eq!(read.code, 0, "{read:?}");
    for part in ["what is this?", "[2.1] Approve", "[2.3] Reject"] {
        assert!(read.out.contains(part), "{part}: {read:?}");
    }
    assert!(!read.out.contains("<@U"), "{read:?}");
    let wrong = ran(&mut command(&team, &["chat", &short, "--press", "Agree"]));
    assert!(
        wrong.code == 4 && wrong.err.contains("2.1 Approve"),
        "{wrong:?}"
    );
    let pressed = ran(&mut command(&team, &["chat", "1", "--press", "reject"]));
    assert_eq!(pressed.code, 0, "{pressed:?}");
    assert!(pressed.err.contains("→ Reject"), "{pressed:?}");
    // The number of a button that is gone is only a word; here it is not said.
    let json = ran(&mut command(&team, &["chat", &short, "--read", "--json"]));
    let view = json_lines(&json.out).remove(0);
    let root = view["messages"][0]["ts"].as_str().unwrap();
    let thread = team.thread(root).await.unwrap();
    assert_eq!(thread["decisions"][0]["decided"]["choice"], "reject");
    let nowhere = ran(&mut command(&team, &["chat", "1.000001", "-m", "x"]));
    assert_eq!(nowhere.code, 4, "{nowhere:?}");
    logs(&team);
}

/// Who runs it from a script learns from the exit code that nobody answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_fails_is_no_success_and_an_answer_is_a_decision() {
    let team = Team::start(ASKS_THEN_FAILS).await;
    let asked = ran(&mut command(&team, &["chat", "-m", "add colours"]));
    assert!(
        asked.code == 0 && asked.out.contains("Which colours?"),
        "{asked:?}"
    );
    let open = ran(&mut command(&team, &["threads"]));
    assert!(
        open.out.contains("  add colours\n") && open.out.contains("needs you: answer the PM"),
        "{open:?}"
    );
    let told = ran(&mut command(&team, &["chat", "last", "-m", "green please"]));
    assert!(
        told.code == 0 && told.out.contains("Green it is."),
        "{told:?}"
    );
    let shown = ran(&mut command(&team, &["threads", "show", "last"]));
    assert!(
        shown.out.contains("pm  answer: green please; ")
            && shown.out.contains("asked “1. Which colours?"),
        "{shown:?}"
    );
    // Nobody sends a bill for a server on this machine; no amount is made up.
    let cost = ran(&mut command(&team, &["cost", "last"]));
    assert!(
        cost.out.contains("  no known cost in 2 calls (") && !cost.out.contains('$'),
        "{cost:?}"
    );
    let failed = ran(&mut command(&team, &["chat", "last", "-m", "and now?"]));
    assert_eq!(failed.code, 9, "{failed:?}");
    let open = ran(&mut command(&team, &["threads", "--json"]));
    let row = &json_lines(&open.out)[0][0];
    assert_eq!(row["state"], "needs-person", "{open:?}");
    assert!(
        row["needs"]["what"]
            .as_str()
            .unwrap()
            .contains("who gave up"),
        "{open:?}"
    );
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
