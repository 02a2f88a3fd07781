//! Plans, verdicts and retrospectives as cards.

pub(crate) mod form;

use butler_protocol::{
    Design, Finding, Plan, PlannedTest, Retrospective, ReviewPlan, Risk, Severity, Verdict,
};
use maud::{Markup, html};

use crate::page::render::{Names, blocks};

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
            @if let Some(design) = &plan.design { (self::design(design)) }
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
            (found(&verdict.findings))
            (matrix(&verdict.risks))
            (points("Invariants", &verdict.invariants))
            (tests(&verdict.tests))
        }
    }
}

fn found(findings: &[Finding]) -> Markup {
    html! {
        @if !findings.is_empty() {
            ul { @for finding in findings {
                li { strong { (finding.id) } " " span.soft { (severity(finding.severity)) } " " code { (finding.place) }
                    " " (finding.evidence) " → " (finding.fix) }
            } }
        }
    }
}

/// What the Artist saw in the pictures.
pub(crate) fn look(summary: &str, findings: &[Finding]) -> Markup {
    html! {
        section.sheet {
            div { (blocks::markdown(summary, &Names::default())) }
            (found(findings))
        }
    }
}

/// How it looks and behaves.
pub(crate) fn design(design: &Design) -> Markup {
    html! {
        section.sheet {
            @for (name, text) in design.texts() {
                @if !text.trim().is_empty() {
                    p { strong { (name) } }
                    div { (blocks::markdown(text, &Names::default())) }
                }
            }
            @for (name, items) in design.lists() { (points(name, items)) }
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
