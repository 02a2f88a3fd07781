//! When a forge says no to a merge: a state with a name, not an error text. Who
//! asked can wait for some of them and must do something about the others.

use std::time::Duration;

use crate::Error;

/// Why a pull request is not merged now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Block {
    /// Somebody closed it by hand.
    Closed,
    /// Its branch is not on the remote any more.
    BranchGone,
    /// The repository does not allow squash merges.
    MethodNotAllowed,
    /// A review that is required is missing, or asks for changes.
    ReviewMissing,
    /// A required check has not ended.
    CheckPending,
    /// A required check is red.
    CheckFailed,
    /// Too many requests for now.
    RateLimited,
    /// The forge does not know us any more.
    LoggedOut,
    /// The account may not merge here.
    Forbidden,
    /// Nobody answers.
    Unreachable,
    /// Any other no.
    Refused,
}

impl Block {
    const ALL: [Self; 11] = [
        Self::Closed,
        Self::BranchGone,
        Self::MethodNotAllowed,
        Self::ReviewMissing,
        Self::CheckPending,
        Self::CheckFailed,
        Self::RateLimited,
        Self::LoggedOut,
        Self::Forbidden,
        Self::Unreachable,
        Self::Refused,
    ];

    /// The word in keys and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::BranchGone => "branch-gone",
            Self::MethodNotAllowed => "method-not-allowed",
            Self::ReviewMissing => "review-missing",
            Self::CheckPending => "check-pending",
            Self::CheckFailed => "check-failed",
            Self::RateLimited => "rate-limited",
            Self::LoggedOut => "logged-out",
            Self::Forbidden => "forbidden",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
        }
    }

    /// The block of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|block| block.as_str() == name)
    }

    /// Whether it can pass without anybody asking again.
    #[must_use]
    pub const fn waits(self) -> bool {
        matches!(
            self,
            Self::ReviewMissing
                | Self::CheckPending
                | Self::CheckFailed
                | Self::RateLimited
                | Self::LoggedOut
                | Self::Unreachable
        )
    }

    /// The state that an error of a merge stands for, and how long the forge
    /// wants to be left alone.
    #[must_use]
    pub fn of(error: &Error) -> (Self, Option<Duration>) {
        match error {
            Error::Blocked { block, wait, .. } => (*block, *wait),
            Error::NotOpen { .. } => (Self::Closed, None),
            Error::NotPushed { .. } | Error::BranchGone { .. } => (Self::BranchGone, None),
            Error::Failed { .. } | Error::Deadline { .. } | Error::Outpaced { .. } => {
                (Self::Unreachable, None)
            }
            Error::Start { .. } => (Self::LoggedOut, None),
            _ => (Self::Refused, None),
        }
    }

    /// What GitHub's own words about a merge stand for.
    pub(super) fn in_words(status: u16, said: &str) -> Self {
        let said = said.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let check = has(&["status check", "check "]);
        match status {
            401 => Self::LoggedOut,
            403 | 429 if has(&["rate limit"]) => Self::RateLimited,
            429 => Self::RateLimited,
            _ if has(&[
                "merges are not allowed",
                "merge method",
                "merging is not allowed",
            ]) =>
            {
                Self::MethodNotAllowed
            }
            _ if check && has(&["fail", "error", "cancelled", "timed out"]) => Self::CheckFailed,
            _ if check => Self::CheckPending,
            _ if has(&["review", "changes requested", "code owner", "approv"]) => {
                Self::ReviewMissing
            }
            403 | 404 => Self::Forbidden,
            _ => Self::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_github_says_has_a_name() {
        for (status, said, block) in [
            (
                405,
                "Squash merges are not allowed on this repository.",
                Block::MethodNotAllowed,
            ),
            (
                405,
                "At least 1 approving review is required by reviewers with write access.",
                Block::ReviewMissing,
            ),
            (
                405,
                "Required status check \"ci\" is expected.",
                Block::CheckPending,
            ),
            (
                405,
                "2 of 2 required status checks are pending.",
                Block::CheckPending,
            ),
            (
                405,
                "Required status check \"ci\" is failing.",
                Block::CheckFailed,
            ),
            (
                405,
                "Repository rule violations found\n\nRequired status check \"ci\" is expected.",
                Block::CheckPending,
            ),
            (
                403,
                "API rate limit exceeded for user ID 1.",
                Block::RateLimited,
            ),
            (
                403,
                "You have exceeded a secondary rate limit.",
                Block::RateLimited,
            ),
            (401, "Bad credentials", Block::LoggedOut),
            (
                403,
                "Resource not accessible by integration",
                Block::Forbidden,
            ),
            (405, "Pull Request is not mergeable", Block::Refused),
        ] {
            assert_eq!(Block::in_words(status, said), block, "{said}");
        }
    }

    #[test]
    fn every_block_is_found_by_its_name() {
        for block in Block::ALL {
            assert_eq!(Block::named(block.as_str()), Some(block));
        }
    }
}
