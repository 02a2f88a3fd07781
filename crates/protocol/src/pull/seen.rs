//! What happens to a pull request on its forge, as the role that looks after it
//! writes it down: what it saw last, and what was new then. Both stand in one line of
//! its log, so that each thing is told once, whenever the process ends.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{CommitSha, PrNumber, PullStatus};

/// A pull request as it was when somebody last looked. Small: what was said is
/// known by its id alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullSeen {
    pub number: PrNumber,
    /// Whether it was open.
    pub state: PullStatus,
    /// Where its branch stood.
    pub head: CommitSha,
    #[serde(default)]
    pub draft: bool,
    /// Whether it did not go together with its base.
    #[serde(default)]
    pub conflict: bool,
    /// The comments and reviews that were there.
    #[serde(default)]
    pub said: BTreeSet<String>,
    /// The checks that were red, and at which head.
    #[serde(default)]
    pub red: BTreeMap<String, CommitSha>,
}

/// Something that others did to a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum PullEvent {
    /// Somebody commented or reviewed.
    Said(Said),
    /// A check went red.
    CheckFailed(RedCheck),
    /// A check that was red is green.
    CheckRecovered { name: String, head: CommitSha },
    /// Somebody else pushed to its branch.
    Pushed {
        /// Where it stands now.
        head: CommitSha,
        /// Who, by the name on the commit.
        by: String,
    },
    /// It does not go together with its base any more.
    Conflict { files: Vec<String> },
    /// It became a draft, or is none any more.
    Draft {
        /// Which of the two.
        is: bool,
    },
    Merged {
        /// As this commit of the base.
        commit: CommitSha,
        by: String,
    },
    /// It was closed there.
    Closed { by: String },
    /// It was opened again.
    Reopened,
}

/// What somebody wrote on a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// As in `line-7`: what it is, and its number there.
    pub id: String,
    /// Who, by the name there.
    pub by: String,
    /// Whether they may push to the repository. Whoever may not is a stranger.
    #[serde(default)]
    pub may_write: bool,
    /// What they say of the whole, when it is a review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Reviewed>,
    pub text: String,
    /// The line they are about, as `path:line`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Whether that line is gone since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outdated: bool,
}

/// What a review says of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reviewed {
    /// It may be merged.
    Approved,
    /// It may not, as it is.
    ChangesRequested,
}

/// A check that failed on the forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedCheck {
    pub name: String,
    pub head: CommitSha,
    /// Whether it is red on the base too.
    #[serde(default)]
    pub on_base: bool,
    /// The part of its log that says why, where it could be had.
    #[serde(default)]
    pub log: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}
