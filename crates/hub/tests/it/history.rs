//! A history of what several clients did and saw, and a judge of it: a plain function,
//! which knows nothing of hubs, databases and faults. What it finds is told in words.
//!
//! Everything has a time on one clock. An operation has two: when it was begun, and when
//! its outcome was known. What was refused did not happen; what has no outcome may have
//! happened, once.

use std::collections::{BTreeMap, BTreeSet};

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Refused,
    Unknown,
}

/// What somebody did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Said something in a thread; each text is said once in a history.
    Said { thread: String, text: String },
    /// Decided about a card.
    Decided { request: String, choice: String },
    /// Set money aside under an id.
    Reserved {
        budget: String,
        id: String,
        cents: i64,
    },
}

/// An operation of a client.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub begun: u64,
    pub ended: u64,
    pub deed: Deed,
    pub outcome: Outcome,
}

/// An event as a subscriber got it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    pub event: String,
    pub seq: u64,
    pub thread: String,
    pub text: String,
}

/// Somebody who hears, and whose words reach everybody but themselves.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subscriber {
    pub name: String,
    pub heard: Vec<Heard>,
    /// The texts that were not for it.
    pub own: BTreeSet<String>,
}

/// A hub became the owner.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    pub number: i64,
    pub hub: String,
    pub at: u64,
}

/// A hub did what only the owner may do.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    pub hub: String,
    pub what: String,
    pub at: u64,
}

/// Everything that is known at the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub operations: Vec<Operation>,
    /// What stands in each thread at the end, in its order.
    pub threads: BTreeMap<String, Vec<String>>,
    pub subscribers: Vec<Subscriber>,
    /// Every decision that the store has, by card.
    pub decisions: BTreeMap<String, Vec<String>>,
    /// Caps, and what is set aside at the end.
    pub caps: BTreeMap<String, i64>,
    pub set_aside: BTreeMap<String, i64>,
    pub leases: Vec<Lease>,
    pub acts: Vec<Act>,
    /// What was written in the name of the owner by somebody else, as the database saw it.
    pub strays: Vec<String>,
}

/// Everything that is wrong with a history.
pub(crate) fn judge(history: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    said(history, &mut wrong);
    order(history, &mut wrong);
    for one in &history.subscribers {
        heard(history, one, &mut wrong);
    }
    decided(history, &mut wrong);
    money(history, &mut wrong);
    owners(history, &mut wrong);
    wrong.extend(history.strays.iter().cloned());
    wrong
}

fn said(history: &History, wrong: &mut Vec<String>) {
    let mut stands: BTreeMap<&str, usize> = BTreeMap::new();
    for text in history.threads.values().flatten() {
        *stands.entry(text).or_default() += 1;
    }
    for operation in &history.operations {
        let Deed::Said { text, .. } = &operation.deed else {
            continue;
        };
        let count = stands.remove(text.as_str()).unwrap_or(0);
        match (operation.outcome, count) {
            (Outcome::Done, 0) => wrong.push(format!("lost: {text}")),
            (Outcome::Refused, 1..) => wrong.push(format!("refused and there: {text}")),
            (_, 2..) => wrong.push(format!("there {count} times: {text}")),
            _ => {}
        }
    }
    wrong.extend(stands.keys().map(|text| format!("nobody said: {text}")));
}

/// What was done before another thing was begun stands before it.
fn order(history: &History, wrong: &mut Vec<String>) {
    let mut times: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for operation in &history.operations {
        if let Deed::Said { text, .. } = &operation.deed {
            let ended = match operation.outcome {
                Outcome::Done => operation.ended,
                _ => u64::MAX,
            };
            times.insert(text, (operation.begun, ended));
        }
    }
    for (thread, texts) in &history.threads {
        // The latest beginning so far must not be after the end of what follows.
        let mut latest: Option<(u64, &str)> = None;
        for text in texts {
            let Some((begun, ended)) = times.get(text.as_str()) else {
                continue;
            };
            if let Some((after, first)) = latest
                && *ended < after
            {
                wrong.push(format!("{thread}: {first} stands before the older {text}"));
            }
            latest = latest.max(Some((*begun, text)));
        }
    }
}

fn heard(history: &History, one: &Subscriber, wrong: &mut Vec<String>) {
    let name = &one.name;
    let mut by_thread: BTreeMap<&str, Vec<&Heard>> = BTreeMap::new();
    let mut texts = BTreeSet::new();
    for event in &one.heard {
        if !texts.insert(event.text.as_str()) {
            wrong.push(format!("{name} heard twice: {}", event.text));
        }
        by_thread.entry(&event.thread).or_default().push(event);
    }
    for (thread, stands) in &history.threads {
        let events = by_thread.remove(thread.as_str()).unwrap_or_default();
        let wanted: Vec<&str> = stands.iter().map(String::as_str).collect();
        let wanted: Vec<&str> = wanted
            .into_iter()
            .filter(|text| !one.own.contains(*text))
            .collect();
        for text in &wanted {
            if !texts.contains(text) {
                wrong.push(format!("{name} never heard: {text}"));
            }
        }
        let got: Vec<&str> = events.iter().map(|event| event.text.as_str()).collect();
        let mut in_order = wanted.clone();
        in_order.retain(|text| got.contains(text));
        if in_order != got {
            wrong.push(format!(
                "{name} heard in {thread}: {got:?}, it is {wanted:?}"
            ));
        }
        for pair in events.windows(2) {
            if pair[0].seq >= pair[1].seq {
                let (first, then) = (pair[0].seq, pair[1].seq);
                wrong.push(format!("{name} heard {then} after {first} in {thread}"));
            }
        }
    }
    for (thread, events) in by_thread {
        let count = events.len();
        wrong.push(format!(
            "{name} heard {count} of {thread}, which is not there"
        ));
    }
}

fn decided(history: &History, wrong: &mut Vec<String>) {
    for (request, choices) in &history.decisions {
        if choices.len() > 1 {
            wrong.push(format!("{request} is decided twice: {choices:?}"));
        }
    }
    for operation in &history.operations {
        let Deed::Decided { request, choice } = &operation.deed else {
            continue;
        };
        let stands = history.decisions.get(request).and_then(|all| all.first());
        if operation.outcome == Outcome::Done && stands != Some(choice) {
            wrong.push(format!("{request} was decided {choice}, it is {stands:?}"));
        }
    }
}

fn money(history: &History, wrong: &mut Vec<String>) {
    for (budget, cap) in &history.caps {
        let sum = |counts: &[Outcome]| {
            let mut ids = BTreeMap::new();
            for operation in &history.operations {
                if let Deed::Reserved {
                    budget: of,
                    id,
                    cents,
                } = &operation.deed
                    && of == budget
                    && counts.contains(&operation.outcome)
                {
                    ids.insert(id, *cents);
                }
            }
            ids.values().sum::<i64>()
        };
        let (granted, at_most) = (
            sum(&[Outcome::Done]),
            sum(&[Outcome::Done, Outcome::Unknown]),
        );
        let kept = history.set_aside.get(budget).copied().unwrap_or(0);
        if granted > *cap || kept > *cap {
            wrong.push(format!(
                "{budget}: {granted} granted, {kept} kept, cap {cap}"
            ));
        }
        if kept < granted || kept > at_most {
            wrong.push(format!(
                "{budget}: {kept} kept, {granted} to {at_most} granted"
            ));
        }
    }
}

fn owners(history: &History, wrong: &mut Vec<String>) {
    for pair in history.leases.windows(2) {
        if pair[1].number <= pair[0].number || pair[1].at < pair[0].at {
            wrong.push(format!("owners out of order: {pair:?}"));
        }
    }
    for act in &history.acts {
        let owner = history.leases.iter().rev().find(|lease| lease.at <= act.at);
        if owner.is_none_or(|owner| owner.hub != act.hub) {
            let owner = owner.map(|owner| (&owner.hub, owner.number));
            wrong.push(format!(
                "{} at {}: {}, the owner is {owner:?}",
                act.hub, act.at, act.what
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(begun: u64, ended: u64, deed: Deed, outcome: Outcome) -> Operation {
        Operation {
            begun,
            ended,
            deed,
            outcome,
        }
    }

    fn says(begun: u64, ended: u64, text: &str, outcome: Outcome) -> Operation {
        let deed = Deed::Said {
            thread: "t".to_owned(),
            text: text.to_owned(),
        };
        operation(begun, ended, deed, outcome)
    }

    fn event(seq: u64, text: &str) -> Heard {
        Heard {
            event: format!("E{seq}"),
            seq,
            thread: "t".to_owned(),
            text: text.to_owned(),
        }
    }

    fn decides(choice: &str, outcome: Outcome) -> Operation {
        let deed = Deed::Decided {
            request: "r".to_owned(),
            choice: choice.to_owned(),
        };
        operation(50, 60, deed, outcome)
    }

    fn reserves(id: &str, outcome: Outcome) -> Operation {
        let deed = Deed::Reserved {
            budget: "b".to_owned(),
            id: id.to_owned(),
            cents: 60,
        };
        operation(50, 60, deed, outcome)
    }

    fn lease(number: i64, hub: &str, at: u64) -> Lease {
        Lease {
            number,
            hub: hub.to_owned(),
            at,
        }
    }

    fn act(hub: &str, at: u64) -> Act {
        Act {
            hub: hub.to_owned(),
            what: "chat.postMessage".to_owned(),
            at,
        }
    }

    /// One in which everything happened that may happen.
    fn good() -> History {
        let mut history = History {
            operations: vec![
                says(0, 10, "a", Outcome::Done),
                says(20, 90, "b", Outcome::Done),
                says(30, 40, "c", Outcome::Done),
                // Without an outcome: one is there, one is not.
                says(50, 55, "d", Outcome::Unknown),
                says(56, 57, "e", Outcome::Unknown),
                says(58, 59, "f", Outcome::Refused),
                decides("approve", Outcome::Done),
                decides("reject", Outcome::Refused),
                reserves("one", Outcome::Done),
                reserves("two", Outcome::Refused),
            ],
            leases: vec![lease(1, "one", 0), lease(2, "other", 50)],
            acts: vec![act("one", 0), act("one", 49), act("other", 50)],
            ..History::default()
        };
        // "b" was under way for long: before "c" or behind it.
        let texts = ["a", "c", "b", "d"];
        history.threads = [("t".to_owned(), texts.map(str::to_owned).to_vec())].into();
        history.subscribers = vec![
            Subscriber {
                name: "pm".to_owned(),
                heard: vec![event(1, "a"), event(4, "c"), event(5, "b"), event(9, "d")],
                own: BTreeSet::new(),
            },
            Subscriber {
                name: "coder".to_owned(),
                heard: vec![event(1, "a"), event(5, "b"), event(9, "d")],
                own: ["c".to_owned()].into(),
            },
        ];
        history.decisions = [("r".to_owned(), vec!["approve".to_owned()])].into();
        history.caps = [("b".to_owned(), 100)].into();
        history.set_aside = [("b".to_owned(), 60)].into();
        history
    }

    fn finds(what: &str, spoil: impl FnOnce(&mut History)) {
        let mut history = good();
        spoil(&mut history);
        let wrong = judge(&history);
        assert!(
            wrong.iter().any(|one| one.contains(what)),
            "{what}: {wrong:?}"
        );
    }

    fn stands(history: &mut History) -> &mut Vec<String> {
        history.threads.get_mut("t").unwrap()
    }

    #[test]
    fn nothing_is_wrong_with_a_good_history() {
        assert_eq!(judge(&good()), [""; 0]);
    }

    #[test]
    fn what_was_said_is_there_once() {
        finds("lost: b", |h| stands(h).retain(|text| text != "b"));
        finds("there 2 times: b", |h| stands(h).push("b".to_owned()));
        finds("there 2 times: d", |h| stands(h).push("d".to_owned()));
        finds("refused and there: f", |h| stands(h).push("f".to_owned()));
        finds("nobody said: z", |h| stands(h).push("z".to_owned()));
        finds("c stands before the older a", |h| stands(h).swap(0, 1));
    }

    #[test]
    fn everybody_hears_everything_once_and_in_order() {
        finds("pm never heard: c", |h| {
            h.subscribers[0].heard.remove(1);
        });
        finds("coder never heard: d", |h| {
            h.subscribers[1].heard.pop();
        });
        finds("pm heard twice: a", |h| {
            h.subscribers[0].heard.push(event(12, "a"));
        });
        finds("coder heard in t", |h| h.subscribers[1].heard.swap(0, 1));
        finds("pm heard 4 after 6", |h| h.subscribers[0].heard[0].seq = 6);
        finds("which is not there", |h| {
            h.subscribers[0].heard[0].thread = "u".to_owned();
        });
        // An own word came back.
        finds("coder heard in t", |h| {
            h.subscribers[1].heard.insert(1, event(4, "c"));
        });
    }

    #[test]
    fn a_card_is_decided_once_and_as_it_was_answered() {
        finds("decided twice", |h| {
            h.decisions.get_mut("r").unwrap().push("reject".to_owned());
        });
        finds("was decided approve, it is", |h| {
            h.decisions
                .insert("r".to_owned(), vec!["reject".to_owned()]);
        });
        finds("was decided reject, it is", |h| {
            h.operations.push(decides("reject", Outcome::Done));
        });
        finds("was decided approve, it is None", |h| h.decisions.clear());
    }

    #[test]
    fn no_more_money_is_set_aside_than_there_is_and_none_is_forgotten() {
        finds("120 granted", |h| {
            h.operations.push(reserves("three", Outcome::Done));
        });
        finds("110 kept", |h| {
            h.set_aside.insert("b".to_owned(), 110);
        });
        finds("0 kept, 60 to 60 granted", |h| h.set_aside.clear());
        let mut history = good();
        // The same id twice is one reservation.
        history.operations.push(reserves("one", Outcome::Done));
        assert_eq!(judge(&history), [""; 0]);
    }

    #[test]
    fn there_is_one_owner_at_a_time() {
        finds("one at 51", |h| h.acts.push(act("one", 51)));
        finds("other at 49", |h| h.acts.push(act("other", 49)));
        finds("owners out of order", |h| {
            h.leases.push(lease(2, "one", 60));
        });
        finds("the owner is None", |h| h.leases.clear());
        finds("by one: upstream_inbox", |h| {
            h.strays.push("by one: upstream_inbox".to_owned());
        });
    }
}
