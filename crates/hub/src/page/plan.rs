//! Plans, verdicts and retrospectives as cards.

use butler_vocab::{Plan, Retrospective, Severity, Verdict};
use maud::{Markup, html};

use super::blocks;

/// A plan with its steps, criteria, files and price.
pub(super) fn card(plan: &Plan) -> Markup {
    html! {
        section.sheet {
            h3 { (plan.title) }
            div { (blocks::markdown(&plan.summary)) }
            ol { @for step in &plan.steps { li { (step.text) @if let Some(place) = &step.place { " " code { (place) } } } } }
            (points("Done when", &plan.criteria))
            (points("Rejected", &plan.rejected))
            p.soft {
                @for file in &plan.files { code { (file) } " " }
                @if let Some((low, high)) = &plan.estimate { "estimate " (low) " to " (high) }
            }
        }
    }
}

/// What the Reviewer found.
pub(super) fn verdict(verdict: &Verdict) -> Markup {
    html! {
        section.sheet {
            p {
                span.outcome.(if verdict.approved { "ok" } else { "failed" }) {
                    (if verdict.approved { "approved" } else { "changes asked for" })
                }
                " round " (verdict.round)
            }
            div { (blocks::markdown(&verdict.summary)) }
            @if !verdict.findings.is_empty() {
                ul { @for finding in &verdict.findings {
                    li { strong { (finding.id) } " " span.soft { (severity(finding.severity)) } " " code { (finding.place) }
                        " " (finding.evidence) " → " (finding.fix) }
                } }
            }
            @if !verdict.risks.is_empty() {
                ul { @for risk in &verdict.risks {
                    li { (risk.area) " " span.soft { (severity(risk.severity)) } ": " (risk.note) }
                } }
            }
            (points("Invariants", &verdict.invariants))
        }
    }
}

/// What the Lead saw looking back.
pub(super) fn look_back(look_back: &Retrospective) -> Markup {
    html! {
        section.sheet {
            (points("What went well", &look_back.well))
            (points("Friction", &look_back.friction))
            @if let Some(process) = &look_back.process { p { strong { "Process: " } (process) } }
            @if let Some(prompt) = &look_back.prompt { p { strong { "Prompt: " } (prompt) } }
        }
    }
}

fn points(title: &str, all: &[String]) -> Markup {
    html! {
        @if !all.is_empty() {
            p { strong { (title) } }
            ul { @for one in all { li { (one) } } }
        }
    }
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
    }
}
