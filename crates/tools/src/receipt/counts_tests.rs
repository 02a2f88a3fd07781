//! Summaries as the runners print them.

use super::*;

fn check(output: &str, passed: u64, failed: u64, skipped: u64) {
    let expected = CheckCounts {
        passed,
        failed,
        skipped,
    };
    assert_eq!(counts(output), Some(expected), "{output}");
}

#[test]
fn every_pattern_compiles() {
    assert_eq!(SUMMARIES.len(), 11);
    assert_eq!(WORDS.len(), 4);
    for row in LINES.iter().chain(EACH.iter()) {
        assert!(row.iter().all(Option::is_some));
    }
}

#[test]
fn cargo_adds_its_binaries() {
    check(
        "running 2 tests\ntest a ... ok\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\ntest result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n",
        5,
        1,
        1,
    );
    check(
        "────────────\n     Summary [   0.012s] 5 tests run: 4 passed, 1 failed, 2 skipped\n",
        4,
        1,
        2,
    );
    check(
        "     Summary [   0.012s] 5 tests run: 5 passed, 0 skipped\n",
        5,
        0,
        0,
    );
}

#[test]
fn python_runners() {
    check(
        "===== 1 failed, 10 passed, 2 skipped, 3 warnings in 0.52s =====\n",
        10,
        1,
        2,
    );
    check("5 passed in 0.01s\n", 5, 0, 0);
    check(
        "= 2 passed, 1 error, 1 xfailed in 1.20s (0:00:01) =\n",
        2,
        1,
        1,
    );
    check("Ran 5 tests in 0.001s\n\nOK\n", 5, 0, 0);
    check(
        "Ran 6 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)\n",
        3,
        2,
        1,
    );
    check("Ran 6 tests in 0.001s\n\nOK (skipped=2)\n", 4, 0, 2);
}

#[test]
fn javascript_runners() {
    check(
        "Test Suites: 1 failed, 3 passed, 4 total\nTests:       1 failed, 2 skipped, 10 passed, 13 total\n",
        10,
        1,
        2,
    );
    check(
        " Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 10 passed | 2 skipped (13)\n",
        10,
        1,
        2,
    );
    check("  10 passing (5ms)\n  2 pending\n  1 failing\n", 10, 1, 2);
    check(
        "# tests 3\n# suites 0\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0\n",
        2,
        1,
        0,
    );
    check("ℹ pass 4\nℹ fail 0\nℹ cancelled 0\nℹ skipped 1\n", 4, 0, 1);
    check("ok | 5 passed | 0 failed | 1 ignored (3ms)\n", 5, 0, 1);
    check(" 5 pass\n 1 skip\n 1 fail\n 7 expect() calls\n", 5, 1, 1);
}

#[test]
fn other_runners() {
    check(
        "--- PASS: TestA (0.00s)\n    --- PASS: TestA/one (0.00s)\n--- SKIP: TestB (0.00s)\n--- FAIL: TestC (0.00s)\n",
        2,
        1,
        1,
    );
    check(
        "ok  \tx/y\t0.004s\nFAIL\tx/z\t0.1s\n?   \tx/w\t[no test files]\n",
        1,
        1,
        1,
    );
    check(
        "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in A\n[ERROR] Tests run: 8, Failures: 1, Errors: 1, Skipped: 2\n",
        4,
        2,
        2,
    );
    check(
        "Failed!  - Failed:     1, Passed:     5, Skipped:     2, Total:     8, Duration: 3 ms\n",
        5,
        1,
        2,
    );
    check("95% tests passed, 1 tests failed out of 20\n", 19, 1, 0);
    check("10 examples, 1 failure, 2 pending\n", 7, 1, 2);
    check("OK (5 tests, 10 assertions)\n", 5, 0, 0);
    check(
        "Tests: 5, Assertions: 10, Failures: 1, Skipped: 1.\n",
        3,
        1,
        1,
    );
    check(
        "TAP version 13\n1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no\n",
        1,
        1,
        1,
    );
}

#[test]
fn what_is_no_summary_counts_nothing() {
    for output in [
        "",
        "Finished in 0.1s\n",
        "5 passed\n",
        "compiled 10 files, 3 failed to parse\n",
    ] {
        assert_eq!(counts(output), None, "{output}");
    }
}

#[test]
fn home_made_runners_that_end_with_the_counts() {
    check("ok 1\n5 passed, 0 failed\n", 5, 0, 0);
    check("tests: 5 passed, 1 failed, 2 skipped\n", 5, 1, 2);
    assert_eq!(counts("we saw 5 passed, 0 failed in the logs\n"), None);
}
