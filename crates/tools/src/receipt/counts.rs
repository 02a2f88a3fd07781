//! Reads the counts of common test runners from their output.
//!
//! A runner that is not known gives no counts, which is honest: the exit code
//! decides, the counts only help to see what was left out.

use std::sync::LazyLock;

use butler_protocol::CheckCounts;
use regex::Regex;

/// A runner's summary line: how it looks, and which group counts what.
struct Summary {
    regex: Regex,
    /// One summary per suite, all of them count; otherwise only the last.
    sums: bool,
}

/// Named groups `passed`, `failed`, `errors`, `skipped`, `total` as they occur.
static SUMMARIES: LazyLock<Vec<Summary>> = LazyLock::new(|| {
    let table: &[(&str, bool)] = &[
        // cargo test: one line per test binary
        (
            r"(?m)^test result: \w+\. (?<passed>\d+) passed; (?<failed>\d+) failed; (?<skipped>\d+) ignored",
            true,
        ),
        // cargo nextest
        (
            r"(?m)^\s*Summary \[[^\]]*\]\s+[\d/]+ tests? run: (?<passed>\d+) passed(?: \([^)]*\))?(?:, (?<failed>\d+) failed)?(?:, \d+ (?:exec failed|timed out))*(?:, (?<skipped>\d+) skipped)?",
            true,
        ),
        // node --test
        (
            r"(?m)^(?:#|ℹ) pass (?<passed>\d+)\n(?:#|ℹ) fail (?<failed>\d+)\n(?:#|ℹ) cancelled \d+\n(?:#|ℹ) skipped (?<skipped>\d+)",
            true,
        ),
        // deno test
        (
            r"(?m)^(?:ok|FAILED) \| (?<passed>\d+) passed(?: \([^)]*\))? \| (?<failed>\d+) failed(?: \| (?<skipped>\d+) ignored)?",
            true,
        ),
        // maven surefire, totals without "Time elapsed"
        (
            r"(?m)^(?:\[\w+\]\s*)?Tests run: (?<total>\d+), Failures: (?<failed>\d+), Errors: (?<errors>\d+), Skipped: (?<skipped>\d+)\s*$",
            false,
        ),
        // dotnet test
        (
            r"(?m)Failed:\s+(?<failed>\d+), Passed:\s+(?<passed>\d+), Skipped:\s+(?<skipped>\d+), Total:",
            true,
        ),
        // ctest
        (
            r"(?m)^\d+% tests passed, (?<failed>\d+) tests? failed out of (?<total>\d+)",
            true,
        ),
        // rspec
        (
            r"(?m)^(?<total>\d+) examples?, (?<failed>\d+) failures?(?:, (?<skipped>\d+) pending)?",
            true,
        ),
        // phpunit
        (r"(?m)^OK \((?<passed>\d+) tests?, \d+ assertions?\)", true),
        (
            r"(?m)^Tests: (?<total>\d+), Assertions: \d+(?:, Errors: (?<errors>\d+))?(?:, Failures: (?<failed>\d+))?(?:, Skipped: (?<skipped>\d+))?",
            true,
        ),
        // python unittest
        (
            r"(?m)^Ran (?<total>\d+) tests? in [\d.]+s\s+(?:OK|FAILED)(?: \((?:failures=(?<failed>\d+))?(?:, )?(?:errors=(?<errors>\d+))?(?:, )?(?:skipped=(?<skipped>\d+))?)?",
            true,
        ),
    ];
    table
        .iter()
        .filter_map(|(pattern, sums)| {
            let regex = Regex::new(pattern).ok()?;
            Some(Summary { regex, sums: *sums })
        })
        .collect()
});

/// Runners that write their counts as words in any order on one line.
static WORDS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        // pytest
        r"(?m)^=*\s*((?:\d+ (?:failed|passed|skipped|error|errors|xfailed|xpassed|deselected|warnings?|rerun)(?:, )?)+) in [\d.]+s",
        // jest
        r"(?m)^Tests:\s+((?:\d+ (?:failed|passed|skipped|todo)(?:, )?)+), \d+ total",
        // home-made runners: the counts alone on a line
        r"(?m)^(?:\w+: )?(\d+ passed, \d+ failed(?:, \d+ skipped)?)$",
        // vitest
        r"(?m)^\s*Tests\s+((?:\d+ (?:failed|passed|skipped|todo)(?: \| )?)+) \(\d+\)",
    ]
    .iter()
    .filter_map(|pattern| Regex::new(pattern).ok())
    .collect()
});

/// Runners that write one line per count.
static LINES: LazyLock<Vec<[Option<Regex>; 3]>> = LazyLock::new(|| {
    let line = |pattern: &str| Regex::new(pattern).ok();
    vec![
        // mocha
        [
            line(r"(?m)^\s+(\d+) passing\b"),
            line(r"(?m)^\s+(\d+) failing\b"),
            line(r"(?m)^\s+(\d+) pending\b"),
        ],
        // bun test
        [
            line(r"(?m)^\s*(\d+) pass$"),
            line(r"(?m)^\s*(\d+) fail$"),
            line(r"(?m)^\s*(\d+) skip$"),
        ],
    ]
});

/// Runners that write one line per test.
static EACH: LazyLock<Vec<[Option<Regex>; 3]>> = LazyLock::new(|| {
    let line = |pattern: &str| Regex::new(pattern).ok();
    vec![
        // go test -v
        [
            line(r"(?m)^\s*--- PASS: "),
            line(r"(?m)^\s*--- FAIL: "),
            line(r"(?m)^\s*--- SKIP: "),
        ],
        // go test: one line per package
        [
            line(r"(?m)^ok  \t\S+\t"),
            line(r"(?m)^FAIL\t\S+\t"),
            line(r"(?m)^\?   \t\S+\t\[no test files\]"),
        ],
        // TAP
        [
            line(r"(?m)^ok \d+(?: -)? (?:[^#\n]|#\s*[^Ss\s])*$"),
            line(r"(?m)^not ok \d+"),
            line(r"(?mi)^ok \d+.*# *skip"),
        ],
    ]
});

/// What the output counted, where that could be read.
pub(crate) fn counts(output: &str) -> Option<CheckCounts> {
    let mut sum: Option<CheckCounts> = None;
    let mut add = |counts: CheckCounts| {
        let sum = sum.get_or_insert_with(CheckCounts::default);
        sum.passed += counts.passed;
        sum.failed += counts.failed;
        sum.skipped += counts.skipped;
    };
    for summary in SUMMARIES.iter() {
        let found: Vec<CheckCounts> = summary
            .regex
            .captures_iter(output)
            .map(|found| read_groups(&found))
            .collect();
        let from = if summary.sums {
            0
        } else {
            found.len().saturating_sub(1)
        };
        found[from..].iter().copied().for_each(&mut add);
    }
    for regex in WORDS.iter() {
        if let Some(found) = regex.captures_iter(output).last() {
            add(read_words(found.get(1).map_or("", |words| words.as_str())));
        }
    }
    for [passed, failed, skipped] in LINES.iter() {
        let number = |regex: &Option<Regex>| -> Option<u64> {
            regex.as_ref()?.captures_iter(output).last()?[1]
                .parse()
                .ok()
        };
        if let Some(passed) = number(passed) {
            add(CheckCounts {
                passed,
                failed: number(failed).unwrap_or(0),
                skipped: number(skipped).unwrap_or(0),
            });
        }
    }
    // Single lines only when no runner gave a sum: they would count twice.
    sum.or_else(|| EACH.iter().find_map(|runner| each(runner, output)))
}

fn each([passed, failed, skipped]: &[Option<Regex>; 3], output: &str) -> Option<CheckCounts> {
    let number = |regex: &Option<Regex>| {
        regex
            .as_ref()
            .map_or(0, |regex| regex.find_iter(output).count() as u64)
    };
    let counts = CheckCounts {
        passed: number(passed),
        failed: number(failed),
        skipped: number(skipped),
    };
    (counts.passed + counts.failed > 0).then_some(counts)
}

fn read_groups(found: &regex::Captures<'_>) -> CheckCounts {
    let number = |name: &str| -> Option<u64> { found.name(name)?.as_str().parse().ok() };
    let failed = number("failed").unwrap_or(0) + number("errors").unwrap_or(0);
    let skipped = number("skipped").unwrap_or(0);
    let total = number("total").unwrap_or(0);
    CheckCounts {
        passed: number("passed").unwrap_or(total.saturating_sub(failed + skipped)),
        failed,
        skipped,
    }
}

fn read_words(words: &str) -> CheckCounts {
    let mut counts = CheckCounts::default();
    for part in words.split([',', '|']) {
        let mut words = part.split_whitespace();
        let (Some(number), Some(word)) = (words.next(), words.next()) else {
            continue;
        };
        let Ok(number) = number.parse::<u64>() else {
            continue;
        };
        match word {
            "passed" | "xpassed" => counts.passed += number,
            "failed" | "error" | "errors" => counts.failed += number,
            "skipped" | "todo" | "xfailed" | "deselected" => counts.skipped += number,
            _ => {}
        }
    }
    counts
}

#[cfg(test)]
#[path = "counts_tests.rs"]
mod tests;
