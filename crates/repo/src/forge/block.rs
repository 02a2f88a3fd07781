//! When a forge says no to a merge: a state with a name, not an error text. Who
//! asked can wait for some of them and must do something about the others.

use std::time::Duration;

use butler_protocol::MergeBlock;

use crate::Error;

/// The state that an error of a merge stands for, and how long the forge wants to be
/// left alone.
pub fn block_of(error: &Error) -> (MergeBlock, Option<Duration>) {
    match error {
        Error::Blocked { block, wait, .. } => (*block, *wait),
        Error::NotOpen { .. } => (MergeBlock::Closed, None),
        Error::NotPushed { .. } | Error::BranchGone { .. } => (MergeBlock::BranchGone, None),
        Error::Failed { .. }
        | Error::Unreachable { .. }
        | Error::Deadline { .. }
        | Error::Outpaced { .. } => (MergeBlock::Unreachable, None),
        Error::Start { .. } => (MergeBlock::LoggedOut, None),
        _ => (MergeBlock::Refused, None),
    }
}

/// What a forge's own words about a merge stand for.
pub(super) fn in_words(status: u16, said: &str) -> MergeBlock {
    let said = said.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let check = has(&["status check", "check "]);
    match status {
        401 => MergeBlock::LoggedOut,
        403 | 429 if has(&["rate limit"]) => MergeBlock::RateLimited,
        429 => MergeBlock::RateLimited,
        _ if has(&["merge queue"]) => MergeBlock::Queued,
        _ if has(&["draft", "work in progress"]) => MergeBlock::Draft,
        _ if has(&[
            "merges are not allowed",
            "merge method",
            "merging is not allowed",
            "merge strategy",
        ]) =>
        {
            MergeBlock::MethodNotAllowed
        }
        _ if check && has(&["fail", "error", "cancelled", "timed out"]) => MergeBlock::CheckFailed,
        _ if check => MergeBlock::CheckPending,
        _ if has(&[
            "review",
            "changes requested",
            "requested changes",
            "code owner",
            "approv",
        ]) =>
        {
            MergeBlock::ReviewMissing
        }
        _ if has(&["not allowed to merge"]) => MergeBlock::Forbidden,
        403 | 404 => MergeBlock::Forbidden,
        _ => MergeBlock::Refused,
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
                MergeBlock::MethodNotAllowed,
            ),
            (
                405,
                "At least 1 approving review is required by reviewers with write access.",
                MergeBlock::ReviewMissing,
            ),
            (
                405,
                "Required status check \"ci\" is expected.",
                MergeBlock::CheckPending,
            ),
            (
                405,
                "2 of 2 required status checks are pending.",
                MergeBlock::CheckPending,
            ),
            (
                405,
                "Required status check \"ci\" is failing.",
                MergeBlock::CheckFailed,
            ),
            (
                405,
                "Repository rule violations found\n\nRequired status check \"ci\" is expected.",
                MergeBlock::CheckPending,
            ),
            (
                403,
                "API rate limit exceeded for user ID 1.",
                MergeBlock::RateLimited,
            ),
            (
                403,
                "You have exceeded a secondary rate limit.",
                MergeBlock::RateLimited,
            ),
            (
                405,
                "Repository rule violations found\n\nChanges must be made through the merge queue",
                MergeBlock::Queued,
            ),
            (405, "Pull Request is still a draft", MergeBlock::Draft),
            (401, "Bad credentials", MergeBlock::LoggedOut),
            (
                403,
                "Resource not accessible by integration",
                MergeBlock::Forbidden,
            ),
            (405, "Pull Request is not mergeable", MergeBlock::Refused),
        ] {
            assert_eq!(in_words(status, said), block, "{said}");
        }
    }
}
