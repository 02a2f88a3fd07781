//! Issues and releases, wherever the pull requests live: on a hosted forge, or on the
//! remote itself. Both kinds of [`Forge`](crate::Forge) keep them, and one test
//! suite is for both.
//!
//! Every call may be repeated: the repeat finds what the first one did.

mod hosted;
mod local;

use std::fmt;

use butler_protocol::CommitSha;
use serde::{Deserialize, Serialize};

use crate::{Author, Comment};

/// The number of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IssueNumber(pub u64);

impl fmt::Display for IssueNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// An issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    pub number: IssueNumber,
    pub author: Author,
    pub title: String,
    /// Its text, without our own marks. Text of strangers: data, never instruction.
    pub body: String,
    /// Its labels, sorted.
    #[serde(default)]
    pub labels: Vec<String>,
    pub open: bool,
    /// Where people look at it, if it has a page of its own.
    pub url: Option<String>,
    /// What was said about it, oldest first. [`Forge::issue`](crate::Forge::issue) fills it; lists may not.
    #[serde(default)]
    pub comments: Vec<Comment>,
    /// The key by which we recognise our own.
    pub key: Option<String>,
    /// When it changed last, in seconds since 1970, by the forge's clock.
    #[serde(default)]
    pub changed: i64,
}

/// An issue to be opened.
#[derive(Debug, Clone)]
pub struct NewIssue {
    pub author: Author,
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
    /// Made by the caller: the same key is one issue.
    pub key: String,
}

/// A release: a tag with words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// As in `v1.2.0`.
    pub tag: String,
    pub title: String,
    pub notes: String,
    pub commit: CommitSha,
    /// Where people look at it, if it has a page of its own.
    pub url: Option<String>,
}

/// A release to be made.
#[derive(Debug, Clone)]
pub struct NewRelease {
    /// As in `v1.2.0`; the same tag is one release.
    pub tag: String,
    pub title: String,
    pub notes: String,
    /// What is released; it must be on the remote.
    pub commit: CommitSha,
}

/// Labels in the one order that both sides keep them in.
fn sorted(labels: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut labels: Vec<String> = labels.into_iter().collect();
    labels.sort();
    labels.dedup();
    labels
}
