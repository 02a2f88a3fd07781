//! Pull requests, wherever they live. One trait, so that everything above does
//! not know whether it talks to GitHub or to refs on a bare remote; and one test
//! suite that every implementation passes.
//!
//! Every call may be repeated: the repeat finds what the first one did.

mod block;
mod gh;
mod github;
mod local;
mod store;
pub(crate) mod wire;

use std::sync::Arc;

pub use block::block_of;
use butler_protocol::{BranchName, CommitSha, PrNumber, Role};
use futures_util::future::BoxFuture;
pub use gh::gh_logged_in;
pub(crate) use github::ATTEMPTS;
pub use github::GitHubForge;
pub use local::LocalForge;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{Repo, Result};

/// The forge of a clone: GitHub where its remote is GitHub, else the local one.
///
/// # Errors
/// When the clone has no remote.
pub fn forge_of(repo: &Repo) -> Result<Arc<dyn Forge>> {
    Ok(match GitHubForge::of(repo) {
        Some(forge) => Arc::new(forge),
        None => Arc::new(LocalForge::new(repo)?),
    })
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequest {
    /// Its number.
    pub number: PrNumber,
    /// Its title, which becomes the merged commit's subject.
    pub title: String,
    /// Its description.
    pub body: String,
    /// The branch that it wants to merge.
    pub branch: BranchName,
    /// The tip of that branch; the last one once it is merged or closed.
    pub head: CommitSha,
    /// The branch that it wants to merge into.
    pub base: BranchName,
    /// Whether it is still open.
    pub state: PullState,
    /// Where people look at it, if it has a page of its own.
    #[serde(default)]
    pub url: Option<String>,
    /// What was said about it, oldest first. [`Forge::view`] fills it; lists may not.
    #[serde(default)]
    pub comments: Vec<Comment>,
}

/// Where a pull request stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum PullState {
    /// Waiting.
    Open,
    /// Merged as this commit of the base branch.
    Merged {
        /// Which.
        commit: CommitSha,
    },
    /// Given up.
    Closed,
}

/// One comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// Stable as long as the comment exists.
    pub id: String,
    /// Who wrote it.
    pub author: Author,
    /// What it says, without our own marks.
    pub body: String,
    /// The line it is about, if it is about one.
    #[serde(default)]
    pub place: Option<Place>,
    /// Seconds since 1970.
    pub at: i64,
    /// The key by which we recognise our own.
    #[serde(default)]
    pub key: Option<String>,
}

/// Who wrote a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// One of us.
    Role(Role),
    /// Somebody else, by the name they have there.
    Person(String),
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Relative to the repository.
    pub path: String,
    /// From 1, on the new side.
    pub line: u32,
}

/// A pull request to be opened.
#[derive(Debug, Clone)]
pub struct NewPull {
    /// A branch of ours that is on the remote.
    pub branch: BranchName,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
}

/// What to change about a pull request; nothing means leave it.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    /// The title.
    pub title: Option<String>,
    /// The description.
    pub body: Option<String>,
}

/// A merge that was refused before.
#[derive(Debug, Clone)]
pub struct MergeAgain {
    /// Which pull request.
    pub number: PrNumber,
    /// The head that was agreed to.
    pub head: CommitSha,
    /// The subject of the commit.
    pub title: String,
    /// The rest of its message.
    pub body: String,
}

/// A comment to be made.
#[derive(Debug, Clone)]
pub struct NewComment {
    /// Who says it.
    pub author: Author,
    /// What.
    pub body: String,
    /// About which line, if about one.
    pub place: Option<Place>,
    /// Made by the caller: the same key is one comment.
    pub key: String,
}

impl NewComment {
    /// Adds it to what was said, unless its key is there already.
    pub(crate) fn add_to(&self, comments: &mut Vec<Comment>, at: i64) {
        let mine = |c: &Comment| c.key.as_deref() == Some(self.key.as_str());
        if !comments.iter().any(mine) {
            comments.push(Comment {
                id: format!("{}", comments.len() + 1),
                author: self.author.clone(),
                body: self.body.clone(),
                place: self.place.clone(),
                at,
                key: Some(self.key.clone()),
            });
        }
    }
}

/// One check of a head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// As in `test`.
    pub name: String,
    /// How it went.
    pub state: CheckState,
    /// The commit it ran on.
    pub head: CommitSha,
    /// Where to read more.
    #[serde(default)]
    pub url: Option<String>,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// Not done yet.
    Pending,
    /// Green.
    Passed,
    /// Red.
    Failed,
    /// Did not run, and need not.
    Skipped,
}

/// Where pull requests live. Futures are boxed so that a forge can be chosen at
/// run time.
pub trait Forge: Send + Sync {
    /// Opens a pull request; an open one of the same branch is used as it is.
    fn create<'a>(
        &'a self,
        new: &'a NewPull,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<PullRequest>>;

    /// The pull request of a branch: the open one, else the newest.
    fn find<'a>(
        &'a self,
        branch: &'a BranchName,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Option<PullRequest>>>;

    /// A pull request as it is now.
    fn view<'a>(
        &'a self,
        number: PrNumber,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<PullRequest>>;

    /// Its difference from where it left the base branch.
    fn diff<'a>(
        &'a self,
        number: PrNumber,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<String>>;

    /// Changes title or description.
    fn edit<'a>(
        &'a self,
        number: PrNumber,
        edit: &'a Edit,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<PullRequest>>;

    /// Comments, once per key.
    fn comment<'a>(
        &'a self,
        number: PrNumber,
        comment: &'a NewComment,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Comment>>;

    /// The checks of its present head.
    fn checks<'a>(
        &'a self,
        number: PrNumber,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<Check>>>;

    /// Squashes it onto the base branch and deletes its branch, provided that
    /// its head is still `head`. A repeat gives the same commit.
    fn merge<'a>(
        &'a self,
        number: PrNumber,
        head: &'a CommitSha,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CommitSha>>;

    /// Asks once more for a merge that was refused: one request, no look around
    /// it. What it gives is what [`Forge::merge`] would then find.
    fn merge_again<'a>(
        &'a self,
        again: &'a MergeAgain,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<()>>;

    /// Closes it without merging; its branch stays.
    fn close<'a>(
        &'a self,
        number: PrNumber,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<PullRequest>>;

    /// All of our pull requests, newest first; only open ones if asked so.
    fn list<'a>(
        &'a self,
        open_only: bool,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<PullRequest>>>;
}
