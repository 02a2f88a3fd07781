//! What happened to a pull request since somebody last looked. Pure: what was seen
//! then and what is there now in, what is new out. What we did ourselves is no news.

use std::collections::{BTreeMap, BTreeSet};

use butler_protocol::{
    BranchName, CommitSha, PrNumber, PullEvent, PullSeen, PullStatus, RedCheck, Said,
};

use super::{CheckState, PullState};

/// A pull request as its forge shows it now, with what people and checks say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullNow {
    pub number: PrNumber,
    pub branch: BranchName,
    pub state: PullState,
    /// Who ended it, if it is not.
    pub ended_by: String,
    pub head: CommitSha,
    /// Who pushed that, unless it was one of us.
    pub pushed_by: Option<String>,
    pub draft: bool,
    /// Whether it does not go together with its base; nothing while nobody knows.
    pub conflict: Option<bool>,
    /// Whether it could be merged, in the forge's own word.
    pub merge_state: String,
    /// What others said on it.
    pub said: Vec<Said>,
    /// Comments and reviews that are ours.
    pub ours: BTreeSet<String>,
    pub checks: Vec<CheckNow>,
}

/// A check of a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckNow {
    pub name: String,
    pub state: CheckState,
    /// Whether the base has it red too.
    pub red_on_base: bool,
    /// Where its log can be had.
    pub job: Option<u64>,
    /// What it says of itself.
    pub summary: String,
    pub url: Option<String>,
}

/// What is new, and what was seen by now. Who may write, the log of a red check and the
/// files of a conflict are not in it: they take a look of their own.
pub fn news(before: Option<&PullSeen>, now: &PullNow) -> (PullSeen, Vec<PullEvent>) {
    let before = before.filter(|before| before.number == now.number);
    let mut news = Vec::new();
    if let Some(by) = &now.pushed_by
        && before.is_none_or(|before| before.head != now.head)
    {
        news.push(PullEvent::Pushed {
            head: now.head.clone(),
            by: by.clone(),
        });
    }
    let known = |id: &String| before.is_some_and(|before| before.said.contains(id));
    let said = now.said.iter().filter(|said| !known(&said.id));
    news.extend(said.cloned().map(PullEvent::Said));
    let red = checks(before, now, &mut news);
    let was = before.is_some_and(|before| before.conflict);
    let conflict = now.conflict.unwrap_or(was) && now.state == PullState::Open;
    if conflict && !was {
        news.push(PullEvent::Conflict { files: Vec::new() });
    }
    if before.is_some_and(|before| before.draft != now.draft) && now.state == PullState::Open {
        news.push(PullEvent::Draft { is: now.draft });
    }
    let state = status(&now.state);
    let was = before.map_or(PullStatus::Open, |before| before.state);
    if state != was {
        let by = now.ended_by.clone();
        news.push(match &now.state {
            PullState::Merged { commit } => PullEvent::Merged {
                commit: commit.clone(),
                by,
            },
            PullState::Closed => PullEvent::Closed { by },
            PullState::Open => PullEvent::Reopened,
        });
    }
    let seen = PullSeen {
        number: now.number,
        state,
        head: now.head.clone(),
        draft: now.draft,
        conflict,
        said: now
            .said
            .iter()
            .map(|said| said.id.clone())
            .chain(now.ours.iter().cloned())
            .collect(),
        red,
    };
    (seen, news)
}

/// The checks that are red by now. One that runs again stays what it was.
fn checks(
    before: Option<&PullSeen>,
    now: &PullNow,
    news: &mut Vec<PullEvent>,
) -> BTreeMap<String, CommitSha> {
    let mut red = before.map_or_else(BTreeMap::new, |before| before.red.clone());
    for check in &now.checks {
        let was = red.get(&check.name);
        match check.state {
            CheckState::Failed if was != Some(&now.head) => {
                red.insert(check.name.clone(), now.head.clone());
                news.push(PullEvent::CheckFailed(RedCheck {
                    name: check.name.clone(),
                    head: now.head.clone(),
                    on_base: check.red_on_base,
                    log: check.summary.clone(),
                    url: check.url.clone(),
                }));
            }
            CheckState::Passed if was.is_some() => {
                red.remove(&check.name);
                news.push(PullEvent::CheckRecovered {
                    name: check.name.clone(),
                    head: now.head.clone(),
                });
            }
            _ => {}
        }
    }
    red
}

const fn status(state: &PullState) -> PullStatus {
    match state {
        PullState::Open => PullStatus::Open,
        PullState::Merged { .. } => PullStatus::Merged,
        PullState::Closed => PullStatus::Closed,
    }
}

/// The most of a log that is passed on.
const LOG_BYTES: usize = 4 * 1024;
/// Lines before a sign of trouble that explain it.
const BEFORE: usize = 12;

/// The part of a check's log that says why it failed: around the last sign of trouble,
/// else its end. Time stamps and colours go.
pub(super) fn why(log: &str) -> String {
    const SIGNS: [&str; 6] = [
        "##[error]",
        "error:",
        "error[",
        "FAILED",
        "not ok",
        "panicked",
    ];
    let lines: Vec<String> = log.lines().map(plain).collect();
    let sign = |line: &String| SIGNS.iter().any(|sign| line.contains(sign));
    let trouble = |line: &String| sign(line) && !line.contains("Process completed with exit code");
    let last = lines.iter().rposition(trouble);
    let end = last.map_or(lines.len(), |at| (at + BEFORE).min(lines.len()));
    let mut begin = end;
    let mut bytes = 0;
    while begin > 0 {
        bytes += lines[begin - 1].len() + 1;
        let enough = last.is_some_and(|at| begin + 2 * BEFORE < at);
        if bytes > LOG_BYTES || enough {
            break;
        }
        begin -= 1;
    }
    lines[begin..end].join("\n").trim().to_owned()
}

/// A line without the time before it and without colours.
fn plain(line: &str) -> String {
    let text = match line.split_once(' ') {
        Some((time, rest)) if time.len() > 19 && time.parse::<jiff::Timestamp>().is_ok() => rest,
        _ => line,
    };
    let mut plain = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            for skipped in letters.by_ref() {
                if skipped.is_ascii_alphabetic() {
                    break;
                }
            }
        } else if !letter.is_control() || letter == '\t' {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(id: &str) -> Said {
        Said {
            id: id.to_owned(),
            by: "ana".into(),
            may_write: false,
            review: None,
            text: "why?".into(),
            place: None,
            outdated: false,
        }
    }

    fn check(name: &str, state: CheckState) -> CheckNow {
        CheckNow {
            name: name.to_owned(),
            state,
            red_on_base: false,
            job: None,
            summary: String::new(),
            url: None,
        }
    }

    fn now(head: &str) -> PullNow {
        PullNow {
            number: PrNumber(1),
            branch: BranchName::new("codebutler/x-1"),
            state: PullState::Open,
            ended_by: "ben".into(),
            head: CommitSha::new(head),
            pushed_by: None,
            draft: false,
            conflict: Some(false),
            merge_state: String::new(),
            said: Vec::new(),
            ours: BTreeSet::new(),
            checks: Vec::new(),
        }
    }

    #[test]
    fn a_pull_request_that_was_just_opened_is_no_news_and_the_rest_is_told_once() {
        let (seen, first) = news(None, &now("a"));
        assert_eq!(first, []);
        let mut later = now("b");
        later.pushed_by = Some("ben".into());
        later.said = vec![said("note-1")];
        later.ours = ["note-2".to_owned()].into();
        later.checks = vec![
            check("test", CheckState::Failed),
            check("lint", CheckState::Passed),
        ];
        later.conflict = Some(true);
        later.draft = true;
        later.state = PullState::Open;
        let (seen, told) = news(Some(&seen), &later);
        assert_eq!(told.len(), 5, "{told:?}");
        assert_eq!(news(Some(&seen), &later), (seen.clone(), Vec::new()));
        // Nobody knows yet whether it still conflicts, and the check runs again.
        let mut again = later.clone();
        (again.head, again.pushed_by) = (CommitSha::new("c"), None);
        again.checks = vec![check("test", CheckState::Pending)];
        again.conflict = None;
        let (seen, told) = news(Some(&seen), &again);
        assert_eq!(told, []);
        again.checks = vec![check("test", CheckState::Passed)];
        again.state = PullState::Closed;
        let (seen, told) = news(Some(&seen), &again);
        let recovered = PullEvent::CheckRecovered {
            name: "test".into(),
            head: CommitSha::new("c"),
        };
        assert_eq!(told, [recovered, PullEvent::Closed { by: "ben".into() }]);
        again.state = PullState::Open;
        assert_eq!(news(Some(&seen), &again).1, [PullEvent::Reopened]);
    }

    #[test]
    fn the_log_of_a_check_is_cut_to_what_says_why() {
        let noise = "2026-01-02T03:04:05.1234567Z all is well\n".repeat(4000);
        let log = format!(
            "{noise}2026-01-02T03:04:05.1234567Z \u{1b}[31mnot ok\u{1b}[0m 3 - the empty list\n{}##[error]Process completed with exit code 1.\n",
            "2026-01-02T03:04:05.1234567Z after it\n".repeat(3)
        );
        let why = why(&log);
        assert!(
            why.contains("\nnot ok 3 - the empty list\nafter it"),
            "{why}"
        );
        assert!(why.len() <= LOG_BYTES && !why.contains("2026"), "{why}");
        assert_eq!(super::why("only this\n"), "only this");
        assert_eq!(super::why(""), "");
    }

    proptest! {
        /// However a pull request moves, nothing is told twice in a row.
        #[test]
        fn the_same_look_brings_nothing_new(
            ids in proptest::collection::btree_set(0u8..9, 0..5),
            red in proptest::bool::ANY,
            draft in proptest::bool::ANY,
            conflict in proptest::option::of(proptest::bool::ANY),
            closed in proptest::bool::ANY,
        ) {
            let (seen, _) = news(None, &now("a"));
            let mut later = now("b");
            later.said = ids.iter().map(|id| said(&format!("note-{id}"))).collect();
            later.draft = draft;
            later.conflict = conflict;
            if red { later.checks.push(check("test", CheckState::Failed)); }
            if closed { later.state = PullState::Closed; }
            let (seen, _) = news(Some(&seen), &later);
            prop_assert_eq!(news(Some(&seen), &later).1, Vec::new());
        }
    }
}
