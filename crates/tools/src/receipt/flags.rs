//! What a reviewer should know about a green run: that the change also touched
//! what decides whether it is green.

use std::{collections::BTreeMap, sync::LazyLock};

use butler_protocol::CheckRun;
use regex::Regex;

/// Flags shown; a change that touches more than this is not made clearer by a list.
const MOST: usize = 20;

/// What one file's part of a diff did.
#[derive(Debug, Default)]
struct Touched {
    deleted: bool,
    removed_assertions: usize,
    added_assertions: usize,
    added_skips: usize,
    /// Lines of a mixed file (dependencies and check settings) that are about checks.
    check_lines: usize,
}

static ASSERTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?x)
        \b(?:debug_)?(?:prop_)?assert\w*!?\s*[\(!] | ^\s*assert\s | \bassert\.\w+ | \bself\.assert\w+\(
        | \bexpect\s*\( | \.should\b | \bt\.(?:Error|Fatal|Fail)\w*\( | \brequire\.\w+\(t\b
        | \b(?:EXPECT|ASSERT|XCTAssert)_?\w*\( | \bmust_(?:equal|be)\b").ok()
});

/// What decides in a shell test: a comparison, a helper of that name or its
/// definition, a way to fail, `set -e`.
static SHELL_ASSERTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        ^\s*(?:!\s+|if\s+(?:!\s+)?)?(?:\[\[?\s | test\s | (?:check|assert|expect|should|must|fail|refute)\w*\s | diff\s | cmp\s)
        | ^\s*(?:function\s+)?(?:check|assert|expect|should|must|fail|refute)\w*\s*\(\)
        | \bgrep\s+(?:-\w+\s+)*-\w*q | \|\|\s*\S | ^\s*(?:exit|return)\b | ^\s*set\s+-\w*e",
    )
    .ok()
});

static SHELL_FILE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\.(?:sh|bash|zsh|bats|ksh)$|(?:^|/)[^./]+$").ok());

static SKIP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
        \#\[ignore | \.(?:skip|only|todo)\( | \b(?:xit|xdescribe|xtest|fit|fdescribe)\(
        | @(?:pytest\.mark\.(?:skip|xfail)\w*|unittest\.skip\w*|Disabled|Ignore)\b
        | \bpytest\.skip\( | \bself\.skipTest\( | \bt\.Skip\w*\( | \beslint-disable | \#\[allow\(
        | \#\s*noqa | \#\s*type:\s*ignore | @ts-(?:ignore|nocheck|expect-error) | //nolint"#,
    )
    .ok()
});

static CHECK_FILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?x)(?:^|/)(?:
        Makefile | makefile | GNUmakefile | [Jj]ustfile | Taskfile\.ya?ml | noxfile\.py | tox\.ini
        | pytest\.ini | setup\.cfg | conftest\.py | \.coveragerc | \.?mypy\.ini | \.?ruff\.toml | \.flake8 | \.pylintrc
        | jest\.config\.\w+ | vitest\.config\.\w+ | vite\.config\.\w+ | \.mocharc\.\w+ | karma\.conf\.\w+ | playwright\.config\.\w+
        | \.eslintrc(?:\.\w+)? | eslint\.config\.\w+ | biome\.jsonc? | \.prettierrc(?:\.\w+)? | tsconfig(?:\.\w+)?\.json
        | \.?clippy\.toml | \.?rustfmt\.toml | deny\.toml | nextest\.toml | \.golangci\.ya?ml | phpunit\.xml(?:\.dist)?
        | phpstan\.neon(?:\.dist)? | \.rspec | \.rubocop\.yml | \.gitlab-ci\.yml | \.pre-commit-config\.yaml
    )$ | ^\.github/workflows/ | ^\.circleci/ | ^\.cargo/config(?:\.toml)?$ | ^\.codebutler/config\.json$").ok()
});

static MIXED_FILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:^|/)(?:Cargo\.toml|package\.json|pyproject\.toml|build\.gradle(?:\.kts)?|pom\.xml|composer\.json)$").ok()
});

static CHECK_LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?xi)
        \[(?:workspace\.)?lints | \[\[(?:test|bench)\]\] | \bharness\b | ^\s*test\s*= | \b(?:unsafe_code|unwrap_used)\b
        | "(?:pre|post)?(?:test|lint|check|typecheck|build|ci)[\w:.-]*"\s*: | \[tool\.(?:pytest|ruff|mypy|coverage|tox|pylint)
        | \b(?:addopts|testpaths|fail_under|useJUnitPlatform|surefire|failsafe)\b"#).ok()
});

static TEST_FILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?xi)
        (?:^|/)(?:tests?|specs?|__tests__)/ | [._-](?:test|tests|spec)s?\.\w+$ | (?:^|/)test[_-][^/]+$ | \.bats$
        | (?:^|/)(?:run[_-]?)?(?:tests?|checks?)\.\w*sh$
        # One file for all of them: test.js, tests.py. A test.md is none.
        | (?:^|/)tests?\.(?:[cm]?[jt]sx?|py|rb|rs|go|php|lua|pl|t|exs?|cr|dart|swift|kt|java|cs|c|cc|cpp|scala|clj|hs|ml|jl|r)$
        # NoteTest.java, NotesTests.cs, NoteSpec.scala; latest.js is none.
        | (?-i:[a-z0-9](?:Tests?|Spec)\.\w+$)").ok()
});

fn hits(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// What a unified diff against the base did to the checks themselves.
pub fn in_diff(diff: &str) -> Vec<String> {
    let mut flags = Vec::new();
    for (path, touched) in files(diff) {
        if hits(&CHECK_FILE, &path) {
            flags.push(format!("check configuration changed: {path}"));
        } else if touched.check_lines > 0 {
            flags.push(format!("check settings changed in {path}"));
        }
        if touched.deleted && hits(&TEST_FILE, &path) {
            flags.push(format!("test file deleted: {path}"));
        } else if touched.removed_assertions > touched.added_assertions {
            flags.push(format!(
                "assertions removed in {path}: {} gone, {} added",
                touched.removed_assertions, touched.added_assertions
            ));
        } else if touched.removed_assertions > 0 && hits(&TEST_FILE, &path) {
            // As many as before, and not the same: fixed or bent, who knows.
            flags.push(format!(
                "assertions rewritten in {path}: {} lines",
                touched.removed_assertions
            ));
        }
        if touched.added_skips > 0 {
            flags.push(format!(
                "tests or lints newly skipped in {path}: {} lines",
                touched.added_skips
            ));
        }
    }
    let more = flags.len().saturating_sub(MOST);
    flags.truncate(MOST);
    if more > 0 {
        flags.push(format!("{more} further flags"));
    }
    flags
}

/// What the counts say against those of the base branch.
pub(crate) fn against_base(now: &[CheckRun], base: &[CheckRun]) -> Vec<String> {
    let mut flags = Vec::new();
    for old in base {
        let Some(new) = now.iter().find(|check| check.name == old.name) else {
            flags.push(format!(
                "{}: this check of the base branch did not run",
                old.name
            ));
            continue;
        };
        if new.command != old.command {
            flags.push(format!(
                "{}: its command differs from the base branch",
                old.name
            ));
        }
        let (Some(now), Some(then)) = (new.counts, old.counts) else {
            if old.counts.is_some() {
                flags.push(format!(
                    "{}: no test counts, the base branch had them",
                    old.name
                ));
            }
            continue;
        };
        let (ran, before) = (now.passed + now.failed, then.passed + then.failed);
        if ran < before {
            flags.push(format!(
                "{}: {ran} tests ran, {before} on the base branch",
                old.name
            ));
        }
        if now.skipped > then.skipped {
            flags.push(format!(
                "{}: {} tests skipped, {} on the base branch",
                old.name, now.skipped, then.skipped
            ));
        }
    }
    flags
}

/// The files of a unified diff, by path.
fn files(diff: &str) -> BTreeMap<String, Touched> {
    let mut files: BTreeMap<String, Touched> = BTreeMap::new();
    let mut path = String::new();
    let mut left = Hunk::default();
    for line in diff.lines() {
        // Inside a hunk a line that starts with `---` is content.
        if left.is_open() {
            if let Some(content) = left.take(line) {
                let kind = Kind::of(&path);
                files.entry(path.clone()).or_default().count(content, kind);
            }
        } else if let Some(old) = line.strip_prefix("--- ") {
            path = strip(old, "a/");
        } else if let Some(new) = line.strip_prefix("+++ ") {
            if new.trim_end() == "/dev/null" {
                files.entry(path.clone()).or_default().deleted = true;
            } else {
                path = strip(new, "b/");
            }
            files.entry(path.clone()).or_default();
        } else if let Some(header) = line.strip_prefix("@@ ") {
            left = Hunk::parse(header).unwrap_or_default();
        }
    }
    files
}

fn strip(name: &str, prefix: &str) -> String {
    let name = name.trim_end_matches(['\t', '\r']);
    name.strip_prefix(prefix).unwrap_or(name).to_owned()
}

/// How many lines of a hunk are still to come.
#[derive(Debug, Default)]
struct Hunk {
    old: usize,
    new: usize,
}

impl Hunk {
    /// Reads `-1,2 +3,4 @@ …`.
    fn parse(header: &str) -> Option<Self> {
        let mut words = header.split(' ');
        let mut length = |sign: char| -> Option<usize> {
            let range = words.next()?.strip_prefix(sign)?;
            range
                .split_once(',')
                .map_or(Some(1), |(_, length)| length.parse().ok())
        };
        Some(Self {
            old: length('-')?,
            new: length('+')?,
        })
    }

    fn is_open(&self) -> bool {
        self.old > 0 || self.new > 0
    }

    /// A changed line with its sign; nothing for context.
    fn take<'l>(&mut self, line: &'l str) -> Option<(char, &'l str)> {
        let sign = line.chars().next().unwrap_or(' ');
        match sign {
            '-' => self.old = self.old.saturating_sub(1),
            '+' => self.new = self.new.saturating_sub(1),
            '\\' => {}
            _ => {
                self.old = self.old.saturating_sub(1);
                self.new = self.new.saturating_sub(1);
            }
        }
        matches!(sign, '-' | '+').then(|| (sign, &line[1..]))
    }
}

/// What the lines of a file may be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Dependencies and check settings.
    Mixed,
    ShellTest,
    Other,
}

impl Kind {
    fn of(path: &str) -> Self {
        if hits(&MIXED_FILE, path) {
            Self::Mixed
        } else if hits(&TEST_FILE, path) && hits(&SHELL_FILE, path) {
            Self::ShellTest
        } else {
            Self::Other
        }
    }
}

/// A test file that the branch added or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangedTest {
    pub(crate) path: String,
    /// Its part of the diff.
    pub(crate) change: String,
}

/// The test files of a unified diff, those that are gone left out.
pub(crate) fn changed_tests(diff: &str) -> Vec<ChangedTest> {
    let mut tests: Vec<ChangedTest> = Vec::new();
    // A line of content has a sign before it, so this begins a file.
    for part in format!("\n{diff}").split("\ndiff --git ").skip(1) {
        let named = part.lines().find_map(|line| line.strip_prefix("+++ "));
        let Some(path) = named.filter(|path| path.starts_with("b/")) else {
            continue;
        };
        let path = strip(path, "b/");
        if hits(&TEST_FILE, &path) {
            let change = part.trim_end_matches('\n').to_owned();
            tests.push(ChangedTest { path, change });
        }
    }
    tests
}

impl Touched {
    fn count(&mut self, (sign, text): (char, &str), kind: Kind) {
        if kind == Kind::Mixed {
            self.check_lines += usize::from(hits(&CHECK_LINE, text));
            return;
        }
        let shell = kind == Kind::ShellTest && hits(&SHELL_ASSERTION, text);
        let assertion = shell || hits(&ASSERTION, text);
        match sign {
            '-' => self.removed_assertions += usize::from(assertion),
            _ => {
                self.added_assertions += usize::from(assertion);
                self.added_skips += usize::from(hits(&SKIP, text));
            }
        }
    }
}

#[cfg(test)]
#[path = "flags_tests.rs"]
mod tests;
