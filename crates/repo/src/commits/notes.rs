//! What happened on a pull request since we last looked. Pure functions over values.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Author, Check, CheckState, Comment, PullRequest, PullState};

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
