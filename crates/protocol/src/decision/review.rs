//! Receipts and verdicts: what the runtime saw, not what an agent claims.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CommitSha, TreeHash};

/// What one run of the repo's checks left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The tree it ran on, `.codebutler/` left out. Another tree makes it stale.
    pub tree: TreeHash,
    /// One entry per configured check, in order.
    pub checks: Vec<CheckRun>,
    /// Warnings the runtime found: changed check files, removed assertions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// What the same checks gave where the branch began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Box<Base>>,
    /// Why there is nothing to compare with, where there should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
}

/// The checks of a receipt, run where the branch began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    pub commit: CommitSha,
    /// One entry per configured check, in order.
    pub checks: Vec<CheckRun>,
    /// The branch's test files tried on the code of the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_tests: Option<NewTests>,
    /// Why they were not tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untried: Option<String>,
}

/// How the branch's new and changed test files fare on the base's code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTests {
    /// The files that were laid over the base.
    pub files: Vec<String>,
    /// The checks that pass on the base alone, with those files.
    pub checks: Vec<CheckRun>,
}

impl NewTests {
    /// Whether they fail without the change, as a test of a fixed bug must.
    pub fn red(&self) -> bool {
        self.checks.iter().any(|check| check.exit_code != Some(0))
    }
}

impl Receipt {
    /// The comparison with the base for people and models, one line each.
    pub fn base_lines(&self) -> Vec<String> {
        let Some(base) = &self.base else {
            let why = self.not_compared.iter();
            return why
                .map(|why| format!("not compared with the base: {why}"))
                .collect();
        };
        let mut lines: Vec<String> = self
            .checks
            .iter()
            .filter_map(|now| {
                let then = base.checks.iter().find(|then| then.name == now.name)?;
                // Red there and green here looks like a fixed bug. Only a test shows one.
                let alone = match then.exit_code {
                    Some(0) => "",
                    _ => ", by itself: this shows nothing about the change",
                };
                Some(format!(
                    "{}: {}; on the base {}{alone}",
                    now.name,
                    now.said(),
                    then.said()
                ))
            })
            .collect();
        if let Some(tests) = &base.new_tests {
            let verdict = match (tests.red(), self.green()) {
                (true, true) => "red on the base, green here",
                (true, false) => "red on the base and not green here",
                (false, _) => "green on the base too, so they do not show the change",
            };
            lines.push(format!(
                "new and changed tests ({}): {verdict}",
                tests.files.join(", ")
            ));
        }
        if let Some(why) = &base.untried {
            lines.push(format!("no test shows the change: {why}"));
        }
        lines
    }

    /// Whether at least one check ran and all of them passed.
    pub fn green(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|check| check.exit_code == Some(0))
    }
}

/// One check of a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRun {
    /// As named in the config: `test`, `lint`, `build`.
    pub name: String,
    pub command: String,
    /// How it ended; nothing when it was killed.
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    /// What its output counted, where that could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<CheckCounts>,
}

impl CheckRun {
    /// How it ended, with its counts, in a few words.
    pub fn said(&self) -> String {
        let end = match self.exit_code {
            Some(0) => "passed".to_owned(),
            Some(code) => format!("failed with exit code {code}"),
            None => "was killed".to_owned(),
        };
        match self.counts {
            Some(counts) => format!(
                "{end} ({} passed, {} failed, {} skipped)",
                counts.passed, counts.failed, counts.skipped
            ),
            None => end,
        }
    }
}

/// Tests as a check counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckCounts {
    pub passed: u64,
    pub failed: u64,
    /// Skipped or ignored.
    pub skipped: u64,
}

/// What the Reviewer says about one head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The commit that was read.
    pub head: CommitSha,
    /// Its tree, `.codebutler/` left out.
    pub tree: TreeHash,
    pub approved: bool,
    /// Which round this was, from 1.
    pub round: u32,
    /// Whether this was the last round: without agreement the Lead decides.
    #[serde(default)]
    pub last: bool,
    /// One paragraph for people.
    pub summary: String,
    /// What must always hold, as the Reviewer understood it.
    #[serde(default)]
    pub invariants: Vec<String>,
    /// Security, performance, compatibility, correctness.
    #[serde(default)]
    pub risks: Vec<Risk>,
    /// The tests that the change needs, and where they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<PlannedTest>,
    /// What has to change, or should.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What the Reviewer's runtime saw, whatever the Reviewer says.
    #[serde(default)]
    pub observed: Observed,
}

/// What a runtime saw of a review; no model writes any of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Observed {
    /// The checks of exactly the tree that was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// Changed files that the Reviewer never opened, as they are now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Whether what it is judged by stands in the thread already, in the same words.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub said_before: bool,
}

/// What the Reviewer writes down before it judges: the first pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewPlan {
    /// The commit that it is about.
    pub head: CommitSha,
    /// Which round, from 1.
    pub round: u32,
    /// One paragraph for people.
    pub summary: String,
    /// What must always hold.
    pub invariants: Vec<String>,
    pub risks: Vec<Risk>,
    /// The tests that the change needs.
    pub tests: Vec<PlannedTest>,
}

/// A test that a change needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTest {
    /// How much of the program it runs.
    pub level: TestLevel,
    /// What it shows.
    pub what: String,
    /// Where it is, or why none is needed; nothing when it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// How much of a program a test runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TestLevel {
    /// One part by itself.
    Unit,
    /// Parts together.
    Integration,
    /// The whole, as people use it.
    E2e,
}

impl TestLevel {
    /// All of them.
    pub const ALL: [TestLevel; 3] = [TestLevel::Unit, TestLevel::Integration, TestLevel::E2e];
}

crate::words! { TestLevel {
    Unit = "unit",
    Integration = "integration",
    E2e = "e2e",
}}

/// One row of the risk matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Risk {
    /// As in "security".
    pub area: String,
    /// How bad.
    pub severity: Severity,
    /// Why.
    pub note: String,
}

/// How much something matters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Could stay.
    Low,
    /// Should be fixed.
    Medium,
    /// Must be fixed.
    High,
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindingKind {
    /// A way to hurt somebody.
    Security,
    /// A missing or wrong test.
    Test,
    /// Code that is wrong or hard to keep.
    Quality,
    /// Against the ways of this repo.
    Consistency,
    /// Not what the plan says.
    Plan,
}

/// One numbered finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// `F1`, `F2`, …; kept over the rounds so that a dismissed one does not return.
    pub id: String,
    pub kind: FindingKind,
    pub severity: Severity,
    /// `path:line`.
    pub place: String,
    pub evidence: String,
    pub fix: String,
}
