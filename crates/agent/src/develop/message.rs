//! What people see of a run: one message, edited as things move, and one that asks for
//! everything that waits for them. Pure.

use std::collections::BTreeMap;

use butler_protocol::{DecisionKind, ItemReport, ItemState, RunState, RunView};

use crate::tell::render;

/// What the key of a run's message ends with.
pub(crate) const KEY: &str = "-board";
/// The most of a line that is shown.
const LINE: usize = 220;

/// The message of a run. `reports` has a word for every item.
pub(crate) fn board(view: &RunView, reports: &BTreeMap<u32, ItemReport>, order: &[u32]) -> String {
    let items = &view.subject.items;
    let done = items
        .iter()
        .filter(|item| state(reports, item.number) == ItemState::Merged)
        .count();
    let how = match view.state {
        RunState::Running => "running",
        RunState::Paused => "paused, `resume` goes on",
        RunState::Stopped => "stopped",
        RunState::Done => "ended",
    };
    let mut text = format!(
        "**{done} of {} items done** · {} of {} spent or set aside · {how}",
        items.len(),
        view.spent,
        view.subject.budget
    );
    for item in items {
        let report = reports.get(&item.number);
        let begun = view.items.iter().find(|one| one.number == item.number);
        let mark = match state(reports, item.number) {
            ItemState::Waiting => "☐",
            ItemState::Working => "▶",
            ItemState::Asks => "❓",
            ItemState::Blocked => "⛔",
            ItemState::Merged => "☑",
            ItemState::GivenUp => "✕",
        };
        let mut line = format!("{mark} {}. {}", item.number, item.title);
        if let Some(begun) = begun {
            line.push_str(&format!(" · thread `{}`", begun.thread.short()));
        }
        if let Some((pull, _)) = begun.and_then(|begun| begun.pull.as_ref()) {
            line.push_str(&format!(" · {pull}"));
        }
        if let Some(report) = report.filter(|report| !report.why.is_empty()) {
            line.push_str(&format!(" · {}", report.why));
        }
        text.push_str(&format!("\n{}", render::cut(&line, LINE)));
    }
    let theirs = |number: &&u32| state(reports, **number) == ItemState::Asks;
    let order: Vec<String> = order.iter().filter(theirs).map(u32::to_string).collect();
    if order.len() > 1 {
        text.push_str(&format!(
            "\nWaiting to be merged, best in this order, which makes the fewest conflicts: {}.",
            order.join(", ")
        ));
    }
    let learned: Vec<String> = view
        .items
        .iter()
        .filter(|item| item.open.contains(&DecisionKind::Learning))
        .map(|item| format!("`{}` (item {})", item.thread.short(), item.number))
        .collect();
    if !learned.is_empty() {
        text.push_str(&format!(
            "\nLearnings to accept or reject, which hold up nothing, are in the threads {}.",
            learned.join(", ")
        ));
    }
    text
}

/// What waits for people, all of it in one message.
pub(crate) fn needed(
    view: &RunView,
    asking: &[(u32, &ItemReport)],
    minutes: Option<u32>,
) -> String {
    let mut text = "These items need you:".to_owned();
    let title = |number: u32| {
        let mut items = view.subject.items.iter();
        let item = items.find(|item| item.number == number);
        item.map_or("", |item| item.title.as_str())
    };
    let mut questions = false;
    for (number, report) in asking {
        let begun = view.items.iter().find(|item| item.number == *number);
        let thread = begun.map_or_else(String::new, |item| {
            format!(" (thread `{}`)", item.thread.short())
        });
        let word = match report.state {
            ItemState::Asks => "asks",
            _ => "blocked",
        };
        let line = format!(
            "{number}. {}{thread}, {word}: {}",
            title(*number),
            report.why
        );
        text.push_str(&format!("\n- {line}"));
        questions |= report.state == ItemState::Asks;
    }
    text.push_str("\n\nAnswer here with the number, as in `3: your words`, or in the thread.");
    if let Some(minutes) = minutes.filter(|_| questions) {
        text.push_str(&format!(
            " A question that nobody answers in {minutes} min goes on with what it suggests."
        ));
    }
    text.push_str(" The other items go on meanwhile.");
    text
}

/// What is said when a run has ended.
pub(crate) fn ended(view: &RunView, reports: &BTreeMap<u32, ItemReport>) -> String {
    let count = |wanted: ItemState| {
        let items = view.subject.items.iter();
        items
            .filter(|item| state(reports, item.number) == wanted)
            .count()
    };
    let (done, all) = (count(ItemState::Merged), view.subject.items.len());
    let mut text = if done == all {
        format!("The run has ended: all {all} items are done.")
    } else {
        format!("The run has ended: {done} of {all} items are done.")
    };
    for item in &view.subject.items {
        let report = reports.get(&item.number);
        if let Some(report) = report.filter(|report| report.state != ItemState::Merged) {
            text.push_str(&format!(
                "\n- not done: {}. {}: {}",
                item.number,
                item.title,
                if report.why.is_empty() {
                    "closed without a merge"
                } else {
                    &report.why
                }
            ));
        }
    }
    text
}

fn state(reports: &BTreeMap<u32, ItemReport>, number: u32) -> ItemState {
    reports
        .get(&number)
        .map_or(ItemState::Waiting, |report| report.state)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn people_see_what_is_done_what_is_not_and_why() {
        let item = |number: u32, title: &str| {
            json!({"number": number, "title": title,
            "depends_on": [], "criteria": [], "sha256": "00", "cap": 1_000_000_000})
        };
        let view: RunView = serde_json::from_value(json!({
            "request": "abcdef", "thread": {"channel": "C1", "root": "1700000000.000100"},
            "person": "U1", "mode": "merging", "state": "running", "spent": 180_000_000,
            "subject": {"items": [item(1, "Auth"), item(2, "Search"), item(3, "Mail")],
                "at_once": 2, "budget": 3_000_000_000_i64},
            "items": [{"number": 1, "thread": {"channel": "C1", "root": "1700000001.000100"},
                "spent": 1, "pull": [7, "merged"], "open": ["learning"], "stopped": false,
                "spoken": false, "report": null}],
        }))
        .unwrap();
        let report = |state, why: &str| ItemReport {
            state,
            why: why.to_owned(),
        };
        let reports = BTreeMap::from([
            (1, report(ItemState::Merged, "")),
            (2, report(ItemState::Blocked, "the checks stay red")),
            (3, report(ItemState::Waiting, "waits for 2 (blocked)")),
        ]);
        let text = board(&view, &reports, &[]);
        let first = view.items[0].thread.short();
        let expected = format!(
            "**1 of 3 items done** · $0.18 of $3.00 spent or set aside · running\n\
             ☑ 1. Auth · thread `{first}` · #7\n⛔ 2. Search · the checks stay red\n\
             ☐ 3. Mail · waits for 2 (blocked)\n\
             Learnings to accept or reject, which hold up nothing, are in the threads `{first}` (item 1)."
        );
        assert_eq!(text, expected);
        let both = BTreeMap::from([
            (1, report(ItemState::Asks, "")),
            (3, report(ItemState::Asks, "")),
        ]);
        let text = board(&view, &both, &[3, 2, 1]);
        assert!(text.contains("fewest conflicts: 3, 1."), "{text}");
        let asked = needed(&view, &[(2, &reports[&2])], Some(5));
        assert!(
            asked.contains("2. Search, blocked: the checks stay red"),
            "{asked}"
        );
        assert!(!asked.contains("5 min"), "{asked}");
        let over = ended(&view, &reports);
        assert!(
            over.contains("1 of 3") && over.contains("3. Mail: waits for 2"),
            "{over}"
        );
    }
}
