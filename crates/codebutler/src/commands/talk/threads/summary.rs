//! What the logs on disk say about a thread, for a list: what it is about, how it
//! stands, and whether a person has to do something.

use std::path::Path;

use butler_protocol::{DecisionKind, Ending, Entry, Record, Role, ThreadId, Waiting, person_name};
use butler_turn::{Doing, Request, ThreadFold};

use crate::{CliError, commands::talk::thread_logs::logs, roles::titles};

/// Longer titles are cut.
const TITLE: usize = 64;

/// A thread in a line.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// The first words of the request.
    pub title: String,
    /// Who asked; `you` when nobody gave a name.
    pub person: String,
    /// How it stands.
    pub state: State,
    /// When something happened last, in milliseconds since 1970.
    pub last_ms: i64,
}

/// How a thread stands.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// A person has to do this.
    Needs(String),
    /// These are at work.
    Working(Vec<Role>),
    /// A process ended in the middle of it.
    Interrupted(Vec<Role>),
    /// Roles wait for each other, or for a worktree.
    Waiting,
    /// Nobody took it up yet.
    #[default]
    New,
    /// Everything that was asked is answered.
    Answered,
    /// Its pull request is merged or closed.
    Over(&'static str),
}

impl State {
    /// A word for scripts.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            State::Needs(_) => "needs-person",
            State::Working(_) => "working",
            State::Interrupted(_) => "interrupted",
            State::Waiting => "waiting",
            State::New => "new",
            State::Answered => "answered",
            State::Over(word) => word,
        }
    }

    /// For people; `person` is whom the thread waits for.
    pub(crate) fn words(&self, person: &str) -> String {
        match self {
            State::Needs(what) => format!("needs {person}: {what}"),
            State::Working(roles) => format!("{} at work", titles(roles)),
            State::Interrupted(roles) => {
                format!("{} interrupted; `codebutler up` goes on", titles(roles))
            }
            State::Waiting => "the roles wait for each other".to_owned(),
            State::New => "nobody has taken it up yet".to_owned(),
            State::Answered => "answered".to_owned(),
            State::Over(word) => (*word).to_owned(),
        }
    }
}

/// Reads it. `over` is what became of its pull request, if that is settled; `runs`,
/// whether anybody is there to work.
pub(crate) fn of(
    threads: &Path,
    thread: &ThreadId,
    over: Option<&'static str>,
    runs: bool,
) -> Result<Summary, CliError> {
    let logs = logs(threads, thread)?;
    let folds: Vec<(Role, ThreadFold, &[Entry])> = logs
        .iter()
        .map(|(role, log)| (*role, ThreadFold::of(log), log.as_slice()))
        .collect();
    let requests = folds
        .iter()
        .filter_map(|(_, fold, _)| fold.request.as_ref());
    let request = first(requests);
    let last = folds.iter().filter_map(|(_, _, log)| log.last());
    Ok(Summary {
        title: request.map(|one| title(&one.words)).unwrap_or_default(),
        person: whom(request.map_or("", |one| &one.name)),
        state: state(&folds, over, runs),
        last_ms: last.map(|entry| entry.at_ms).max().unwrap_or_default(),
    })
}

/// What the thread began with. What a button says for a person has no place in the
/// thread, and comes after everything that has one.
fn first<'r>(requests: impl Iterator<Item = &'r Request>) -> Option<&'r Request> {
    requests.min_by_key(|request| (request.ts.is_none(), request.ts.clone()))
}

fn state(folds: &[(Role, ThreadFold, &[Entry])], over: Option<&'static str>, runs: bool) -> State {
    let open = folds.iter().flat_map(|(_, fold, _)| fold.cards.open());
    let mut wanted: Vec<String> = open
        .map(|(_, asked)| asked.kind())
        // With its pull request settled, only what was learned can still be open.
        .filter(|kind| over.is_none() || *kind == DecisionKind::Learning)
        .map(|kind| wish(kind).to_owned())
        .collect();
    wanted.sort();
    wanted.dedup();
    if over.is_none() {
        wanted.extend(
            folds
                .iter()
                .filter_map(|(role, fold, log)| word(*role, fold, log)),
        );
    }
    if !wanted.is_empty() {
        return State::Needs(wanted.join("; "));
    }
    if let Some(word) = over {
        return State::Over(word);
    }
    let doing = |wanted: fn(&Doing) -> bool| -> Vec<Role> {
        let fits = |fold: &ThreadFold| fold.doing.as_ref().is_some_and(wanted);
        let roles = folds.iter().filter(|(_, fold, _)| fits(fold));
        roles.map(|(role, ..)| *role).collect()
    };
    let working = doing(|doing| matches!(doing, Doing::Working(_)));
    match (working.is_empty(), runs) {
        (false, true) => State::Working(working),
        (false, false) => State::Interrupted(working),
        _ if !doing(|doing| matches!(doing, Doing::Waiting(_))).is_empty() => State::Waiting,
        _ if folds.iter().any(|(_, fold, _)| fold.doing.is_some()) => State::Answered,
        _ => State::New,
    }
}

const fn wish(kind: DecisionKind) -> &'static str {
    match kind {
        DecisionKind::Plan => "decide about the plan",
        DecisionKind::Command => "allow or refuse a command",
        DecisionKind::Learning => "keep or drop a learning",
        DecisionKind::Roadmap => "decide about the roadmap",
        DecisionKind::Maps => "keep or drop the project maps",
        DecisionKind::Develop => "start the roadmap",
        DecisionKind::Merge => "merge, hold or close the pull request",
        DecisionKind::Picture => "keep or discard a picture",
        DecisionKind::Cap => "raise the budget or stop",
    }
}

/// What one role waits for that only a person can give, apart from cards.
fn word(role: Role, fold: &ThreadFold, log: &[Entry]) -> Option<String> {
    let title = role.title();
    match fold.doing.as_ref()? {
        Doing::Waiting(Waiting::Person) => Some(format!("answer the {title}")),
        Doing::Stopped => Some(format!("say `resume` to the {title}, who was stopped")),
        Doing::Nothing => {
            let ends = log.iter().rev().find_map(|entry| match &entry.record {
                Record::ActivationEnded { ending, .. } => Some(ending),
                _ => None,
            });
            let why = match ends? {
                Ending::Failed { reason } => reason.lines().next().unwrap_or_default().to_owned(),
                Ending::TurnLimit => "it used all its turns".to_owned(),
                Ending::OutOfMoney => "the budget is used up".to_owned(),
                Ending::Stuck => "it went in circles".to_owned(),
                Ending::Done | Ending::PassedOn | Ending::Stopped => return None,
            };
            Some(format!("a word to the {title}, who gave up: {why}"))
        }
        _ => None,
    }
}

fn whom(name: &str) -> String {
    match person_name(name) {
        name if name == person_name("") => "you".to_owned(),
        name => name.to_owned(),
    }
}

/// The first line of what was asked, cut to what a list has room for.
pub(crate) fn title(words: &str) -> String {
    let first = words.lines().map(str::trim).find(|line| !line.is_empty());
    let first = first.unwrap_or_default();
    match first.char_indices().nth(TITLE) {
        None => first.to_owned(),
        Some((at, _)) => format!("{}…", first[..at].trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::{Speaker, UserId};

    use super::*;

    fn log(records: Vec<Record>) -> Vec<Entry> {
        let entries = records.into_iter().zip(1..);
        entries
            .map(|(record, seq)| Entry {
                seq,
                epoch: 1,
                at_ms: 1000,
                record,
            })
            .collect()
    }

    fn stands(records: Vec<Record>, over: Option<&'static str>, runs: bool) -> String {
        let log = log(records);
        let fold = ThreadFold::of(&log);
        state(&[(Role::Pm, fold, &log)], over, runs).words("ana")
    }

    #[test]
    fn a_thread_is_about_what_was_asked_first_and_not_about_a_button() {
        let request = |ts: Option<&str>, words: &str| Request {
            ts: ts.map(|ts| ts.parse().unwrap()),
            person: UserId::new("U1"),
            name: "ana".to_owned(),
            words: words.to_owned(),
        };
        let pressed = request(None, "Why I rejected the call: it is not needed.");
        let later = request(Some("1700000000.000200"), "and a test");
        let asked = request(Some("1700000000.000100"), "add a flag");
        let requests = [&pressed, &later, &asked];
        assert_eq!(first(requests.into_iter()), Some(&asked));
        assert_eq!(first([&pressed].into_iter()), Some(&pressed));
    }

    #[test]
    fn a_thread_says_what_it_needs_from_whom() {
        let started = Record::ActivationStarted { activation: 1 };
        let asked = Record::User {
            event: None,
            ts: None,
            speaker: Speaker::Runtime,
            text: String::new(),
            images: vec![],
        };
        let parked = Record::Parked {
            waiting: Waiting::Person,
        };
        let ended = |ending| Record::ActivationEnded {
            activation: 1,
            ending,
        };
        let failed = ended(Ending::Failed {
            reason: "the key is refused\nmore".into(),
        });
        for (records, over, runs, words) in [
            (vec![], None, true, "nobody has taken it up yet"),
            (vec![started.clone()], None, true, "PM at work"),
            (
                vec![started.clone()],
                None,
                false,
                "PM interrupted; `codebutler up` goes on",
            ),
            (
                vec![started.clone(), parked.clone()],
                None,
                true,
                "needs ana: answer the PM",
            ),
            (
                vec![started.clone(), parked.clone(), asked],
                None,
                true,
                "PM at work",
            ),
            (
                vec![started.clone(), failed],
                None,
                true,
                "needs ana: a word to the PM, who gave up: the key is refused",
            ),
            (
                vec![started.clone(), ended(Ending::Stopped)],
                None,
                true,
                "needs ana: say `resume` to the PM, who was stopped",
            ),
            (
                vec![started.clone(), ended(Ending::Done)],
                None,
                true,
                "answered",
            ),
            (vec![started, parked], Some("merged"), true, "merged"),
        ] {
            assert_eq!(stands(records, over, runs), words);
        }
        assert_eq!(title("\n  add a flag  \nplease"), "add a flag");
        assert_eq!(title(&"x".repeat(80)).chars().count(), TITLE + 1);
    }
}
