//! RunChecks: the repo's configured checks, and the receipt they leave.
//!
//! A receipt is what the runtime saw, bound to the tree the checks ran on. Only
//! a whole run on one unchanged tree leaves one; anything less says why not.

use std::time::Duration;

use butler_policy::Permit;
use butler_protocol::{CheckCounts, CheckRun, Receipt, ToolOutcome, TreeHash, count_of};
use butler_sandbox::{Ended, Exit};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Told;
use crate::{Check, Tool, ToolContext, context::READY_PATIENCE, receipt, run::confine};

/// One check may take this long; all of them together, here and on the base,
/// four times as long.
const EACH: Duration = Duration::from_secs(1200);

/// Output shown of a check that failed.
const OUTPUT: usize = 12 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// Only this check, as in `lint`; leaves no receipt.
    name: Option<String>,
}

/// The tool.
pub struct RunChecks;

const DESCRIPTION: &str = "
Runs the repo's checks (test, lint, build) and leaves a receipt for the files as they are; any later
edit makes it stale. For a single test use Bash. Returns each check with its counts, the same on the
base (also with your new tests: one of a fixed bug must be red there), and the output of what failed.
Example: {}";

impl Tool for RunChecks {
    crate::tools::introduce!("RunChecks", WriteLocal, Rerunnable);

    fn deadline(&self, _input: &Value) -> Duration {
        EACH * 4 + READY_PATIENCE
    }
}

impl RunChecks {
    async fn work(&self, permit: &Permit, input: Input, context: &ToolContext) -> Told {
        let checks = chosen(context.workplace().checks(), input.name.as_deref())?;
        let warning = context.ready().await?;
        let before = tree(context).await;
        let mut ran = Vec::new();
        for check in &checks {
            context.progress(format!("running {}", check.name));
            let exit = confine::run(context, permit, &check.command, EACH).await?;
            if exit.ended == Ended::Cancelled {
                return Err(format!("stopped during {}", check.name).into());
            }
            ran.push(Ran::new(check, &exit));
        }
        let mut note = if input.name.is_some() {
            "no receipt: only one check ran".to_owned()
        } else {
            let left = leave(permit, context, before, &ran, warning.as_deref()).await;
            left.unwrap_or_else(|why| format!("no receipt: {why}"))
        };
        if let Some(warning) = warning.filter(|_| ran.iter().any(|ran| !ran.passed())) {
            note.push_str(&format!("\n[{warning}]"));
        }
        Ok(report(&ran, &note))
    }
}

/// One check that ran.
struct Ran {
    run: CheckRun,
    verdict: String,
    output: String,
}

impl Ran {
    fn new(check: &Check, exit: &Exit) -> Self {
        Self {
            run: receipt::ran(check, exit),
            verdict: confine::verdict(exit),
            output: confine::output(exit, OUTPUT),
        }
    }

    fn passed(&self) -> bool {
        self.run.exit_code == Some(0)
    }
}

fn chosen(checks: &[Check], name: Option<&str>) -> Result<Vec<Check>, String> {
    if checks.is_empty() {
        return Err(
            "failed: this repo configures no checks; run its tests with Bash and say so in the hand-over"
                .to_owned(),
        );
    }
    let Some(name) = name else {
        return Ok(checks.to_vec());
    };
    let found: Vec<Check> = checks
        .iter()
        .filter(|check| check.name == name)
        .cloned()
        .collect();
    if found.is_empty() {
        let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
        return Err(format!(
            "refused: there is no check `{name}`; there are {}",
            names.join(", ")
        ));
    }
    Ok(found)
}

async fn tree(context: &ToolContext) -> Result<TreeHash, String> {
    match &context.tree {
        Some(tree) => tree(context.cancel().clone()).await,
        None => Err("the state of the files is not known here".to_owned()),
    }
}

/// Leaves the receipt, or says why there is none.
async fn leave(
    permit: &Permit,
    context: &ToolContext,
    before: Result<TreeHash, String>,
    ran: &[Ran],
    unprepared: Option<&str>,
) -> Result<String, String> {
    let before = before?;
    if tree(context).await? != before {
        let why =
            "files changed while the checks ran; look at what they wrote, then run them again";
        return Err(why.to_owned());
    }
    let mut receipt = Receipt {
        tree: before,
        checks: ran.iter().map(|ran| ran.run.clone()).collect(),
        flags: Vec::new(),
        base: None,
        not_compared: None,
    };
    let mut tests = Vec::new();
    if let Some(diff) = &context.diff {
        match diff(context.cancel().clone()).await {
            Ok(diff) => {
                receipt.flags.extend(receipt::in_diff(&diff));
                tests = receipt::changed_tests(&diff);
            }
            Err(why) => receipt
                .flags
                .push(format!("the change could not be looked at: {why}")),
        }
    }
    let mut note = format!("receipt for tree {}", short(receipt.tree.as_str()));
    if let Some(past) = &context.past {
        // Two folders that are not in the same state say nothing about a change.
        let compared = match unprepared {
            Some(why) => Err(why.to_owned()),
            None => receipt::base(context, permit, past, &tests, receipt.green()).await,
        };
        match compared {
            Ok(base) => {
                let flags = receipt::against_base(&receipt.checks, &base.checks);
                receipt.flags.extend(flags);
                receipt.base = Some(Box::new(base));
            }
            Err(why) => receipt.not_compared = Some(why),
        }
    }
    for line in receipt.base_lines() {
        note.push_str(&format!("\n{line}"));
    }
    for flag in &receipt.flags {
        note.push_str(&format!("\nflag: {flag}"));
    }
    context.leave_receipt(permit.call(), receipt);
    Ok(note)
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

fn report(ran: &[Ran], note: &str) -> ToolOutcome {
    let failed = ran.iter().filter(|ran| !ran.passed()).count();
    let verdict = match failed {
        0 => format!("passed: {}", count_of(ran.len(), "check")),
        failed => format!("failed: {failed} of {}", count_of(ran.len(), "check")),
    };
    let mut text = format!("{verdict}\n");
    for ran in ran {
        let mark = if ran.passed() { "ok" } else { "FAILED" };
        let counts = ran.run.counts.map(counted).unwrap_or_default();
        text.push_str(&format!(
            "{mark} {}: {}{counts}\n",
            ran.run.name, ran.verdict
        ));
    }
    text.push_str(note);
    for ran in ran.iter().filter(|ran| !ran.passed()) {
        text.push_str(&format!(
            "\n\n--- {}: {} ---\n{}",
            ran.run.name, ran.run.command, ran.output
        ));
    }
    ToolOutcome {
        ok: failed == 0,
        ..ToolOutcome::ok(text)
    }
}

fn counted(counts: CheckCounts) -> String {
    format!(
        ", {} passed, {} failed, {} skipped",
        counts.passed, counts.failed, counts.skipped
    )
}
