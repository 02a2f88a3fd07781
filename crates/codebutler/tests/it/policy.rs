//! Consent: shown, asked for by its hash, remembered, and void after a change.

use crate::scratch::{Scratch, git, pushed};

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
fn a_config_that_raises_caps_and_runs_commands_is_not_said_to_be_harmless() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    let shown = scratch.run(&["policy"]);
    assert!(shown.out.contains("raises no cap"), "{shown:?}");
    scratch.write(
        ".codebutler/config.json",
        r#"{"limits": {"maxCostPerThread": 90000}, "prepare": ["make"]}"#,
    );
    let shown = scratch.run(&["policy"]);
    for said in [
        "not agreed to",
        "$90000.00 (shipped cap: $5.00)",
        "`make`, with the network",
    ] {
        assert!(shown.out.contains(said), "{said}: {shown:?}");
    }
    assert!(!shown.out.contains("raises no cap"), "{shown:?}");
    let warned = scratch.run(&["doctor"]);
    assert!(
        warned.out.contains("codebutler policy accept"),
        "{warned:?}"
    );
    let accepted = scratch.run(&["policy", "accept", "--hash", &hash(&shown.out)]);
    assert_eq!(accepted.code, 0, "{accepted:?}");
    assert!(!scratch.run(&["policy"]).out.contains("not agreed to"));
}

/// Somebody else's push counts before it is pulled: agents go by the default branch.
#[test]
fn what_the_default_branch_asks_for_is_shown_too() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    let root = scratch.root();
    scratch.write(".codebutler/config.json", r#"{"prepare": ["make theirs"]}"#);
    git(&root, &["add", "--all"]);
    pushed(&root);
    scratch.write(".codebutler/config.json", r#"{"prepare": ["make mine"]}"#);
    let shown = scratch.run(&["policy"]);
    assert!(
        shown.out.contains("`make theirs`") && shown.out.contains("`make mine`"),
        "{shown:?}"
    );
}
