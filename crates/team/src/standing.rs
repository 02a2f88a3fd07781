//! Who does what in a thread, read from the logs of all roles on this machine.
//! For people: no model is asked.

use std::path::Path;

use butler_journal::read;
use butler_vocab::{DecisionKind, Entry, Record, RequestId, Role, ThreadId, Waiting};

use crate::{facts::Facts, matter::Matter};

/// What one log says about now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// Between two activations.
    Nothing,
    /// In this turn.
    Working(u32),
    /// Asleep.
    Waiting(Waiting),
}

/// One role in one thread.
#[derive(Debug, Clone)]
pub struct Standing {
    /// Who.
    pub role: Role,
    /// What it does.
    pub doing: Doing,
    /// What it knows.
    pub facts: Facts,
}

/// Every role that has taken part, in the order of the team.
pub fn of_thread(threads: &Path, thread: &ThreadId) -> Vec<Standing> {
    let mut found = Vec::new();
    for role in Role::ALL {
        for matter in Matter::of(threads, thread, role) {
            if let Ok(log) = read(&matter.log(threads, role)) {
                found.push(Standing {
                    role,
                    doing: doing(&log.entries),
                    facts: Facts::of(&log.entries),
                });
            }
        }
    }
    found
}

/// Cards of the thread that nobody has decided yet, as far as the logs know.
pub fn open_cards(standings: &[Standing]) -> Vec<(Role, RequestId, DecisionKind)> {
    let mut open: Vec<_> = standings
        .iter()
        .flat_map(|standing| {
            let open = standing.facts.open_cards();
            open.map(|(request, asked)| (standing.role, request.clone(), asked.kind))
        })
        .collect();
    open.sort_by(|one, other| one.1.cmp(&other.1));
    open
}

fn doing(entries: &[Entry]) -> Doing {
    let mut now = Doing::Nothing;
    for entry in entries {
        match &entry.record {
            Record::ActivationStarted { .. } => now = Doing::Working(1),
            Record::ActivationEnded { .. } => now = Doing::Nothing,
            Record::Assistant { turn, .. } => now = Doing::Working(*turn),
            Record::Parked { waiting } => now = Doing::Waiting(waiting.clone()),
            Record::User { .. } if matches!(now, Doing::Waiting(_)) => now = Doing::Working(1),
            _ => {}
        }
    }
    now
}

/// What people read.
pub fn render(standings: &[Standing]) -> String {
    if standings.is_empty() {
        return "Nobody is at work in this thread.".to_owned();
    }
    let mut lines: Vec<String> = standings
        .iter()
        .map(|standing| {
            let what = match &standing.doing {
                Doing::Nothing => "done for now".to_owned(),
                Doing::Working(turn) => format!("at work, turn {turn}"),
                Doing::Waiting(Waiting::Person) => "waits for an answer of yours".to_owned(),
                Doing::Waiting(Waiting::Reply { .. }) => "waits for a colleague".to_owned(),
                Doing::Waiting(Waiting::Worktree) => "waits for the worktree".to_owned(),
                Doing::Waiting(Waiting::Decision { request }) => {
                    format!("waits for your decision ({request})")
                }
            };
            format!("- {}: {what}", standing.role.title())
        })
        .collect();
    let cards = open_cards(standings);
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
        assert_eq!(doing(&[]), Doing::Nothing);
        assert_eq!(doing(std::slice::from_ref(&started)), Doing::Working(1));
        let waits = doing(&[started.clone(), parked.clone()]);
        assert_eq!(waits, Doing::Waiting(Waiting::Person));
        let standing = Standing {
            role: Role::Coder,
            doing: waits,
            facts: Facts::default(),
        };
        assert_eq!(render(&[standing]), "- Coder: waits for an answer of yours");
        assert!(render(&[]).contains("Nobody"));
    }
}
