//! The laws themselves; each returns what is owed, in words.

use std::{path::Path, process::Command};

use butler_protocol::{CallId, Change, Ending, Entry, Record, Speaker, Subject};

use super::{Card, Message, RoleLog, Thread};

/// The tools that speak to people or to other roles in the thread.
const SPEAKING: [&str; 6] = [
    "SendMessage",
    "AskUser",
    "HandOver",
    "ProposePlan",
    "ProposeLearnings",
    "ProposeMerge",
];

pub(super) fn breaches(thread: &Thread, remote: &Path) -> Vec<String> {
    let mut owed = unanswered(thread);
    for log in &thread.logs {
        owed.extend(unread(log));
        owed.extend(swallowed(log));
        owed.extend(unposted(thread, log));
    }
    for card in &thread.cards {
        owed.extend(misused(thread, card));
        owed.extend(unanswerable(thread, card));
        owed.extend(forgotten(thread, card, remote));
    }
    owed
}

/// Each message of a person is in somebody's log, or something came of it that
/// people can see.
fn unanswered(thread: &Thread) -> Vec<String> {
    if thread.under_way {
        return Vec::new();
    }
    let people = thread.messages.iter().filter(|one| one.role.is_none());
    let unheard = people.filter(|one| {
        let text = one.body["text"].as_str().unwrap_or_default();
        let later = |other: &Message| other.role.is_some() && other.ts > one.ts;
        let logged = thread.logs.iter().any(|log| hears(log, &one.ts));
        let seen = thread.messages.iter().any(later) || thread.marked.contains(&one.ts);
        let meant_for_us = !text.starts_with("!aside") && one.body["bot_id"].is_null();
        meant_for_us && !logged && !seen
    });
    unheard
        .map(|one| format!("nothing came of {}", one.body["text"]))
        .collect()
}

fn hears(log: &RoleLog, said: &str) -> bool {
    log.entries.iter().any(|entry| match &entry.record {
        Record::User { ts: Some(ts), .. } => ts.as_str() == said,
        _ => false,
    })
}

/// What people could see of a log: the answer of the model that it came from.
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
                // What starts a skill of another role, or a menu, says so and ends there.
                let started = |name: &&str| *name == "Start" && !outcome.then.is_go_on();
                let told = caller.filter(|(_, name, _)| {
                    outcome.ok && (SPEAKING.contains(name) || started(name))
                });
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
        let Record::ActivationEnded { ending, .. } = &entry.record else {
            return false;
        };
        entry.seq > seq && matches!(ending, Ending::Stopped | Ending::OutOfMoney)
    })
}

/// Each message of a person that a role took in gets something that people can see,
/// said by somebody who had read it.
fn unread(log: &RoleLog) -> Vec<String> {
    let entries = &log.entries;
    let withdrawn = entries.iter().any(|entry| {
        matches!(&entry.record, Record::User { event: Some(event), .. }
            if event.as_str().starts_with("withdrawn:"))
    });
    if !log.rests || withdrawn {
        return Vec::new();
    }
    let seen = seen(entries);
    let mut owed = Vec::new();
    for entry in entries {
        let Record::User {
            speaker: Speaker::Person { .. },
            text,
            ..
        } = &entry.record
        else {
            continue;
        };
        let answered = match read_at(entries, entry.seq) {
            Some(read) => seen.iter().any(|(_, from)| *from >= read),
            // What failed before a model could read it was told.
            None => seen.iter().any(|(at, _)| *at > entry.seq),
        };
        if !answered && !given_up_after(entries, entry.seq) {
            owed.push(format!("the {} read “{text}” and said nothing", log.role));
        }
    }
    owed
}

/// Each text that a model wrote for people is posted, or why not is written down:
/// the model was told, the work was stopped, the choice to keep it is in the log.
fn swallowed(log: &RoleLog) -> Vec<String> {
    let mut owed = Vec::new();
    for (at, entry) in log.entries.iter().enumerate() {
        let Record::Assistant {
            calls,
            text: Some(text),
            ..
        } = &entry.record
        else {
            continue;
        };
        if !calls.is_empty() || text.trim().is_empty() {
            continue;
        }
        let next = log.entries[at + 1..].iter().map(|entry| &entry.record);
        let what_came = next.into_iter().find(|next| {
            matches!(
                next,
                Record::Note { .. }
                    | Record::Posted { .. }
                    | Record::ActivationEnded { .. }
                    | Record::Assistant { .. }
            )
        });
        let excused = match what_came {
            Some(Record::Note { .. } | Record::Posted { .. }) => true,
            Some(Record::ActivationEnded { ending, .. }) => {
                !matches!(ending, Ending::Done | Ending::PassedOn)
            }
            None => !log.rests,
            _ => false,
        };
        let start: String = text.chars().take(20).collect();
        let kept = serde_json::to_string(&start).unwrap_or_default();
        if !excused && !log.kept.contains(kept.trim_matches('"')) {
            owed.push(format!("“{text}” of the {} reached nobody", log.role));
        }
    }
    owed
}

/// What a log says was posted is in the thread.
fn unposted(thread: &Thread, log: &RoleLog) -> Vec<String> {
    let posts = log.entries.iter().filter_map(|entry| match &entry.record {
        Record::Posted { idem, ts } => Some((idem, ts)),
        _ => None,
    });
    let gone = posts.filter(|(_, ts)| {
        let mut messages = thread.messages.iter();
        !messages.any(|one| one.ts == ts.as_str() && one.role.as_ref() == Some(&log.role))
    });
    gone.map(|(idem, _)| format!("{idem} of the {} is not in the thread", log.role))
        .collect()
}

/// Each press has exactly one effect.
fn misused(thread: &Thread, card: &Card) -> Vec<String> {
    let Some(choice) = &card.choice else {
        return Vec::new();
    };
    let count = |is_it: &dyn Fn(&Record) -> bool| -> usize {
        let logs = thread.logs_of(&card.from);
        logs.flat_map(|log| &log.entries)
            .filter(|entry| is_it(&entry.record))
            .count()
    };
    let used = count(
        &|record| matches!(record, Record::DecisionUsed { request, .. } if request.as_str() == card.request),
    );
    let event = format!("carried:{}", card.request);
    let carried = count(
        &|record| matches!(record, Record::User { event: Some(known), .. } if known.as_str() == event),
    );
    let mut owed = Vec::new();
    let told = format!("{choice} on the {} card {}", card.kind, card.request);
    if used > 1 || carried > 1 {
        owed.push(format!(
            "{told} was used {used} and carried out {carried} times"
        ));
    }
    let mut logs = thread.logs_of(&card.from);
    let settled = logs.all(|log| log.rests && !given_up_after(&log.entries, 0));
    let order = matches!(card.kind.as_str(), "plan" | "merge" | "learning");
    if settled && order && (used, carried) != (1, 1) {
        owed.push(format!(
            "{told} was used {used} and carried out {carried} times"
        ));
    }
    owed
}

/// A card that waits can be answered: it is in the thread, with its buttons.
fn unanswerable(thread: &Thread, card: &Card) -> Option<String> {
    let mut messages = thread.messages.iter();
    let shown = messages.find(|one| one.ts == card.message);
    let action = format!("\"cb:{}:", card.request);
    let can = shown.is_some_and(|one| one.body["blocks"].to_string().contains(&action));
    let owed = card.choice.is_none() && !can;
    owed.then(|| {
        format!(
            "the open {} card {} cannot be answered",
            card.kind, card.request
        )
    })
}

/// Accepted knowledge is in git, or people were told what becomes of it.
fn forgotten(thread: &Thread, card: &Card, remote: &Path) -> Option<String> {
    let accepted = card.kind == "learning" && card.choice.as_deref() == Some("accept");
    let waits = thread
        .cards
        .iter()
        .any(|other| other.choice.is_none() || other.choice.as_deref() == Some("hold"));
    if !accepted || thread.under_way || waits {
        return None;
    }
    let asked = thread.logs_of(&card.from).flat_map(|log| &log.entries);
    let title = asked.into_iter().find_map(|entry| match &entry.record {
        Record::DecisionAsked {
            request,
            subject: Subject::Learning(proposal),
            ..
        } if request.as_str() == card.request => title_of(&proposal.change),
        _ => None,
    })?;
    let told = thread.messages.iter().any(|one| {
        let text = one.body["text"].as_str().unwrap_or_default();
        one.ts > card.message && (text.contains(&title) || text.contains("not written"))
    });
    let owed = !told && !in_git(remote, &title);
    owed.then(|| format!("“{title}” was accepted and is nowhere"))
}

fn title_of(change: &Change) -> Option<String> {
    match change {
        Change::Learning { title, .. } | Change::Pruning { title, .. } => Some(title.clone()),
        Change::Passage { .. } => None,
    }
}

fn in_git(remote: &Path, words: &str) -> bool {
    let git = |args: &[&str]| {
        Command::new("git")
            .arg("-C")
            .arg(remote)
            .args(args)
            .output()
    };
    let branches = git(&["for-each-ref", "--format=%(refname)", "refs/heads"]).unwrap();
    let branches = String::from_utf8_lossy(&branches.stdout).into_owned();
    branches.lines().any(|branch| {
        let found = git(&["grep", "--quiet", "--fixed-strings", "-e", words, branch]);
        found.is_ok_and(|output| output.status.success())
    })
}
