//! Who does what in a thread, for people: no model is asked.

use butler_protocol::{DecisionKind, RequestId, Role, Waiting};
use butler_turn::Doing;

use crate::tell::thread_logs::RoleLog;

/// Cards of the thread that nobody has decided yet, as far as the logs know.
pub(crate) fn open_cards(logs: &[RoleLog]) -> Vec<(Role, RequestId, DecisionKind)> {
    let mut open: Vec<_> = logs
        .iter()
        .flat_map(|log| {
            let open = log.fold.cards.open();
            open.map(|(request, asked)| (log.role, request.clone(), asked.kind()))
        })
        .collect();
    open.sort_by(|one, other| one.1.cmp(&other.1));
    open
}

/// What people read.
pub(crate) fn render(logs: &[RoleLog]) -> String {
    let mut lines: Vec<String> = logs.iter().filter_map(line).collect();
    if lines.is_empty() {
        return "Nobody is at work in this thread.".to_owned();
    }
    let cards = open_cards(logs);
    if !cards.is_empty() {
        lines.push(format!("\n{}", which(&cards)));
    }
    lines.join("\n")
}

/// What one role does; nothing when it has never been at work here.
fn line(log: &RoleLog) -> Option<String> {
    let what = match log.fold.doing.as_ref()? {
        Doing::Nothing => "done for now".to_owned(),
        Doing::Stopped => "stopped; goes on when you say so".to_owned(),
        Doing::Working(turn) => format!("at work, turn {turn}"),
        Doing::Waiting(Waiting::Person) => "waits for an answer of yours".to_owned(),
        Doing::Waiting(Waiting::Reply { .. }) => "waits for a colleague".to_owned(),
        Doing::Waiting(Waiting::Replies { from, .. }) => {
            let titles: Vec<&str> = from.iter().map(|role| role.title()).collect();
            format!("waits for {}", titles.join(" and "))
        }
        Doing::Waiting(Waiting::Worktree) => "waits for the worktree".to_owned(),
        Doing::Waiting(Waiting::Decision { request }) => {
            format!("waits for your decision ({request})")
        }
    };
    Some(format!("- {}: {what}", log.role.title()))
}

/// The open cards, when a word could mean more than one of them.
pub(crate) fn which(cards: &[(Role, RequestId, DecisionKind)]) -> String {
    let names: Vec<String> = cards
        .iter()
        .map(|(_, request, kind)| format!("{} ({request})", noun(*kind)))
        .collect();
    format!(
        "Open for you: {}. Press the button on the one you mean.",
        names.join(", ")
    )
}

const fn noun(kind: DecisionKind) -> &'static str {
    match kind {
        DecisionKind::Plan => "a plan",
        DecisionKind::Command => "a command",
        DecisionKind::Learning => "a learning",
        DecisionKind::Merge => "a merge",
        DecisionKind::Roadmap => "a change of the roadmap",
        DecisionKind::Develop => "the start of a run",
        DecisionKind::Maps => "the project maps",
        DecisionKind::Picture => "a picture",
        DecisionKind::Cap => "the budget",
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::{Entry, Record};

    use super::*;

    #[test]
    fn who_took_part_is_named_with_what_it_does() {
        let entry = |record| Entry {
            seq: 1,
            epoch: 1,
            at_ms: 0,
            record,
        };
        let started = entry(Record::ActivationStarted { activation: 1 });
        let parked = entry(Record::Parked {
            waiting: Waiting::Person,
        });
        let coder = RoleLog::new(Role::Coder, vec![started, parked]);
        let lead = RoleLog::new(Role::Lead, vec![]);
        assert_eq!(
            render(&[coder, lead]),
            "- Coder: waits for an answer of yours"
        );
        assert!(render(&[]).contains("Nobody"));
    }
}
