//! What a person is owed, whatever happened on the way. Read from the log and
//! from what reached the thread, never from what the machine believes of itself:
//!
//! - each message of a person gets something that people can see, said by
//!   somebody who had read it;
//! - each text that a model wrote for people is in the thread, or the log says
//!   why not: the model was told, the work was stopped, or the choice to keep it
//!   is written down;
//! - each press of a button has one effect in the log;
//! - ✅ stands only on what was answered.

use butler_protocol::{CallId, Choice, DecisionKind, Ending, Entry, Record, Speaker};

use super::{driver::World, hub::Delivery};

/// The tools that speak to people or to other roles in the thread.
const SPEAKING: [&str; 6] = [
    "SendMessage",
    "AskUser",
    "HandOver",
    "ProposePlan",
    "ProposeLearnings",
    "ProposeMerge",
];

/// Everything a person is owed.
pub(crate) fn check(world: &World) {
    check_words(world);
    check_texts(world);
    check_presses(world);
}

/// What people could see: where it stands in the log, and the answer of the
/// model that it came from.
fn seen(log: &[Entry]) -> Vec<(u64, u64)> {
    let mut answer = 0;
    let mut callers: Vec<(&CallId, &str, u64)> = Vec::new();
    let mut seen = Vec::new();
    for entry in log {
        match &entry.record {
            Record::Assistant { calls, .. } => {
                answer = entry.seq;
                callers.extend(calls.iter().map(|call| (&call.id, &*call.name, answer)));
            }
            Record::ToolResult { call, outcome } => {
                let caller = callers.iter().find(|(id, ..)| *id == call);
                let told = caller.filter(|(_, name, _)| outcome.ok && SPEAKING.contains(name));
                seen.extend(told.map(|(_, _, from)| (entry.seq, *from)));
            }
            Record::Posted { .. } | Record::DecisionAsked { .. } => seen.push((entry.seq, answer)),
            _ => {}
        }
    }
    seen
}

/// The first answer of a model whose request had the message.
fn read_at(log: &[Entry], message: u64) -> Option<u64> {
    let mut asked = false;
    for entry in log.iter().filter(|entry| entry.seq > message) {
        match &entry.record {
            Record::Reserved { .. } => asked = true,
            Record::Assistant { .. } if asked => return Some(entry.seq),
            _ => {}
        }
    }
    None
}

/// A person ended the work, or the money did, and was told: nothing goes on by itself.
fn given_up_after(log: &[Entry], seq: u64) -> bool {
    log.iter().any(|entry| {
        let ending = match &entry.record {
            Record::ActivationEnded { ending, .. } => ending,
            _ => return false,
        };
        entry.seq > seq && matches!(ending, Ending::Stopped | Ending::OutOfMoney)
    })
}

fn check_words(world: &World) {
    let log = &world.disk;
    let seen = seen(log);
    for entry in log {
        let Record::User {
            speaker: Speaker::Person { .. },
            ts,
            text,
            ..
        } = &entry.record
        else {
            continue;
        };
        let answered = match read_at(log, entry.seq) {
            Some(read) => seen.iter().any(|(_, from)| *from >= read),
            // What failed before a model could read it was told.
            None => seen.iter().any(|(at, _)| *at > entry.seq),
        };
        assert!(
            answered || given_up_after(log, entry.seq),
            "{text} of a person has no outcome that people can see"
        );
        let marked = ts.as_ref().is_some_and(|ts| world.marked.contains(ts));
        assert!(
            answered || !marked,
            "{text} has its ✅, and nothing was said after it"
        );
    }
}

fn check_texts(world: &World) {
    let log = &world.disk;
    for (at, entry) in log.iter().enumerate() {
        let Record::Assistant {
            calls,
            text: Some(text),
            ..
        } = &entry.record
        else {
            continue;
        };
        if !calls.is_empty() || !text.starts_with("answer") {
            continue;
        }
        let handed = format!("handed over: {text}");
        let mut posts = world.hub.posts.values();
        let posted = posts.any(|post| post == text || *post == handed);
        let next = log[at + 1..].iter().map(|entry| &entry.record);
        let what_came = next.into_iter().find(|next| {
            matches!(
                next,
                Record::Note { .. } | Record::ActivationEnded { .. } | Record::Assistant { .. }
            )
        });
        let excused = match what_came {
            Some(Record::Note { .. }) => true,
            Some(Record::ActivationEnded { ending, .. }) => *ending != Ending::Done,
            _ => false,
        };
        let chosen = world.choices.iter().any(|choice| choice.contains(text));
        assert!(posted || chosen || excused, "{text} reached nobody");
    }
}

/// Whether the runtime carries this out by itself.
fn is_order(kind: DecisionKind) -> bool {
    matches!(
        kind,
        DecisionKind::Plan | DecisionKind::Merge | DecisionKind::Learning | DecisionKind::Command
    )
}

fn check_presses(world: &World) {
    let log = &world.disk;
    let heard = |event: &str| {
        let is_it = |entry: &&Entry| matches!(&entry.record, Record::User { event: Some(known), .. } if known.as_str() == event);
        log.iter().filter(is_it).count()
    };
    for mail in &world.hub.mail {
        let Delivery::Decision(decision) = &mail.what else {
            continue;
        };
        let (request, kind) = (&decision.request, decision.kind);
        let uses: Vec<u64> = log
            .iter()
            .filter(|entry| matches!(&entry.record, Record::DecisionUsed { request: known, .. } if known == request))
            .map(|entry| entry.seq)
            .collect();
        assert_eq!(uses.len(), 1, "uses of {request}, {decision:?}");
        let told = heard(&format!("decision:{request}"));
        // Of a call that waited the model hears what came of it.
        let moot = decision.choice == Choice::Stop || kind == DecisionKind::Command;
        assert!(
            told == 1 || moot && told == 0,
            "{request} told {told} times"
        );
        if is_order(kind) {
            let carried = heard(&format!("carried:{request}")) + heard(&format!("ran:{request}"));
            let given_up = carried == 0 && given_up_after(log, uses[0]);
            assert!(
                carried == 1 || given_up,
                "{decision:?} was carried out {carried} times"
            );
        }
    }
}
