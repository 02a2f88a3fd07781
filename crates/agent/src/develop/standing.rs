//! How an item's thread stands, from the hub's view of it and the logs of its roles.
//! Pure. Somebody at work counts first; then what waits for a person; a thread in
//! which nobody has anything to do, and nothing was merged, cannot go on by itself.

use butler_protocol::{
    DecisionKind, Ending, ItemState, PullStatus, Record, Role, RunItem, Waiting,
};
use butler_turn::Doing;

use super::next::Standing;
use crate::tell::{render, thread_logs::RoleLog};

/// Between two roles nobody is at work for a moment.
const BETWEEN_MS: i64 = 3_000;
/// So long a hand-over may take until it is in somebody's log.
const TAKEN_OVER_MS: i64 = 120_000;
/// The most of a reason that people are shown.
const REASON: usize = 300;

/// How an item stands, without an answer to it.
pub(crate) fn standing(item: &RunItem, logs: &[RoleLog], now_ms: i64) -> Standing {
    match item.pull {
        Some((_, PullStatus::Merged)) => return Standing::plain(ItemState::Merged),
        Some((_, PullStatus::Closed)) => return Standing::plain(ItemState::GivenUp),
        _ => {}
    }
    let at_work = |log: &RoleLog| matches!(log.fold.doing, Some(Doing::Working(_)));
    if logs.iter().any(at_work) {
        return Standing::plain(ItemState::Working);
    }
    // The hub decides it in a moment.
    if item.allowed.is_some() {
        return Standing::plain(ItemState::Working);
    }
    let since_ms = last_ms(logs);
    let as_of = |state, why: &str, asked_by| Standing {
        why: why.to_owned(),
        since_ms,
        asked_by,
        ..Standing::plain(state)
    };
    if let Some((state, why)) = item.open.iter().find_map(|kind| card(*kind)) {
        let mut stands = as_of(state, why, None);
        stands.reviewed = item.open.contains(&DecisionKind::Merge) && is_green(logs);
        return stands;
    }
    if let Some((log, question)) = asking(logs) {
        let mut asks = as_of(ItemState::Asks, &question, Some(log.role));
        asks.since_ms = parked_ms(log);
        return asks;
    }
    let waits = |log: &RoleLog| matches!(log.fold.doing, Some(Doing::Waiting(_)));
    if logs.iter().any(waits) || now_ms - since_ms < BETWEEN_MS {
        return Standing::plain(ItemState::Working);
    }
    if item.stopped {
        let why = "stopped by a person; a word in its thread goes on";
        return as_of(ItemState::Blocked, why, Some(Role::Pm));
    }
    match last_ending(logs) {
        None => Standing::plain(ItemState::Working),
        // Whoever is next has other threads before it, or is just being started.
        Some((log, Ending::PassedOn))
            if !ends_in_words(log) && now_ms - since_ms < TAKEN_OVER_MS =>
        {
            Standing::plain(ItemState::Working)
        }
        Some((log, ending)) => {
            let why = reason(log, ending);
            as_of(ItemState::Blocked, &why, Some(Role::Pm))
        }
    }
}

/// Whether what waits to be merged was approved, with green checks of the same files.
fn is_green(logs: &[RoleLog]) -> bool {
    let verdicts = logs
        .iter()
        .filter_map(|log| log.fold.review.verdict.as_ref());
    let newest = verdicts
        .map(|(verdict, _)| verdict)
        .max_by_key(|verdict| verdict.round);
    newest.is_some_and(|verdict| {
        let receipt = verdict.observed.receipt.as_ref();
        let green = receipt.is_some_and(|receipt| receipt.green() && receipt.tree == verdict.tree);
        verdict.approved && green
    })
}

/// A card that nothing goes on without. Learnings hold up nothing.
fn card(kind: DecisionKind) -> Option<(ItemState, &'static str)> {
    let asks = |what| Some((ItemState::Asks, what));
    match kind {
        DecisionKind::Plan => asks("its plan is waiting for approval"),
        DecisionKind::Merge => asks("its merge is waiting for a person"),
        DecisionKind::Command => asks("a command is waiting for approval"),
        DecisionKind::Roadmap | DecisionKind::Develop | DecisionKind::Picture => {
            asks("a card is waiting for a person")
        }
        DecisionKind::Cap => Some((
            ItemState::Blocked,
            "its money is used up; Raise on the card in its thread goes on",
        )),
        DecisionKind::Learning | DecisionKind::Maps => None,
    }
}

/// Who waits for a person's words, and what was asked.
fn asking(logs: &[RoleLog]) -> Option<(&RoleLog, String)> {
    let waits = |log: &&RoleLog| log.fold.doing == Some(Doing::Waiting(Waiting::Person));
    let log = logs.iter().find(waits)?;
    let calls = log
        .entries
        .iter()
        .rev()
        .filter_map(|entry| match &entry.record {
            Record::Assistant { calls, .. } => Some(calls),
            _ => None,
        });
    let mut questions = calls.flatten().filter(|call| call.name == "AskUser");
    let question = questions.find_map(|call| call.arguments["question"].as_str());
    let question = question.unwrap_or("an answer of a person is missing in its thread");
    Some((log, short(question)))
}

fn parked_ms(log: &RoleLog) -> i64 {
    let mut entries = log.entries.iter().rev();
    let parked = entries.find(|entry| matches!(entry.record, Record::Parked { .. }));
    parked.map_or(0, |entry| entry.at_ms)
}

fn last_ms(logs: &[RoleLog]) -> i64 {
    let all = logs.iter().filter_map(|log| log.entries.last());
    all.map(|entry| entry.at_ms).max().unwrap_or(0)
}

fn last_ending(logs: &[RoleLog]) -> Option<(&RoleLog, &Ending)> {
    let endings = logs.iter().filter_map(|log| {
        let mut entries = log.entries.iter().rev();
        entries.find_map(|entry| match &entry.record {
            Record::ActivationEnded { ending, .. } => Some((entry.at_ms, log, ending)),
            _ => None,
        })
    });
    let last = endings.max_by_key(|(at_ms, ..)| *at_ms);
    last.map(|(_, log, ending)| (log, ending))
}

/// Whether the role's last answer was words, not a hand-over: the runtime told people.
fn ends_in_words(log: &RoleLog) -> bool {
    let mut entries = log.entries.iter().rev();
    let last = entries.find_map(|entry| match &entry.record {
        Record::Assistant { calls, .. } => Some(calls.is_empty()),
        _ => None,
    });
    last.unwrap_or(false)
}

fn reason(log: &RoleLog, ending: &Ending) -> String {
    let role = log.role.title();
    match ending {
        Ending::Failed { reason } => short(reason),
        Ending::Stuck => format!("the {role} went in circles"),
        Ending::TurnLimit => format!("the {role} used all its turns"),
        Ending::OutOfMoney => "its money is used up".to_owned(),
        Ending::Stopped => "stopped by a person".to_owned(),
        Ending::Done | Ending::PassedOn => {
            let mut entries = log.entries.iter().rev();
            let said = entries.find_map(|entry| match &entry.record {
                Record::Assistant { text, .. } => text.as_deref(),
                _ => None,
            });
            match said.map(str::trim).filter(|text| !text.is_empty()) {
                Some(text) => format!("the {role} said: {}", short(text)),
                None => "nobody is at work on it any more".to_owned(),
            }
        }
    }
}

fn short(text: &str) -> String {
    render::one_line(text, REASON)
}

#[cfg(test)]
mod tests {
    use butler_protocol::{Entry, PrNumber, Usd};
    use serde_json::{Value, json};

    use super::*;

    fn log(role: Role, records: &[Value]) -> RoleLog {
        let entry = |(seq, record): (u64, &Value)| Entry {
            seq,
            epoch: 1,
            at_ms: i64::try_from(seq).unwrap() * 1000,
            record: serde_json::from_value(record.clone()).unwrap(),
        };
        RoleLog::new(role, (1..).zip(records).map(entry).collect())
    }

    fn item(open: &[DecisionKind]) -> RunItem {
        RunItem {
            number: 3,
            thread: "C1/1700000000.000100".parse().unwrap(),
            spent: Usd::ZERO,
            pull: None,
            open: open.to_vec(),
            allowed: None,
            stopped: false,
            spoken: false,
            report: None,
        }
    }

    fn ended(how: &str) -> Value {
        json!({"t": "activation_ended", "activation": 1, "ending": {"how": how}})
    }

    const LATER: i64 = 100_000;

    #[test]
    fn somebody_at_work_counts_before_a_card_and_a_card_before_silence() {
        let began = json!({"t": "activation_started", "activation": 1});
        let asks = json!({"t": "assistant", "turn": 1, "model": "m", "calls": [
            {"id": "c", "name": "AskUser", "arguments": {"question": "1. Blue? I would."}}]});
        let parked = json!({"t": "parked", "waiting": {"for": "person"}});
        let working = log(Role::Coder, std::slice::from_ref(&began));
        let asking = log(Role::Pm, &[began.clone(), asks, parked]);
        let over = log(Role::Pm, &[began.clone(), ended("done")]);
        let passed = log(Role::Pm, &[began.clone(), ended("passed_on")]);
        let words = json!({"t": "assistant", "turn": 1, "model": "m", "text": "It stays red."});
        let talked = log(Role::Coder, &[began, words, ended("passed_on")]);
        let merge = [DecisionKind::Learning, DecisionKind::Merge];
        let learning = [DecisionKind::Learning];
        for (cards, logs, state) in [
            (
                &merge[..],
                vec![working.clone(), asking.clone()],
                ItemState::Working,
            ),
            (&merge[..], vec![over.clone()], ItemState::Asks),
            (
                &[DecisionKind::Cap][..],
                vec![over.clone()],
                ItemState::Blocked,
            ),
            (&learning[..], vec![asking.clone()], ItemState::Asks),
            (&learning[..], vec![over.clone()], ItemState::Blocked),
            (&[][..], vec![passed], ItemState::Working),
            (&[][..], vec![talked.clone()], ItemState::Blocked),
            (&[][..], vec![], ItemState::Working),
        ] {
            let found = standing(&item(cards), &logs, LATER);
            assert_eq!(found.state, state, "{found:?}");
        }
        let found = standing(&item(&[]), std::slice::from_ref(&asking), LATER);
        assert_eq!(
            (found.why.as_str(), found.since_ms),
            ("1. Blue? I would.", 3000)
        );
        assert_eq!(found.asked_by, Some(Role::Pm));
        let found = standing(&item(&[]), &[talked], LATER);
        assert_eq!(found.why, "the Coder said: It stays red.");
        let mut soon = item(&[DecisionKind::Merge]);
        soon.allowed = Some(DecisionKind::Merge);
        let found = standing(&soon, std::slice::from_ref(&over), LATER);
        assert_eq!(found.state, ItemState::Working, "the hub decides it");
        // Between two roles nobody is at work for a moment.
        let found = standing(&item(&[]), &[over], 2_500);
        assert_eq!(found.state, ItemState::Working);
    }

    #[test]
    fn a_merge_or_a_close_is_the_last_word() {
        let working = log(
            Role::Lead,
            &[json!({"t": "activation_started", "activation": 1})],
        );
        for (status, state) in [
            (PullStatus::Merged, ItemState::Merged),
            (PullStatus::Closed, ItemState::GivenUp),
            (PullStatus::Open, ItemState::Working),
        ] {
            let mut item = item(&[]);
            item.pull = Some((PrNumber(7), status));
            let found = standing(&item, std::slice::from_ref(&working), LATER);
            assert_eq!(found.state, state);
        }
    }
}
