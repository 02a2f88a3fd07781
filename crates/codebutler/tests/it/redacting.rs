//! `redact`: what may leave the machine, by hand.

use serde_json::json;

use crate::scratch::{Scratch, json_lines};

fn key() -> String {
    ["gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat()
}

#[test]
fn a_text_comes_out_without_its_secrets_and_otherwise_unchanged() {
    let scratch = Scratch::without_git();
    let text = format!("first\r\ntoken: {}\n\nlast, without a newline", key());
    let run = scratch.fed(&["redact"], &text);
    assert!(run.code == 0 && run.err.is_empty(), "{run:?}");
    assert!(!run.out.contains(&key()), "{run:?}");
    assert!(run.out.starts_with("first\r\n") && run.out.ends_with("\n\nlast, without a newline"));
    let again = scratch.fed(&["redact"], &run.out);
    assert_eq!(again.out, run.out);
    let clean = "nothing to hide, ünïcode or not\n";
    assert_eq!(scratch.fed(&["redact"], clean).out, clean);
    let bytes = scratch.fed(&["redact"], b"caf\xe9\n");
    assert!(
        bytes.out == "caf\u{fffd}\n" && bytes.err.contains("UTF-8"),
        "{bytes:?}"
    );
}

#[test]
fn lines_tell_what_was_found_and_never_the_secret() {
    let scratch = Scratch::without_git();
    let long = format!("x{}", key().len());
    let input = [
        json!({"id": 1, "text": format!("use {} now", key())}).to_string(),
        json!({"id": 2, "text": long}).to_string(),
        json!({"id": 3, "text": [key()]}).to_string(),
        format!("{{\"id\": 4, \"text\": {}", key()),
        json!({"id": 5, "text": ""}).to_string(),
    ];
    let run = scratch.fed(&["redact", "--jsonl"], input.join("\n"));
    assert!(run.code == 0 && !run.out.contains(&key()), "{run:?}");
    let lines = json_lines(&run.out);
    assert_eq!(lines.len(), 5, "{run:?}");
    let found = &lines[0]["findings"][0];
    assert_eq!(
        (&found["start"], &found["length"]),
        (&json!(4), &json!(key().len()))
    );
    assert!(
        lines[0]["text"]
            .as_str()
            .unwrap()
            .starts_with("use [REDACTED"),
        "{}",
        lines[0]
    );
    assert_eq!(lines[1], json!({"id": 2, "text": long, "findings": []}));
    assert!(lines[2]["id"] == 3 && lines[2]["error"].is_string());
    assert!(lines[3]["error"].is_string());
    assert_eq!(lines[4], json!({"id": 5, "text": "", "findings": []}));
}

#[test]
fn the_machines_secrets_and_the_repos_patterns_are_known() {
    let plain = ["quiet", "harbour", "seventeen"].join("-");
    let text = format!("{plain} and CUST-4711\n");
    let scratch = Scratch::new();
    assert_eq!(
        scratch.fed(&["redact"], &text).out,
        text,
        "nobody said what they are"
    );

    scratch.machine(&json!({"openrouter": {"apiKey": plain}}).to_string());
    let outside = scratch.fed(&["redact"], &text);
    assert!(
        !outside.out.contains(&plain) && outside.out.contains("CUST-4711"),
        "{outside:?}"
    );

    let pattern =
        json!({"redaction": {"patterns": [{"name": "customer", "regex": "CUST-[0-9]+"}]}});
    scratch.write(".codebutler/policy.json", &pattern.to_string());
    let inside = scratch.fed(&["redact"], &text);
    assert!(inside.out.contains("[REDACTED:customer]"), "{inside:?}");
    assert!(!inside.out.contains(&plain), "{inside:?}");
}
