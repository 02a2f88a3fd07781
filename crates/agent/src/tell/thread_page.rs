//! The page of a thread for people who read the repository: what was asked, the
//! plan, who decided what, what the review found, where the result departs from
//! the plan, the bill. Committed with the pull request where the config wants it.

use std::{fmt::Write, path::Path};

use butler_journal::read;
use butler_protocol::{
    DecisionKind, Entry, Finding, HandOver, Plan, Record, RequestId, Role, ThreadId,
};

use crate::{
    listen::work_key::WorkKey,
    tell::{bill::Bill, render},
    thread::facts::Facts,
};

/// The page, from the logs of all roles and what the merge card showed.
pub fn of_thread(
    threads: &Path,
    thread: &ThreadId,
    evidence: &[String],
    files: &[String],
) -> String {
    let mut logs = Vec::new();
    for role in Role::ALL {
        for work_key in WorkKey::known(threads, role).unwrap_or_default() {
            if work_key.thread == *thread
                && let Ok(log) = read(&work_key.log(threads, role))
            {
                logs.push((role, log.entries));
            }
        }
    }
    write(&logs, evidence, files)
}

fn write(logs: &[(Role, Vec<Entry>)], evidence: &[String], files: &[String]) -> String {
    let facts: Vec<Facts> = logs.iter().map(|(_, log)| Facts::of(log)).collect();
    let plan = facts.iter().find_map(|facts| facts.task.clone());
    let plan = plan.map(|(_, plan)| plan);
    let title = plan.as_ref().map_or("A thread", |plan| plan.title.as_str());
    let mut text = format!("# {title}\n");
    if let Some(asked) = facts.iter().find_map(|facts| facts.request.as_ref()) {
        let _ = write!(
            text,
            "\n## Asked\n\n{} wrote:\n\n{}\n",
            asked.name,
            render::quote(&asked.words)
        );
    }
    if let Some(plan) = &plan {
        let _ = write!(text, "\n## Plan\n\n{}\n", render::plan(plan));
    }
    section(&mut text, "Decisions", &decisions(logs));
    section(&mut text, "Findings", &findings(logs));
    section(
        &mut text,
        "Deviations",
        &deviations(plan.as_ref(), evidence, files),
    );
    text.push_str("\n## What it cost\n\n");
    let mut bill = Bill::default();
    for (role, log) in logs {
        bill.add(*role, log);
    }
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
fn decisions(logs: &[(Role, Vec<Entry>)]) -> Vec<String> {
    let mut found: Vec<(i64, String)> = Vec::new();
    for (_, log) in logs {
        let kind = |request: &RequestId| {
            log.iter().find_map(|entry| match &entry.record {
                Record::DecisionAsked {
                    request: asked,
                    kind,
                    ..
                } if asked == request => Some(*kind),
                _ => None,
            })
        };
        for entry in log {
            if let Record::DecisionUsed {
                request, choice, ..
            } = &entry.record
            {
                let what = kind(request).map_or("a card", noun);
                found.push((entry.at_ms, format!("{what}: {}", choice.label())));
            }
        }
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
        DecisionKind::Cap => "the budget",
    }
}

/// What the review found over all rounds, each as it was last said.
fn findings(logs: &[(Role, Vec<Entry>)]) -> Vec<String> {
    let mut last: Vec<Finding> = Vec::new();
    for (_, log) in logs {
        for entry in log {
            let Record::Received { hand_over, .. } = &entry.record else {
                continue;
            };
            if let HandOver::Verdict { verdict, .. } = &**hand_over {
                for finding in &verdict.findings {
                    last.retain(|known| known.id != finding.id);
                    last.push(finding.clone());
                }
            }
        }
    }
    last.sort_by(|one, other| one.id.cmp(&other.id));
    last.iter().map(render::finding).collect()
}

/// What the runtime warned of, and files that the plan did not name.
fn deviations(plan: Option<&Plan>, evidence: &[String], files: &[String]) -> Vec<String> {
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
