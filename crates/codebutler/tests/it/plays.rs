//! `codebutler demo --play`: each story to its merge, in a folder of its own.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use assert_cmd::cargo::cargo_bin;

/// Plays a story and looks for its parts in order; nothing may stay behind.
fn plays(story: &str, parts: &[&str]) {
    let scratch = tempfile::tempdir().unwrap();
    let (home, temporary) = (scratch.path().join("home"), scratch.path().join("tmp"));
    fs::create_dir(&home).unwrap();
    fs::create_dir(&temporary).unwrap();
    let output = Command::new(cargo_bin!("codebutler"))
        .args(["demo", "--play", "--fast", "--story", story])
        .current_dir(scratch.path())
        .env("HOME", &home)
        .env("TMPDIR", &temporary)
        .env_remove("CODEBUTLER_HOME")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}\n{complaints}");
    let mut rest = said.as_ref();
    for part in parts {
        let at = rest.find(part);
        let at = at.unwrap_or_else(|| panic!("`{part}` is missing or out of order in\n{said}"));
        rest = &rest[at + part.len()..];
    }
    assert!(!rest.contains("$0.00 "), "the bill is empty: {rest}");
    for folder in [&home, &temporary] {
        let left: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .flatten()
            .map(|one| one.path())
            .collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

#[test]
fn a_feature_with_a_question_and_one_round_back() {
    plays(
        "feature",
        &[
            "add a --json flag",
            "Done when",
            "no history, a rule of thumb",
            "you press Approve",
            "Should an empty list print",
            "wants a value, always",
            "Checks on this tree: `sh tests/run.sh` 5 passed",
            "asks for changes",
            "round 2",
            "approved",
            "you press Accept",
            "you press Merge",
            "Merged #1",
            "What it took",
            "2 review rounds",
            "Every step of the plan before the hand-over",
            "+list_json() {",
            "total",
        ],
    );
}

#[test]
fn a_bugfix_with_a_regression_test_whose_first_attempt_fails() {
    plays(
        "bugfix",
        &[
            "removing a note that is not there",
            "you press Approve",
            "Checks on this tree: `sh tests/run.sh` 5 passed",
            "new and changed tests (tests/run.sh): red on the base, green here",
            "you press Merge",
            "Merged #1",
            "+        echo \"no note $1\"",
            "total",
        ],
    );
}

#[test]
fn a_destructive_command_that_is_rejected_and_worked_around() {
    plays(
        "cleanup",
        &[
            "tmp/",
            "you press Approve",
            "rm -rf tmp",
            "you press Reject",
            "`tmp/` is ignored from now on",
            "you press Merge",
            "Merged #1",
            "+tmp/",
            "total",
        ],
    );
}

#[test]
fn a_git_that_is_too_old_is_named_before_anything_begins() {
    let scratch = tempfile::tempdir().unwrap();
    let git = scratch.path().join("git");
    fs::write(&git, "#!/bin/sh\necho git version 2.34.1\n").unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    for words in [["demo", "--play"], ["init", "--yes"]] {
        let output = Command::new(cargo_bin!("codebutler"))
            .args(words)
            .current_dir(scratch.path())
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", scratch.path().display()),
            )
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(
            told.contains("git 2.34.1 is too old: install git 2.38 or newer"),
            "{told}"
        );
    }
}
