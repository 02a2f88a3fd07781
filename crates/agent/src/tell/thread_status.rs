//! Who does what in a thread, read from the logs of all roles on this machine.
//! For people: no model is asked.

use std::path::Path;

use butler_journal::read;
use butler_protocol::{DecisionKind, Ending, Entry, Record, RequestId, Role, ThreadId, Waiting};

use crate::{listen::work_key::WorkKey, thread::facts::Facts};

/// What one log says about now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// Between two activations.
    Nothing,
    /// A person stopped it.
    Stopped,
    /// In this turn.
    Working(u32),
    /// Asleep.
    Waiting(Waiting),
}

/// One role in one thread.
#[derive(Debug, Clone)]
pub struct ThreadStatus {
    /// Who.
    pub role: Role,
    /// What it does.
    pub doing: Doing,
    /// What it knows.
    pub facts: Facts,
}

/// Every role that has taken part, in the order of the team.
pub fn of_thread(threads: &Path, thread: &ThreadId) -> Vec<ThreadStatus> {
    let mut found = Vec::new();
    for role in Role::ALL {
        for work_key in WorkKey::of(threads, thread, role) {
            let Ok(log) = read(&work_key.log(threads, role)) else {
                continue;
            };
            if let Some(doing) = doing(&log.entries) {
                found.push(ThreadStatus {
                    role,
                    doing,
                    facts: Facts::of(&log.entries),
                });
            }
        }
    }
    found
}

/// Cards of the thread that nobody has decided yet, as far as the logs know.
pub fn open_cards(statuses: &[ThreadStatus]) -> Vec<(Role, RequestId, DecisionKind)> {
    let mut open: Vec<_> = statuses
        .iter()
        .flat_map(|status| {
            let open = status.facts.open_cards();
            open.map(|(request, asked)| (status.role, request.clone(), asked.kind))
        })
        .collect();
    open.sort_by(|one, other| one.1.cmp(&other.1));
    open
}

/// Nothing when the role has never been at work here.
fn doing(entries: &[Entry]) -> Option<Doing> {
    let mut now = None;
    for entry in entries {
        now = Some(match &entry.record {
            Record::ActivationStarted { .. } => Doing::Working(1),
            Record::ActivationEnded {
                ending: Ending::Stopped,
                ..
            } => Doing::Stopped,
            Record::ActivationEnded { .. } => Doing::Nothing,
            Record::Assistant { turn, .. } => Doing::Working(*turn),
            Record::Parked { waiting } => Doing::Waiting(waiting.clone()),
            Record::User { .. } if matches!(now, Some(Doing::Waiting(_))) => Doing::Working(1),
            _ => continue,
        });
    }
    now
}

/// What people read.
pub fn render(statuses: &[ThreadStatus]) -> String {
    if statuses.is_empty() {
        return "Nobody is at work in this thread.".to_owned();
    }
    let mut lines: Vec<String> = statuses
        .iter()
        .map(|status| {
            let what = match &status.doing {
                Doing::Nothing => "done for now".to_owned(),
                Doing::Stopped => "stopped; goes on when you say so".to_owned(),
                Doing::Working(turn) => format!("at work, turn {turn}"),
                Doing::Waiting(Waiting::Person) => "waits for an answer of yours".to_owned(),
                Doing::Waiting(Waiting::Reply { .. }) => "waits for a colleague".to_owned(),
                Doing::Waiting(Waiting::Worktree) => "waits for the worktree".to_owned(),
                Doing::Waiting(Waiting::Decision { request }) => {
                    format!("waits for your decision ({request})")
                }
            };
            format!("- {}: {what}", status.role.title())
        })
        .collect();
    let cards = open_cards(statuses);
    if !cards.is_empty() {
        lines.push(format!("\n{}", which(&cards)));
    }
    lines.join("\n")
}

/// The open cards, when a word could mean more than one of them.
pub fn which(cards: &[(Role, RequestId, DecisionKind)]) -> String {
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
        DecisionKind::Cap => "the budget",
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::EventId;

    use super::*;

    fn entry(record: Record) -> Entry {
        Entry {
            seq: 1,
            epoch: 1,
            at_ms: 0,
            record,
        }
    }

    #[test]
    fn the_last_lines_of_a_log_say_what_its_role_does() {
        let started = entry(Record::ActivationStarted { activation: 1 });
        let parked = entry(Record::Parked {
            waiting: Waiting::Person,
        });
        let stopped = entry(Record::Stopped {
            event: EventId::new("Ev1S7"),
            by: "ana".into(),
        });
        assert_eq!(doing(&[stopped]), None, "it never took part");
        let working = doing(std::slice::from_ref(&started));
        assert_eq!(working, Some(Doing::Working(1)));
        let ended = entry(Record::ActivationEnded {
            activation: 1,
            ending: Ending::Stopped,
        });
        assert_eq!(doing(&[started.clone(), ended]), Some(Doing::Stopped));
        let waits = doing(&[started, parked]).unwrap();
        assert_eq!(waits, Doing::Waiting(Waiting::Person));
        let status = ThreadStatus {
            role: Role::Coder,
            doing: waits,
            facts: Facts::default(),
        };
        assert_eq!(render(&[status]), "- Coder: waits for an answer of yours");
        assert!(render(&[]).contains("Nobody"));
    }
}
