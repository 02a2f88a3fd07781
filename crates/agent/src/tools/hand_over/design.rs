//! What the Artist hands over: a design before the plan, and before the review what the
//! pictures show. Nobody else's word is taken for either.

use butler_policy::{Right, Scope, right};
use butler_protocol::{Design, Finding, HandOver, Role, Severity, ToolOutcome};

use super::Input;
use crate::{ThreadContext, decide::review, tools::refuse};

/// Whoever keeps designs is the one who makes them.
pub(super) fn designs(role: Role) -> bool {
    right(role, "Write") == Right::Scoped(Scope::Artist)
}

/// The design, whole.
pub(super) fn design(context: &ThreadContext, input: &Input) -> Result<HandOver, ToolOutcome> {
    if !designs(context.role()) {
        return refuse("refused: only the Artist hands over a design");
    }
    let list = |items: &[String]| {
        let items = items.iter().map(|item| item.trim().to_owned());
        items.filter(|item| !item.is_empty()).collect()
    };
    let text = |text: &str| text.trim().to_owned();
    let design = Design {
        purpose: text(&input.text),
        layout: text(&input.layout),
        interaction: text(&input.interaction),
        states: text(&input.states),
        responsive: text(&input.responsive),
        accessibility: text(&input.accessibility),
        assets: list(&input.assets),
        reuse: list(&input.reuse),
    };
    let lacks = design
        .texts()
        .into_iter()
        .filter(|(_, text)| text.is_empty());
    let lacks: Vec<String> = lacks
        .map(|(name, _)| format!("`{}` is missing", name.to_lowercase()))
        .collect();
    if !lacks.is_empty() {
        return refuse(format!(
            "refused: whatever a design leaves open, the Coder decides: {}; where nothing changes, say so in a word",
            lacks.join(", ")
        ));
    }
    Ok(HandOver::Design(Box::new(design)))
}

/// What the pictures show: back to the Coder, or on to the Reviewer with everything that
/// was handed over.
pub(super) fn look(context: &ThreadContext, input: &Input) -> Result<HandOver, ToolOutcome> {
    let facts = context.facts();
    let Some(mut body) = facts.surface.to_look.clone() else {
        return refuse("refused: nothing waits for a look at its pictures");
    };
    let HandOver::ReadyForReview {
        summary, pr, look, ..
    } = &mut *body
    else {
        return refuse("refused: what was handed over is no change");
    };
    let Some(approved) = input.approved else {
        return refuse(
            "`approved` is missing: true when it may go to the review as it looks, else false",
        );
    };
    let mut findings: Vec<Finding> = input.findings.iter().map(Finding::from).collect();
    let open = findings.iter().any(|one| one.severity >= Severity::Medium);
    match (approved, findings.is_empty()) {
        (true, _) if open => {
            refuse("refused: nothing above `low` may be open when it goes to the review")
        }
        (false, true) => {
            refuse("`findings` is missing: say what has to change, one each, or approve")
        }
        (false, false) => {
            number(&mut findings, &facts.surface.findings);
            Ok(HandOver::Look {
                summary: input.text.clone(),
                findings,
                pr: *pr,
            })
        }
        (true, _) => {
            summary.push_str(&format!(
                "\n\nThe Artist looked at it: {}",
                input.text.trim()
            ));
            for finding in &findings {
                summary.push_str(&format!("\n- {}: {}", finding.place, finding.evidence));
            }
            *look = false;
            Ok(*body)
        }
    }
}

/// Counted like the Reviewer's, under a letter of their own: both stand in one thread.
fn number(findings: &mut [Finding], known: &[Finding]) {
    let lettered = |finding: &Finding, from: char, to: &str| Finding {
        id: finding.id.replacen(from, to, 1),
        ..finding.clone()
    };
    let known: Vec<Finding> = known.iter().map(|one| lettered(one, 'A', "F")).collect();
    for finding in findings.iter_mut() {
        *finding = lettered(finding, 'A', "F");
    }
    review::number(findings, &known);
    for finding in findings.iter_mut() {
        *finding = lettered(finding, 'F', "A");
    }
}
