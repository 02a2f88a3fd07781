//! Pull requests, issues and releases, wherever they live. One [`Forge`], so that
//! everything above does not know whether it talks to GitHub, GitLab, Gitea, Forgejo or
//! to refs on a bare remote; and one test suite that all of them pass.
//!
//! Every call may be repeated: the repeat finds what the first one did.

mod account;
mod answer;
mod block;
mod dialect;
mod gh;
mod gitea;
mod gitlab;
mod host;
mod hosted;
mod http;
pub(crate) mod local;
mod marked;
mod news;
mod owners;
pub(crate) mod wire;

use std::{collections::BTreeMap, path::PathBuf};

pub use account::{Account, account};
pub use block::block_of;
use butler_protocol::{BranchName, CommitSha, PrNumber, Role};
pub use gh::{gh_logged_in, gh_version};
pub use host::{ForgeHost, ForgeHosts, ForgeKind};
pub(crate) use hosted::ATTEMPTS;
pub(crate) use hosted::HostedForge;
use local::LocalForge;
pub use marked::{with_block, without_marks};
pub use news::{CheckNow, PullNow, news};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{Error, Issue, IssueNumber, NewIssue, NewRelease, Release, Repo, Result};

impl Forge {
    /// The forge of a clone: whatever answers at its remote's host, else the remote itself.
    /// Fails when the clone has no remote, or nobody knows what answers at its host.
    pub async fn of(repo: &Repo, hosts: &ForgeHosts) -> Result<Self> {
        let remote = repo.need_remote()?;
        match host::of_remote(repo.git().settings(), &remote.url, hosts).await? {
            Some(found) => {
                let forge = HostedForge::new(repo, found, hosts.ca_file.as_deref())?;
                Ok(Self(Kind::Hosted(forge)))
            }
            None => Self::local(repo),
        }
    }

    /// Whether others see and do things there too.
    pub fn is_hosted(&self) -> bool {
        matches!(self.0, Kind::Hosted(_))
    }

    /// The remote itself, wherever it is.
    pub fn local(repo: &Repo) -> Result<Self> {
        LocalForge::new(repo).map(|forge| Self(Kind::Local(forge)))
    }
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequest {
    pub number: PrNumber,
    /// Its title, which becomes the merged commit's subject.
    pub title: String,
    pub body: String,
    /// The branch that it wants to merge.
    pub branch: BranchName,
    /// The tip of that branch; the last one once it is merged or closed.
    pub head: CommitSha,
    /// The branch that it wants to merge into.
    pub base: BranchName,
    pub state: PullState,
    /// Where people look at it, if it has a page of its own.
    pub url: Option<String>,
    /// Whether it says of itself that it is not ready.
    #[serde(default)]
    pub draft: bool,
    /// What was said about it, oldest first. [`Forge::view`] fills it; lists may not.
    #[serde(default)]
    pub comments: Vec<Comment>,
}

impl PullRequest {
    /// Whether it is open, at the head that was agreed to.
    fn stands_at(&self, head: &CommitSha) -> Result<()> {
        let (number, state) = (self.number, "closed");
        match self.state {
            PullState::Open if self.head == *head => Ok(()),
            PullState::Open => Err(Error::HeadMoved {
                number,
                expected: head.clone(),
                actual: self.head.clone(),
            }),
            _ => Err(Error::NotOpen { number, state }),
        }
    }
}

/// Where a pull request stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum PullState {
    /// Waiting.
    Open,
    /// Merged as this commit of the base branch.
    Merged { commit: CommitSha },
    /// Given up.
    Closed,
}

/// One comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// Stable as long as the comment exists.
    pub id: String,
    pub author: Author,
    /// What it says, without our own marks.
    pub body: String,
    /// The line it is about, if it is about one.
    pub place: Option<Place>,
    /// Seconds since 1970.
    pub at: i64,
    /// The key by which we recognise our own.
    pub key: Option<String>,
}

/// Who wrote a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
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
    /// The branch that it stands on, where that is not the default branch.
    pub base: Option<BranchName>,
    pub title: String,
    pub body: String,
    /// Whether it is not ready yet; forges without drafts open it all the same.
    pub draft: bool,
}

/// Who is asked to review, by the names they have there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reviewers {
    /// People, as in `ana`.
    pub people: Vec<String>,
    /// Teams, as in `core`, without their organisation.
    pub teams: Vec<String>,
}

/// What to change about a pull request; nothing means leave it.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    pub title: Option<String>,
    /// The description.
    pub body: Option<String>,
    /// The branch that it wants to merge into.
    pub base: Option<BranchName>,
}

/// A merge that somebody decided.
#[derive(Debug, Clone)]
pub struct Merge {
    pub number: PrNumber,
    /// The head that was agreed to.
    pub head: CommitSha,
    /// Subject and text of the commit; unset: what the pull request says.
    pub words: Option<(String, String)>,
    /// Whether the forge's queue had taken it when it was asked before.
    pub queued: bool,
}

impl Merge {
    /// A merge in the words of the pull request itself.
    pub fn of(number: PrNumber, head: &CommitSha) -> Self {
        Self {
            number,
            head: head.clone(),
            words: None,
            queued: false,
        }
    }

    /// The same in these words.
    #[must_use]
    pub fn saying(mut self, title: &str, body: &str) -> Self {
        self.words = Some((title.to_owned(), body.to_owned()));
        self
    }

    /// Subject, with the number, and text of the commit.
    fn message(&self, pull: Option<&PullRequest>) -> (String, String) {
        let (title, body) = match (&self.words, pull) {
            (Some((title, body)), _) => (title.trim(), body.trim().to_owned()),
            (None, Some(pull)) => (pull.title.trim(), without_marks(&pull.body)),
            (None, None) => ("Merge", String::new()),
        };
        (format!("{title} ({})", self.number), body)
    }
}

/// A comment to be made.
#[derive(Debug, Clone)]
pub struct NewComment {
    pub author: Author,
    pub body: String,
    /// About which line, if about one.
    pub place: Option<Place>,
    /// Made by the caller: the same key is one comment.
    pub key: String,
}

impl NewComment {
    /// Adds it to what was said, unless its key is there already.
    pub(crate) fn add_to(&self, comments: &mut Vec<Comment>) -> Result<()> {
        if !comments.iter().any(|comment| self.is(comment)) {
            comments.push(Comment {
                id: format!("{}", comments.len() + 1),
                author: self.author.clone(),
                body: self.body.clone(),
                place: self.place.clone(),
                at: jiff::Timestamp::now().as_second(),
                key: Some(self.key.clone()),
            });
        }
        Ok(())
    }

    /// The one of these that it is already.
    pub(crate) fn in_list(&self, comments: Vec<Comment>) -> Option<Comment> {
        comments.into_iter().find(|comment| self.is(comment))
    }

    fn is(&self, comment: &Comment) -> bool {
        comment.key.as_ref() == Some(&self.key)
    }
}

/// One check of a head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// As in `test`.
    pub name: String,
    pub state: CheckState,
    /// The commit it ran on.
    pub head: CommitSha,
    pub url: Option<String>,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    Pending,
    /// Green.
    Passed,
    /// Red.
    Failed,
    /// Did not run, and need not.
    Skipped,
}

/// Where pull requests, issues and releases live. Every call may be repeated: the
/// repeat finds what the first one did.
#[derive(Debug, Clone)]
pub struct Forge(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Hosted(HostedForge),
    Local(LocalForge),
}

/// Both kinds do the same; each call goes to the one that is there. What has a value behind
/// it is only asked of a hosted forge: on a bare remote nobody but us does anything, and
/// that is the answer there.
macro_rules! calls {
    (@local $forge:ident $cancel:ident $name:ident ($($arg:ident),*)) => {{
        let repo = $forge.repo.clone();
        let cancel = $cancel.clone();
        LocalForge { repo, cancel }.$name($($arg),*).await
    }};
    (@local $forge:ident $cancel:ident $name:ident ($($arg:ident),*) $answer:expr) => {
        Ok($answer)
    };
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $gives:ty $(= $local:expr)?;)*) => {
        impl Forge {$(
            $(#[$doc])*
            pub async fn $name(
                &self,
                $($arg: $type,)*
                cancel: &CancellationToken,
            ) -> Result<$gives> {
                match &self.0 {
                    Kind::Hosted(forge) => forge.until(cancel).$name($($arg),*).await,
                    Kind::Local(_forge) => calls!(@local _forge cancel $name ($($arg),*) $($local)?),
                }
            }
        )*}
    };
}

calls! {
    /// Opens a pull request; an open one of the same branch is used as it is.
    fn create(new: &NewPull) -> PullRequest;

    /// The pull request of a branch: the open one, else the newest.
    fn find(branch: &BranchName) -> Option<PullRequest>;

    /// A pull request as it is now.
    fn view(number: PrNumber) -> PullRequest;

    /// Its difference from where it left the base branch.
    fn diff(number: PrNumber) -> String;

    /// Changes title, description or base.
    fn edit(number: PrNumber, edit: &Edit) -> PullRequest;

    /// Comments, once per key. What is about a line that the change does not show stands
    /// below all of it, and names the line.
    fn comment(number: PrNumber, comment: &NewComment) -> Comment;

    /// The checks of its present head.
    fn checks(number: PrNumber) -> Vec<Check>;

    /// Squashes it onto the base branch and deletes its branch, provided that
    /// its head is still the one that was agreed to. What stood on its branch stands on its
    /// base then. A repeat gives the same commit.
    /// Rules of the base branch hold for everybody, also for who could step over them;
    /// where a queue merges, it is put there, which is a refusal that waits.
    fn merge(wanted: &Merge) -> CommitSha;

    /// Asks once more for a merge that was refused: as few requests as it takes, no look
    /// around it. What it gives is what [`Forge::merge`] would then find.
    fn merge_again(wanted: &Merge) -> ();

    /// Says that a draft is ready now.
    fn ready(number: PrNumber) -> () = ();

    /// Puts labels on it; those that it has stay.
    fn label(number: PrNumber, labels: &[String]) -> () = ();

    /// Who owns these files by the default branch's `CODEOWNERS`, as far as they can be
    /// asked there.
    fn owners(files: &[String]) -> Reviewers = Reviewers::default();

    /// Asks for reviews. Who was asked, has reviewed, wrote it, or is not known there is
    /// left alone.
    fn ask_reviews(number: PrNumber, reviewers: &Reviewers) -> () = ();

    /// A short look at these, by one request: the same text means that nothing moved.
    /// Nothing where nobody but us ever does anything to a pull request.
    fn glance(watched: &[PrNumber]) -> Option<BTreeMap<PrNumber, String>> = None;

    /// These pull requests with what people and checks say, by one request.
    fn look(numbers: &[PrNumber]) -> Vec<PullNow> = Vec::new();

    /// Says how our own checks of a commit went, where others see it.
    fn set_status(head: &CommitSha, green: bool, said: &str) -> () = ();

    /// Whether somebody, by the name they have there, may push to the repository.
    fn may_write(login: &str) -> bool = false;

    /// The files in which a head and the base do not go together.
    fn conflict_files(head: &CommitSha) -> Vec<PathBuf>;

    /// The part of a check's log that says why it failed; empty where there is none.
    fn check_log(job: u64) -> String = String::new();

    /// Answers a comment where it stands, once per key.
    fn reply(number: PrNumber, to: &str, comment: &NewComment) -> Comment;

    /// Closes it without merging; its branch stays.
    fn close(number: PrNumber) -> PullRequest;

    /// All of our pull requests, newest first; only open ones if asked so.
    fn list(open_only: bool) -> Vec<PullRequest>;

    /// Opens an issue, once per key.
    fn open_issue(new: &NewIssue) -> Issue;

    /// The issues, newest first; only open ones if asked so.
    fn issues(open_only: bool) -> Vec<Issue>;

    /// The open issues that changed at or after this, in seconds since 1970 by the forge's
    /// own clock. None where nobody but us writes issues.
    fn issues_since(changed: i64) -> Vec<Issue> = Vec::new();

    /// Who put this label on an issue last, if it is there, and a number that is another
    /// one each time.
    fn labelled(number: IssueNumber, label: &str) -> Option<(String, u64)> = None;

    /// An issue as it is now, with its comments.
    fn issue(number: IssueNumber) -> Issue;

    /// Adds labels.
    fn label_issue(number: IssueNumber, labels: &[String]) -> Issue;

    /// Comments on an issue, once per key. A place is not looked at.
    fn comment_issue(number: IssueNumber, comment: &NewComment) -> Comment;

    /// Closes an issue.
    fn close_issue(number: IssueNumber) -> Issue;

    /// Makes a release, once per tag. A tag that stands at another commit is
    /// never moved.
    fn publish(new: &NewRelease) -> Release;

    /// The releases, newest first.
    fn releases() -> Vec<Release>;
}
