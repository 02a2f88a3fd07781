//! What is worth pointing out about a pull request: new TODO and FIXME lines,
//! and what happened on it since we last looked. Pure functions over values.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Author, Check, CheckState, Comment, PullRequest, PullState};

/// A reminder that somebody added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reminder {
    /// The file.
    pub path: String,
    /// The line, from 1, on the new side.
    pub line: u32,
    /// The line itself, trimmed.
    pub text: String,
}

/// The TODO and FIXME lines that a unified diff adds.
#[must_use]
pub fn reminders(diff: &str) -> Vec<Reminder> {
    let mut found = Vec::new();
    let (mut path, mut line, mut left) = (String::new(), 0, 0);
    for text in diff.lines() {
        // Inside a hunk everything is content, even what looks like a header.
        if left == 0 {
            if let Some(name) = text.strip_prefix("+++ ") {
                path = name.strip_prefix("b/").unwrap_or(name).to_owned();
            } else if let Some((start, count)) = hunk(text) {
                (line, left) = (start, count);
            }
            continue;
        }
        if let Some(added) = text.strip_prefix('+') {
            if is_reminder(added) {
                found.push(Reminder {
                    path: path.clone(),
                    line,
                    text: added.trim().chars().take(200).collect(),
                });
            }
        } else if !text.is_empty() && !text.starts_with(' ') {
            continue;
        }
        line += 1;
        left -= 1;
    }
    found
}

/// Start and length of a hunk's new side: `@@ -a,b +c,d @@`.
fn hunk(text: &str) -> Option<(u32, u32)> {
    let new = text.strip_prefix("@@ ")?.split(' ').nth(1)?;
    let new = new.strip_prefix('+')?;
    let (start, count) = new.split_once(',').unwrap_or((new, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

/// The words in capitals, on their own: `TODO: x`, not `TODOLIST` or `todo`.
fn is_reminder(line: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| matches!(word, "TODO" | "FIXME"))
}

/// What the caller has already seen of a pull request; kept by the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Comments.
    pub comments: BTreeSet<String>,
    /// Failed checks, as `head name`.
    pub failures: BTreeSet<String>,
    /// Whether its end was seen.
    pub ended: bool,
}

/// Something that happened on a pull request and was not our doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullEvent {
    /// A person wrote.
    Comment(Comment),
    /// A check went red.
    CheckFailed(Check),
    /// It was merged or closed.
    Ended(PullState),
}

/// What is new since `seen`, which is brought up to date. Our own comments are
/// not news. The same news is told once, also after a restart.
pub fn news(seen: &mut Seen, pull: &PullRequest, checks: &[Check]) -> Vec<PullEvent> {
    let mut events = Vec::new();
    for comment in &pull.comments {
        if seen.comments.insert(comment.id.clone()) && matches!(comment.author, Author::Person(_)) {
            events.push(PullEvent::Comment(comment.clone()));
        }
    }
    for check in checks.iter().filter(|c| c.state == CheckState::Failed) {
        if seen
            .failures
            .insert(format!("{} {}", check.head, check.name))
        {
            events.push(PullEvent::CheckFailed(check.clone()));
        }
    }
    let ended = pull.state != PullState::Open;
    if ended && !seen.ended {
        events.push(PullEvent::Ended(pull.state.clone()));
    }
    seen.ended = ended;
    events
}

#[cfg(test)]
mod tests {
    use butler_protocol::{BranchName, CommitSha, PrNumber, Role};

    use super::*;

    #[test]
    fn only_added_reminders_count_and_they_know_their_line() {
        let diff = "diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -1,3 +1,4 @@\n a\n-// TODO old\n+// TODO: new\n+let todo = TODOS;\n c\n@@ -9 +10,2 @@\n-x\n+++ FIXME(ana) count\n+y\n\\ No newline at end of file\ndiff --git a/y b/y\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+FIXME\n";
        let found: Vec<String> = reminders(diff)
            .iter()
            .map(|r| format!("{}:{} {}", r.path, r.line, r.text))
            .collect();
        assert_eq!(
            found,
            [
                "x.rs:2 // TODO: new",
                "x.rs:10 ++ FIXME(ana) count",
                "y:1 FIXME"
            ]
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics_the_reader(text in ".*", hunk in "@@ -1 \\+[0-9]{1,12}(,[0-9]{1,12})? @@\n[ +-]x") {
            let _ = reminders(&text);
            let _ = reminders(&hunk);
        }
    }

    #[test]
    fn news_is_told_once_and_ours_is_none() {
        let comment = |id: &str, author| Comment {
            id: id.into(),
            author,
            body: "b".into(),
            place: None,
            at: 0,
            key: None,
        };
        let pull = PullRequest {
            number: PrNumber(1),
            title: String::new(),
            body: String::new(),
            branch: BranchName::new("b"),
            head: CommitSha::new("h"),
            base: BranchName::new("main"),
            state: PullState::Closed,
            url: None,
            comments: vec![
                comment("1", Author::Person("ana".into())),
                comment("2", Author::Role(Role::Coder)),
            ],
        };
        let red = Check {
            name: "test".into(),
            state: CheckState::Failed,
            head: CommitSha::new("h"),
            url: None,
        };
        let mut seen = Seen::default();
        let first = news(&mut seen, &pull, std::slice::from_ref(&red));
        assert_eq!(
            first,
            [
                PullEvent::Comment(pull.comments[0].clone()),
                PullEvent::CheckFailed(red.clone()),
                PullEvent::Ended(PullState::Closed),
            ]
        );
        let json = serde_json::to_string(&seen).unwrap();
        let mut seen: Seen = serde_json::from_str(&json).unwrap();
        assert!(news(&mut seen, &pull, &[red]).is_empty());
    }
}
