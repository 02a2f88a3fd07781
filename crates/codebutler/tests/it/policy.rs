//! Consent: shown, asked for by its hash, remembered, and void after a change.

use crate::scratch::{Scratch, ran};

fn set_up() -> Scratch {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    scratch.write(".codebutler/policy.json", "{\"planGate\": false}");
    scratch
}

/// The 64 hex digits in a text.
fn hash(text: &str) -> String {
    let hex = |word: &&str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
    text.split_whitespace().find(hex).unwrap().to_owned()
}

#[test]
fn consent_needs_the_hash_of_what_is_there() {
    let scratch = set_up();
    let shown = scratch.run(&["policy"]);
    assert!(
        shown.out.contains("not agreed to") && shown.out.contains("approved plan"),
        "{shown:?}"
    );
    assert_eq!(
        scratch.run(&["policy", "accept"]).code,
        4,
        "nobody is there to ask"
    );
    let wrong = "0".repeat(64);
    assert_eq!(scratch.run(&["policy", "accept", "--hash", &wrong]).code, 4);
    assert!(scratch.run(&["policy"]).out.contains("not agreed to"));

    let right = hash(&shown.out);
    let accepted = scratch.run(&["policy", "accept", "--hash", &right]);
    assert_eq!(accepted.code, 0, "{accepted:?}");
    assert!(
        scratch
            .run(&["policy"])
            .out
            .starts_with("policy, agreed to")
    );
    assert_eq!(scratch.run(&["validate"]).err, "");

    scratch.write(
        ".codebutler/policy.json",
        "{\"planGate\": false, \"knowledge\": \"direct\"}",
    );
    assert!(scratch.run(&["policy"]).out.contains("not agreed to"));
    let warned = scratch.run(&["validate"]);
    assert!(
        warned.code == 0 && warned.err.contains("without effect"),
        "{warned:?}"
    );
}

#[test]
fn a_server_is_shown_as_it_is_written_and_not_with_this_machines_secrets() {
    let scratch = set_up();
    let value = ["gh", "p_", "0123456789"].concat();
    let server = r#"{"servers": {"x": {"command": "run-it", "args": ["--key", "${TOKEN}"]}}}"#;
    scratch.write(".codebutler/mcp.json", server);
    let run = |args: &[&str]| ran(scratch.codebutler(args).env("TOKEN", &value));
    let shown = run(&["policy"]);
    assert!(
        shown.out.contains("run-it") && shown.out.contains("${TOKEN}"),
        "{shown:?}"
    );
    assert!(!shown.out.contains(&value), "{shown:?}");
    let line = shown
        .out
        .lines()
        .find(|line| line.starts_with("mcp server x"))
        .unwrap();
    let accepted = run(&["policy", "accept", "--mcp", "x", "--hash", &hash(line)]);
    assert_eq!(accepted.code, 0, "{accepted:?}");
    assert!(run(&["policy"]).out.contains("mcp server x, agreed to"));
    assert_eq!(run(&["policy", "accept", "--mcp", "y"]).code, 4);
}
