//! How a pull request stands, as the process that works on it tells the hub. The
//! hub has no repository of its own; what the page shows comes from here.

pub(crate) mod seen;

use serde::{Deserialize, Serialize};

use crate::{BranchName, CommitSha, PrNumber, ThreadId};

/// `POST /agent/v1/pulls`: the newest word about a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullNews {
    /// The thread it belongs to.
    pub thread: ThreadId,
    pub number: PrNumber,
    pub title: String,
    /// Its description, in Markdown.
    pub body: String,
    /// Its branch, when it is known; an older word about it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchName>,
    /// The commit it stands at.
    pub head: CommitSha,
    pub state: PullStatus,
    /// Where people look at it on its forge, if it has a page there; an older word
    /// about it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What it changes, as a unified diff; an older word about it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

impl PullNews {
    /// The longest diff that is sent; a longer one is cut at a line.
    pub const DIFF_LIMIT: usize = 2 * 1024 * 1024;

    /// A diff that fits, and says when something is missing.
    pub fn fitting(diff: &str) -> String {
        if diff.len() <= Self::DIFF_LIMIT {
            return diff.to_owned();
        }
        let most = &diff[..diff.floor_char_boundary(Self::DIFF_LIMIT)];
        let kept = &most[..most.rfind('\n').map_or(0, |at| at + 1)];
        format!(
            "{kept}diff --git a/… b/…\nBinary files: the rest of this change is too large to show\n"
        )
    }
}

/// What became of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullStatus {
    /// Waiting for review or merge.
    Open,
    /// On the default branch.
    Merged,
    /// Given up.
    Closed,
}

crate::words! { PullStatus {
    Open = "open",
    Merged = "merged",
    Closed = "closed",
}}

/// Why a forge does not merge a pull request now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergeBlock {
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
    RateLimited,
    /// The forge does not know us any more.
    LoggedOut,
    /// The account may not merge here.
    Forbidden,
    /// Nobody answers.
    Unreachable,
    /// It stands on a pull request that is not merged.
    Below,
    /// It waits in the forge's own queue, which merges it.
    Queued,
    /// The forge's queue put it out again.
    LeftQueue,
    Draft,
    /// Any other no.
    Refused,
}

impl MergeBlock {
    /// Whether it can pass without anybody asking again.
    pub const fn waits(self) -> bool {
        matches!(
            self,
            Self::ReviewMissing
                | Self::CheckPending
                | Self::CheckFailed
                | Self::RateLimited
                | Self::LoggedOut
                | Self::Unreachable
                | Self::Below
                | Self::Queued
                | Self::Draft
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_that_is_too_long_is_cut_at_a_line_and_says_so() {
        let long = "+ü\n".repeat(PullNews::DIFF_LIMIT);
        let cut = PullNews::fitting(&long);
        assert!(cut.len() < PullNews::DIFF_LIMIT + 200);
        assert!(cut.ends_with("too large to show\n"));
        assert_eq!(PullNews::fitting("+a\n"), "+a\n");
        let _ = PullNews::fitting(&"ü".repeat(PullNews::DIFF_LIMIT));
    }
}
