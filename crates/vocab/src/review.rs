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
}

impl Receipt {
    /// Whether at least one check ran and all of them passed.
    #[must_use]
    pub fn green(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|check| check.exit_code == Some(0))
    }
}

/// One check of a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRun {
    /// As named in the config: `test`, `lint`, `build`.
    pub name: String,
    /// The command that ran.
    pub command: String,
    /// How it ended; nothing when it was killed.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration_ms: u64,
    /// What its output counted, where that could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<CheckCounts>,
}

/// Tests as a check counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckCounts {
    /// Passed.
    pub passed: u64,
    /// Failed.
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
    /// Whether it may be merged.
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
    /// What has to change, or should.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

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
    /// Should be mended.
    Medium,
    /// Must be mended.
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
    /// What it is about.
    pub kind: FindingKind,
    /// How bad.
    pub severity: Severity,
    /// `path:line`.
    pub place: String,
    /// What is there.
    pub evidence: String,
    /// What to do.
    pub fix: String,
}
