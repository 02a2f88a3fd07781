//! Plans, verdicts and retrospectives as cards.

use butler_protocol::{Plan, PlannedTest, Retrospective, ReviewPlan, Risk, Severity, Verdict};
use maud::{Markup, html};

use crate::page::render::{blocks, text::Names};

/// A plan with its steps, criteria, files and price.
pub(crate) fn card(plan: &Plan) -> Markup {
    html! {
        section.sheet {
            h3 { (plan.title) }
            div { (blocks::markdown(&plan.summary, &Names::default())) }
            ol { @for step in &plan.steps { li { (step.text) @if let Some(place) = &step.place { " " code { (place) } } } } }
            (points("Done when", &plan.criteria))
            (points("Rejected", &plan.rejected))
            p.soft {
                @for file in &plan.files { code { (file) } " " }
                @if let Some((low, high)) = &plan.estimate { "estimate " (low.to(*high)) " " }
                @if let Some(cap) = &plan.cap { "at most " (cap) }
            }
        }
    }
}

/// What the Reviewer found.
pub(crate) fn verdict(verdict: &Verdict) -> Markup {
    html! {
        section.sheet {
            p {
                span.outcome.(if verdict.approved { "ok" } else { "failed" }) {
                    (if verdict.approved { "approved" } else { "changes asked for" })
                }
                " round " (verdict.round)
            }
            div { (blocks::markdown(&verdict.summary, &Names::default())) }
            @if !verdict.findings.is_empty() {
                ul { @for finding in &verdict.findings {
                    li { strong { (finding.id) } " " span.soft { (severity(finding.severity)) } " " code { (finding.place) }
                        " " (finding.evidence) " → " (finding.fix) }
                } }
            }
            (matrix(&verdict.risks))
            (points("Invariants", &verdict.invariants))
            (tests(&verdict.tests))
        }
    }
}

/// What the Reviewer judges by.
pub(crate) fn review(review: &ReviewPlan) -> Markup {
    html! {
        section.sheet {
            p { "round " (review.round) }
            div { (blocks::markdown(&review.summary, &Names::default())) }
            (points("Invariants", &review.invariants))
            (matrix(&review.risks))
            (tests(&review.tests))
        }
    }
}

fn matrix(risks: &[Risk]) -> Markup {
    html! {
        @if !risks.is_empty() {
            ul { @for risk in risks {
                li { (risk.area) " " span.soft { (severity(risk.severity)) } ": " (risk.note) }
            } }
        }
    }
}

fn tests(tests: &[PlannedTest]) -> Markup {
    html! {
        @if !tests.is_empty() {
            p { strong { "Tests" } }
            ul { @for test in tests {
                li { (test.level.as_str()) ": " (test.what) " "
                    @match &test.place {
                        Some(place) => code { (place) },
                        None => span.outcome.failed { "missing" },
                    }
                }
            } }
        }
    }
}

/// What the Lead saw looking back.
pub(crate) fn look_back(look_back: &Retrospective) -> Markup {
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
