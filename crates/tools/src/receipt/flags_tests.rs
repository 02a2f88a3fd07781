//! Diffs that should and should not make a reviewer look twice.

use butler_protocol::CheckCounts;

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
        &SHELL_ASSERTION,
        &SHELL_FILE,
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
        ["assertions rewritten in tests/a.rs: 1 lines"]
    );
    assert_eq!(
        in_diff(&diff("src/a.rs", &["assert!(a);"], &["assert!(b);"])),
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
fn a_bent_line_of_a_shell_test_is_seen() {
    for (path, line, bent) in [
        (
            "tests/run.sh",
            "check 'adds' 3 \"$(add 1 2)\"",
            "check 'adds' 4 4",
        ),
        ("tests/run.sh", "[ \"$out\" = ok ] || exit 1", "true"),
        ("test.sh", "grep -q done log", "grep done log"),
        ("t/list.bats", "  [[ $status -eq 0 ]]", "  true"),
        ("tests/notes", "set -eu", "set -u"),
        ("tests/lib.sh", "check() {", "check_old() {"),
        ("tests/run.sh", "exit \"$failed\"", "exit 0"),
    ] {
        let flags = in_diff(&diff(path, &[line], &[bent]));
        assert_eq!(flags.len(), 1, "{path}: {line}: {flags:?}");
        assert!(flags[0].starts_with("assertions "), "{flags:?}");
    }
    let plain = diff("notes.sh", &["[ -f x ] || exit 1"], &["true"]);
    assert_eq!(in_diff(&plain), [""; 0], "no test");
    let more = diff("tests/run.sh", &["echo a"], &["check 'b' 1 1"]);
    assert_eq!(in_diff(&more), [""; 0], "more is welcome");
}

#[test]
fn test_files_of_a_change_are_found_with_what_changed() {
    let mut all = diff("src/a.py", &["a"], &["b"]);
    all.push_str(&diff(
        "tests/test_a.py",
        &[],
        &["diff --git a/x b/tests/x", "c"],
    ));
    all.push_str("diff --git a/tests/old.py b/tests/old.py\n--- a/tests/old.py\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n");
    let found = changed_tests(&all);
    let paths: Vec<&str> = found.iter().map(|test| test.path.as_str()).collect();
    assert_eq!(paths, ["tests/test_a.py"]);
    assert!(found[0].change.ends_with("+c"), "{}", found[0].change);
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

fn run(command: &str, passed: u64, skipped: u64) -> [CheckRun; 1] {
    [CheckRun {
        name: "test".into(),
        command: command.into(),
        exit_code: Some(0),
        duration_ms: 1,
        counts: Some(CheckCounts {
            passed,
            failed: 0,
            skipped,
        }),
    }]
}

#[test]
fn fewer_tests_than_on_the_base_are_flagged() {
    let base = run("make test", 10, 0);
    assert_eq!(against_base(&run("make test", 12, 0), &base), [""; 0]);
    assert_eq!(
        against_base(&run("make test", 8, 2), &base),
        [
            "test: 8 tests ran, 10 on the base branch",
            "test: 2 tests skipped, 0 on the base branch"
        ]
    );
    assert_eq!(
        against_base(&run("true", 10, 0), &base),
        ["test: its command differs from the base branch"]
    );
    assert_eq!(
        against_base(&[], &base),
        ["test: this check of the base branch did not run"]
    );
}

#[test]
fn files_of_tests_are_known_by_their_names() {
    for path in [
        "test.js",
        "lib/tests.py",
        "src/tests.rs",
        "test-ms.js",
        "test/ms.js",
        "ms.test.js",
        "test_a.py",
        "a_test.go",
        "src/NoteTest.java",
        "NotesTests.cs",
        "NoteSpec.scala",
        "tests/run.sh",
        "run-tests.sh",
    ] {
        assert!(hits(&TEST_FILE, path), "{path}");
    }
    for path in [
        "latest.js",
        "contest.rs",
        "test.md",
        "attest.py",
        "spec.md",
        "src/testing.rs",
    ] {
        assert!(!hits(&TEST_FILE, path), "{path}");
    }
}
