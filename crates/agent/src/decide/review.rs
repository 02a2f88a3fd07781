//! The form of a review. Before anything is judged stands what must always
//! hold, where the risk lies and which tests the change needs; missing tests are
//! asked for before the logic is discussed; a finding keeps its number over the
//! rounds, so that one that was settled does not come back under another name.

use butler_protocol::{Finding, FindingKind, Severity, TestLevel};
use butler_turn::Form;

/// Where a test is that there is not.
pub(crate) const NO_PLACE: &str = "missing";

/// The rows of the risk matrix.
const AREAS: [&str; 4] = ["security", "performance", "compatibility", "correctness"];

/// How much of the form a change asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Everything, before the verdict.
    TwoPasses,
    /// A simple plan or documentation only: one line of each, with the verdict.
    OnePass,
    /// A small model reviews: what it found, and nothing to fill in.
    FindingsOnly,
}

/// What a review asks of the form.
pub(crate) trait FormChecks {
    /// All that this depth asks for and that is not there.
    fn problems(&self, depth: Depth) -> Vec<String>;

    /// Whether a test is missing.
    fn lacks_tests(&self) -> bool;

    /// The missing tests as findings, without numbers yet.
    fn missing(&self) -> Vec<Finding>;
}

impl FormChecks for Form {
    fn problems(&self, depth: Depth) -> Vec<String> {
        let mut problems = Vec::new();
        if depth == Depth::FindingsOnly {
            return problems;
        }
        if self.invariants.is_empty() {
            problems.push(
                "`invariants` is missing: what must always hold, as in \"list without the flag prints what it printed before\"".to_owned(),
            );
        }
        let named = |area: &str| self.risks.iter().any(|risk| risk.area == area);
        let areas: Vec<&str> = AREAS.into_iter().filter(|area| !named(area)).collect();
        if self.risks.is_empty() || (depth == Depth::TwoPasses && !areas.is_empty()) {
            problems.push(format!(
                "`risks` lacks {}: one each, as in {{\"area\": \"security\", \"severity\": \"low\", \"note\": \"no input reaches a shell\"}}",
                areas.join(", ")
            ));
        }
        let planned = |level: TestLevel| self.tests.iter().any(|test| test.level == level);
        let levels = TestLevel::ALL.into_iter().filter(|level| !planned(*level));
        let levels: Vec<&str> = levels.map(TestLevel::as_str).collect();
        if self.tests.is_empty() || (depth == Depth::TwoPasses && !levels.is_empty()) {
            problems.push(format!(
                "`tests` lacks {}: one each, as in {{\"level\": \"unit\", \"what\": \"the empty list\", \"place\": \"tests/run.sh:20\"}}; the place may be `missing`, or say why none is needed",
                levels.join(", ")
            ));
        }
        problems
    }

    fn lacks_tests(&self) -> bool {
        self.tests.iter().any(|test| test.place.is_none())
    }

    fn missing(&self) -> Vec<Finding> {
        let missing = self.tests.iter().filter(|test| test.place.is_none());
        missing
            .map(|test| Finding {
                id: String::new(),
                kind: FindingKind::Test,
                severity: Severity::High,
                place: NO_PLACE.to_owned(),
                evidence: format!("no {} test: {}", test.level.as_str(), test.what),
                fix: "add it".to_owned(),
            })
            .collect()
    }
}

/// Numbers that no earlier finding has, each as a problem.
pub(crate) fn unknown(numbers: &[&str], known: &[Finding]) -> Vec<String> {
    let strange = |number: &&&str| !known.iter().any(|finding| finding.id == **number);
    let strange = numbers.iter().filter(strange);
    strange
        .map(|number| {
            format!("there is no finding {number}; new findings are written without a number")
        })
        .collect()
}

/// How much a finding must matter to be opened in this round where nothing changed
/// since the one before: who looks again and again always finds something.
fn floor(round: u32) -> Severity {
    match round {
        0 | 1 => Severity::Low,
        2 => Severity::Medium,
        _ => Severity::High,
    }
}

/// Lines around a change that count as part of it.
const NEAR: u64 = 3;

/// New findings that come too late for how little they matter, each as a problem.
/// `changed` is what the branch changed since the last round: path, first line and
/// the line after the last.
pub(crate) fn too_late(
    findings: &[Finding],
    known: &[Finding],
    round: u32,
    changed: &[(String, u64, u64)],
) -> Vec<String> {
    let floor = floor(round);
    let new = |finding: &&Finding| {
        let same = |one: &Finding| one.place == finding.place && one.evidence == finding.evidence;
        finding.id.is_empty() && !known.iter().any(same)
    };
    let late = findings.iter().filter(new).filter(|finding| {
        let (path, line) = place_of(&finding.place);
        let touched = changed.iter().any(|(file, from, to)| {
            file == path
                && line.is_none_or(|line| line + NEAR >= *from && line <= to.saturating_add(NEAR))
        });
        finding.severity < floor && !touched
    });
    late.map(|finding| {
        format!(
            "“{}” ({}) is new, and {} did not change since round {}: from round {round} on only `{}` may be opened there; leave it out, or name it in the text",
            finding.evidence,
            format!("{:?}", finding.severity).to_lowercase(),
            finding.place,
            round - 1,
            if floor == Severity::High { "high" } else { "medium` and `high" },
        )
    })
    .collect()
}

/// `path:line` or `path:from-to`, as far as it is one.
fn place_of(place: &str) -> (&str, Option<u64>) {
    let Some((path, line)) = place.rsplit_once(':') else {
        return (place, None);
    };
    let line = line
        .split('-')
        .next()
        .and_then(|line| line.trim().parse().ok());
    match line {
        Some(line) => (path, Some(line)),
        None => (place, None),
    }
}

/// Gives those without a number theirs. One that says of the same place what was
/// said before keeps its number; new ones go on counting.
pub(crate) fn number(findings: &mut [Finding], known: &[Finding]) {
    let counted = |finding: &Finding| finding.id.strip_prefix('F')?.parse::<u32>().ok();
    let mut last = known.iter().filter_map(counted).max().unwrap_or(0);
    for finding in findings.iter_mut().filter(|one| one.id.is_empty()) {
        let same = |one: &&Finding| one.place == finding.place && one.evidence == finding.evidence;
        finding.id = match known.iter().find(same) {
            Some(before) => before.id.clone(),
            None => {
                last += 1;
                format!("F{last}")
            }
        };
    }
}

/// Whether a verdict agrees with what it says.
///
/// # Errors
/// Says what speaks against it.
pub(crate) fn agrees(approved: bool, form: &Form, findings: &[Finding]) -> Result<(), String> {
    let logic = findings
        .iter()
        .find(|finding| finding.kind != FindingKind::Test);
    if let (true, Some(logic)) = (form.lacks_tests(), logic) {
        return Err(format!(
            "refused: tests are missing, so they are asked for first; keep “{}” for the round after them",
            logic.evidence
        ));
    }
    let open = findings
        .iter()
        .find(|finding| finding.severity >= Severity::Medium);
    match (approved, form.lacks_tests(), open) {
        (true, true, _) => Err(
            "refused: a test that the change needs is missing, so it is not approved; say where it is, or why none is needed".to_owned(),
        ),
        (true, false, Some(open)) => Err(format!(
            "refused: “{}” is open, and nothing above `low` may be; ask for changes, or say why it is low",
            open.evidence
        )),
        (false, false, None) if findings.is_empty() => Err(
            "`findings` is missing: say what has to change, one line each, or approve".to_owned(),
        ),
        _ => Ok(()),
    }
}

/// Whether only texts changed; nothing runs them.
pub(crate) fn only_texts(files: &[String]) -> bool {
    const TEXTS: [&str; 5] = ["md", "txt", "rst", "adoc", "org"];
    let text = |file: &String| {
        let extension = file.rsplit_once('.').map(|(_, extension)| extension);
        extension.is_some_and(|extension| TEXTS.contains(&extension.to_lowercase().as_str()))
    };
    !files.is_empty() && files.iter().all(text)
}

#[cfg(test)]
#[path = "review_tests.rs"]
mod tests;
