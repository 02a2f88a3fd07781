//! Diffs that should and should not make a reviewer look twice.

use butler_vocab::{CheckCounts, CheckRun, TreeHash};

use super::*;

fn diff(path: &str, removed: &[&str], added: &[&str]) -> String {
    let mut text = format!(
        "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,{} +1,{} @@\n",
        removed.len() + 1,
        added.len() + 1
    );
    text.push_str(" context\n");
    for line in removed {
        text.push_str(&format!("-{line}\n"));
    }
    for line in added {
        text.push_str(&format!("+{line}\n"));
    }
    text
}

#[test]
fn every_pattern_compiles() {
    for regex in [
        &ASSERTION,
        &SKIP,
        &CHECK_FILE,
        &MIXED_FILE,
        &CHECK_LINE,
        &TEST_FILE,
    ] {
        assert!(regex.is_some());
    }
}

#[test]
fn changed_check_files_are_flagged() {
    for path in [
        "Makefile",
        ".github/workflows/ci.yml",
        "web/jest.config.js",
        "pytest.ini",
        "clippy.toml",
        "packages/a/tsconfig.build.json",
    ] {
        assert_eq!(
            in_diff(&diff(path, &["a"], &["b"])),
            [format!("check configuration changed: {path}")]
        );
    }
    assert_eq!(
        in_diff(&diff("src/makefile_parser.rs", &["a"], &["b"])),
        [""; 0]
    );
}

#[test]
fn mixed_files_are_flagged_only_for_lines_about_checks() {
    assert_eq!(
        in_diff(&diff(
            "package.json",
            &["\"left-pad\": \"1\""],
            &["\"left-pad\": \"2\""]
        )),
        [""; 0]
    );
    assert_eq!(
        in_diff(&diff(
            "package.json",
            &["\"test\": \"jest\""],
            &["\"test\": \"true\""]
        )),
        ["check settings changed in package.json"]
    );
    assert_eq!(
        in_diff(&diff("Cargo.toml", &["[lints.clippy]"], &[])),
        ["check settings changed in Cargo.toml"]
    );
}

#[test]
fn assertions_that_vanish_are_counted_against_those_that_come() {
    assert_eq!(
        in_diff(&diff(
            "tests/a.rs",
            &["    assert_eq!(a, 1);", "assert!(b);"],
            &["assert!(c);"]
        )),
        ["assertions removed in tests/a.rs: 2 gone, 1 added"]
    );
    assert_eq!(
        in_diff(&diff("tests/a.rs", &["assert!(a);"], &["assert!(b);"])),
        [""; 0]
    );
    for line in [
        "expect(x).toBe(1)",
        "self.assertEqual(a, b)",
        "assert x == 1",
        "t.Errorf(\"x\")",
    ] {
        assert_eq!(in_diff(&diff("t", &[line], &[])).len(), 1, "{line}");
    }
}

#[test]
fn new_skips_and_deleted_tests_are_flagged() {
    for line in [
        "#[ignore]",
        "it.skip('x', () => {",
        "@pytest.mark.skip",
        "t.Skip()",
        "// @ts-ignore",
    ] {
        let flags = in_diff(&diff("tests/a", &[], &[line]));
        assert_eq!(
            flags,
            ["tests or lints newly skipped in tests/a: 1 lines"],
            "{line}"
        );
    }
    let gone = "--- a/tests/old.rs\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-assert!(a);\n-x\n";
    assert_eq!(in_diff(gone), ["test file deleted: tests/old.rs"]);
}

#[test]
fn content_that_looks_like_a_header_is_content() {
    let sly = "--- a/x.sql\n+++ b/x.sql\n@@ -1,1 +1,2 @@\n--- a/Makefile\n+a\n+++ b/Makefile\n";
    assert_eq!(in_diff(sly), [""; 0]);
}

fn receipt(command: &str, passed: u64, skipped: u64) -> Receipt {
    Receipt {
        tree: TreeHash::new("t"),
        checks: vec![CheckRun {
            name: "test".into(),
            command: command.into(),
            exit_code: Some(0),
            duration_ms: 1,
            counts: Some(CheckCounts {
                passed,
                failed: 0,
                skipped,
            }),
        }],
        flags: Vec::new(),
    }
}

#[test]
fn fewer_tests_than_on_the_base_are_flagged() {
    let base = receipt("make test", 10, 0);
    assert_eq!(against_base(&receipt("make test", 12, 0), &base), [""; 0]);
    assert_eq!(
        against_base(&receipt("make test", 8, 2), &base),
        [
            "test: 8 tests ran, 10 on the base branch",
            "test: 2 tests skipped, 0 on the base branch"
        ]
    );
    assert_eq!(
        against_base(&receipt("true", 10, 0), &base),
        ["test: its command differs from the base branch"]
    );
    let none = Receipt {
        checks: Vec::new(),
        ..receipt("", 0, 0)
    };
    assert_eq!(
        against_base(&none, &base),
        ["test: this check of the base branch did not run"]
    );
}
