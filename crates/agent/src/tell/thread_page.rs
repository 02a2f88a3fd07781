//! The page of a thread for people who read the repository: what was asked, the
//! plan, who decided what, what the review found, where the result departs from
//! the plan, the bill. Committed with the pull request where the config wants it.

use std::fmt::Write;

use butler_protocol::{DecisionKind, Finding, Plan};

use crate::tell::{bill::Bill, render, thread_logs::RoleLog};

/// The page, from the logs of all roles and what the merge card showed.
pub(crate) fn write(logs: &[RoleLog], evidence: &[String], files: &[String]) -> String {
    let plan = logs.iter().find_map(|log| log.fold.plan());
    let plan = plan.map(|(_, plan)| plan);
    let title = plan.map_or("A thread", |plan| plan.title.as_str());
    let mut text = format!("# {title}\n");
    if let Some(asked) = logs.iter().find_map(|log| log.fold.request.as_ref()) {
        let _ = write!(
            text,
            "\n## Asked\n\n{} wrote:\n\n{}\n",
            asked.name,
            render::quote(&asked.words)
        );
    }
    if let Some(plan) = plan {
        let _ = write!(text, "\n## Plan\n\n{}\n", render::plan(plan));
    }
    section(&mut text, "Decisions", &decisions(logs));
    section(&mut text, "Findings", &findings(logs));
    section(&mut text, "Deviations", &deviations(plan, evidence, files));
    text.push_str("\n## What it cost\n\n");
    let bill = Bill::of(logs);
    for line in bill.lines() {
        let _ = writeln!(text, "- {line}");
    }
    let _ = writeln!(text, "- Total {}", bill.total());
    text
}

fn section(text: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(text, "\n## {title}\n\n");
    for line in lines {
        let _ = writeln!(text, "- {line}");
    }
}

/// Every card that a person decided, in the order of time.
pub(crate) fn decisions(logs: &[RoleLog]) -> Vec<String> {
    let mut found: Vec<(i64, String)> = Vec::new();
    for log in logs {
        let cards = &log.fold.cards;
        found.extend(cards.choices.iter().map(|(at, request, choice)| {
            let asked = cards.asked.get(request);
            let what = asked.map_or("a card", |asked| noun(asked.kind()));
            (*at, format!("{what}: {}", choice.label()))
        }));
    }
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, line)| line).collect()
}

const fn noun(kind: DecisionKind) -> &'static str {
    match kind {
        DecisionKind::Plan => "the plan",
        DecisionKind::Command => "a command",
        DecisionKind::Learning => "a learning",
        DecisionKind::Merge => "the merge",
        DecisionKind::Roadmap => "the roadmap",
        DecisionKind::Develop => "the run over the roadmap",
        DecisionKind::Maps => "the project maps",
        DecisionKind::Picture => "a picture",
        DecisionKind::Cap => "the budget",
    }
}

/// What the review found over all rounds, each as it was last said.
fn findings(logs: &[RoleLog]) -> Vec<String> {
    let found = logs.iter().flat_map(|log| &log.fold.review.findings);
    let mut found: Vec<&Finding> = found.collect();
    found.sort_by(|one, other| one.id.cmp(&other.id));
    found.into_iter().map(render::finding).collect()
}

/// What the runtime warned of, and files that the plan did not name.
pub(crate) fn deviations(
    plan: Option<&Plan>,
    evidence: &[String],
    files: &[String],
) -> Vec<String> {
    let warned = evidence.iter().filter_map(|line| line.strip_prefix("⚠ "));
    let mut lines: Vec<String> = warned.map(str::to_owned).collect();
    let planned = plan.map_or(&[][..], |plan| plan.files.as_slice());
    if !planned.is_empty() {
        let more = files.iter().filter(|file| !planned.contains(file));
        lines.extend(more.map(|file| format!("`{file}` was changed and is not in the plan")));
        let less = planned.iter().filter(|file| !files.contains(file));
        lines.extend(less.map(|file| format!("`{file}` is in the plan and was not changed")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use butler_protocol::Complexity;

    use super::*;

    #[test]
    fn deviations_are_what_was_warned_of_and_what_the_plan_did_not_say() {
        let plan = Plan {
            title: "t".into(),
            summary: "s".into(),
            steps: vec![],
            criteria: vec![],
            files: vec!["a".into(), "b".into()],
            rejected: vec![],
            complexity: Complexity::Simple,
            estimate: None,
            cap: None,
            model: None,
            design: None,
        };
        let evidence = ["⚠ Checks: **unverified**".to_owned(), "fine".to_owned()];
        let lines = deviations(Some(&plan), &evidence, &["b".into(), "c".into()]);
        assert_eq!(
            lines,
            [
                "Checks: **unverified**",
                "`c` was changed and is not in the plan",
                "`a` is in the plan and was not changed"
            ]
        );
    }
}
