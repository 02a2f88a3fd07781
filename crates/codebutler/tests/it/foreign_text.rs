//! Text of models, tools, files and endpoints at a real terminal: it is read, and
//! steers nothing.

use std::{fs::File, process::Stdio};

use butler_rehearsal::{Rehearsal, Scenario};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    endpoint::answering,
    scratch::{Scratch, fed},
    terminal::Terminal,
};

/// Writes the clipboard, renames the window, clears the screen (in both sets of
/// controls), reports back, overwrites a line, hides a word, reverses one.
const ATTACK: &str = "before \u{1b}]52;c;cm0gLXJm\u{7}\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[H\u{9b}2J\u{1b}P+q\u{1b}\\\u{1b}[6n\u{1b}[8mhidden\u{1b}c\rover\u{8}\u{202e}txt after";

/// No control but those of lines, and of the colours that we give ourselves.
fn is_calm(screen: &str) {
    let mut rest = screen.to_owned();
    for ours in ["0", "1", "2", "31", "32", "33", "36"] {
        rest = rest.replace(&format!("\u{1b}[{ours}m"), "");
    }
    let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || c == '\u{202e}';
    assert!(!rest.replace("\r\n", "\n").contains(steers), "{screen:?}");
    assert!(screen.contains("after"), "{screen:?}");
}

fn on_terminal(scratch: &Scratch, args: &[&str]) -> String {
    Terminal::start(scratch, args).end().1
}

#[test]
fn a_file_and_a_command_are_shown_by_tool_without_their_escapes() {
    let scratch = Scratch::without_git();
    scratch.write("attack.txt", &format!("{ATTACK}\n"));
    is_calm(&on_terminal(
        &scratch,
        &["tool", "Read", r#"{"path": "attack.txt"}"#],
    ));
    let cat = json!({"command": "cat attack.txt; cat attack.txt >&2; exit 3"}).to_string();
    is_calm(&on_terminal(&scratch, &["tool", "Bash", &cat]));
    // A pipe is often read on a terminal in the end.
    is_calm(
        &scratch
            .run(&["tool", "Read", r#"{"path": "attack.txt"}"#])
            .out,
    );
    let line = json!({"id": 1, "tool": "Read", "input": {"path": "attack.txt"}}).to_string();
    let lines = fed(
        &mut scratch.codebutler(&["tool", "--jsonl"]),
        line.as_bytes(),
    )
    .out;
    let answer: serde_json::Value = serde_json::from_str(&lines).unwrap();
    assert!(
        answer["output"].as_str().unwrap().contains(ATTACK),
        "programs get it whole"
    );
    assert!(
        !lines.contains('\u{9b}') && !lines.contains('\u{202e}'),
        "{lines}"
    );
}

#[test]
fn a_redacted_text_is_whole_in_a_pipe_and_calm_on_a_terminal() {
    let scratch = Scratch::without_git();
    assert_eq!(scratch.fed(&["redact"], ATTACK).out, ATTACK);
    scratch.write("attack.txt", ATTACK);
    let input = Stdio::from(File::open(scratch.root().join("attack.txt")).unwrap());
    let terminal = Terminal::of(scratch.codebutler(&["redact"]), Some(input));
    is_calm(&terminal.end().1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_says_and_calls_is_shown_by_exec_without_its_escapes() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let said = serde_json::to_string(ATTACK).unwrap();
    let said = butler_protocol::visible_json(&said);
    let scenario = format!(
        "title: a model that paints\nroles:\n  coder:\n    - say: {said}\n      call:\n        - {{ tool: Bash, with: {{ command: {said} }} }}\n    - say: {said}\n"
    );
    let scenario = Scenario::parse(&scenario).unwrap();
    let any = ([127, 0, 0, 1], 0).into();
    let model = Rehearsal::start(any, scenario, true, CancellationToken::new())
        .await
        .unwrap();
    let scratch = Scratch::without_git();
    let url = model.base_url();
    let args = [
        "exec",
        "--model-url",
        &url,
        "--model",
        "rehearsal/coder",
        "go",
    ];
    is_calm(&on_terminal(&scratch, &args));
}

#[test]
fn what_an_endpoint_answers_is_told_without_its_escapes() {
    let body = json!({"error": {"message": ATTACK, "code": 400}}).to_string();
    let url = answering("400 Bad Request", &body);
    let scratch = Scratch::without_git();
    let args = ["exec", "--model-url", &url, "--model", "m", "go"];
    is_calm(&on_terminal(&scratch, &args));
}
