//! The local forge: pull requests for any git remote, kept on that remote
//! itself, so that every clone sees them and no service is needed. Merging is
//! real git: a squash commit, pushed together with the pull request's new state
//! and the deletion of its branch, all or none.

pub(crate) mod ledger;
mod merge;

use std::path::PathBuf;

use butler_protocol::{BranchName, CommitSha, PrNumber};
use tokio_util::sync::CancellationToken;

use super::{Check, Comment, Edit, Merge, NewComment, NewPull, PullRequest, PullState};
use crate::{
    Error, Repo, Result,
    commits::{diff, squash},
    worktree::name,
};
use ledger::{Entry, Kept};

pub(crate) const ATTEMPTS: u32 = 8;

/// Pull requests as refs on the remote of a clone, until the work is cancelled.
#[derive(Debug, Clone)]
pub(crate) struct LocalForge {
    pub(crate) repo: Repo,
    pub(crate) cancel: CancellationToken,
}

/// `pr.json` in a commit under `refs/codebutler/pr/<n>`.
impl Entry for PullRequest {
    const REFS: &'static str = "refs/codebutler/pr";
    const FILE: &'static str = "pr.json";
    const NOUN: &'static str = "pull request";

    fn number(&self) -> u64 {
        self.number.0
    }

    fn missing(number: u64) -> Error {
        let number = PrNumber(number);
        Error::NoPull { number }
    }

    /// The branches that they are about.
    fn more_refs(repo: &Repo) -> Vec<String> {
        let default = repo.default_branch();
        let ours = repo.tracking_ref(&BranchName::new("codebutler/*"));
        vec![
            format!("+refs/heads/{default}:{}", repo.default_ref()),
            format!("+refs/heads/codebutler/*:{ours}"),
        ]
    }

    /// An open pull request shows the tip of its branch.
    async fn live(mut self, repo: &Repo) -> Result<Self> {
        if self.state == PullState::Open {
            let tip = repo.resolve(&repo.tracking_ref(&self.branch)).await?;
            self.head = tip.unwrap_or(self.head);
        }
        Ok(self)
    }
}

/// The pull request that a repeated create means: the open one of the branch,
/// or one that was merged or closed at this very head (or whose branch is gone).
fn existing(
    all: &[Kept<PullRequest>],
    branch: &BranchName,
    head: Option<&CommitSha>,
) -> Option<PullRequest> {
    let all = all.iter().rev().map(|kept| &kept.entry);
    let mine = || all.clone().filter(|pull| pull.branch == *branch);
    let last = || {
        let last = mine().next();
        last.filter(|pull| head.is_none_or(|head| pull.head == *head))
    };
    let open = mine().find(|pull| pull.state == PullState::Open);
    open.or_else(last).cloned()
}

impl LocalForge {
    /// The forge of a clone's remote.
    pub(crate) fn new(repo: &Repo) -> Result<Self> {
        repo.need_remote()?;
        Ok(Self {
            repo: repo.clone(),
            cancel: CancellationToken::new(),
        })
    }

    pub(crate) async fn create(&self, new: &NewPull) -> Result<PullRequest> {
        let branch = new.branch.clone();
        if !name::is_ours(&branch) {
            return Err(Error::NotOurs { branch });
        }
        for attempt in 0..ATTEMPTS {
            let all = self.all::<PullRequest>().await?;
            let head = self.repo.remote_tip(&branch).await?;
            if let Some(there) = existing(&all, &branch, head.as_ref()) {
                return there.live(&self.repo).await;
            }
            let Some(head) = head else {
                return Err(Error::NotPushed { branch });
            };
            let base = new.base.as_ref().unwrap_or(self.repo.default_branch());
            let pull = PullRequest {
                number: PrNumber(ledger::next(&all)),
                title: new.title.clone(),
                body: new.body.clone(),
                branch: branch.clone(),
                head,
                base: base.clone(),
                state: PullState::Open,
                url: None,
                // A bare remote shows nobody a draft.
                draft: false,
                comments: Vec::new(),
            };
            if self.put(&pull, None, "opened", attempt).await? {
                return Ok(pull);
            }
        }
        Err(Error::outpaced(&branch, ATTEMPTS))
    }

    pub(crate) async fn find(&self, branch: &BranchName) -> Result<Option<PullRequest>> {
        let all = self.all::<PullRequest>().await?;
        match existing(&all, branch, None) {
            Some(pull) => pull.live(&self.repo).await.map(Some),
            None => Ok(None),
        }
    }

    pub(crate) async fn view(&self, number: PrNumber) -> Result<PullRequest> {
        self.one(number.0).await.map(|kept| kept.entry)
    }

    pub(crate) async fn diff(&self, number: PrNumber) -> Result<String> {
        let pull = self.view(number).await?;
        let (from, to) = match &pull.state {
            PullState::Merged { commit } => (format!("{commit}^"), commit.to_string()),
            _ => {
                let left = self.repo.left_at(&pull.branch, &pull.head, &self.cancel);
                let base = left.await?.unwrap_or_else(|| self.repo.default_ref());
                (base, pull.head.to_string())
            }
        };
        diff::between(self.repo.git(), &from, &to, &self.cancel).await
    }

    pub(crate) async fn edit(&self, number: PrNumber, edit: &Edit) -> Result<PullRequest> {
        let change = |pull: &mut PullRequest| {
            pull.title = edit.title.clone().unwrap_or_else(|| pull.title.clone());
            pull.body = edit.body.clone().unwrap_or_else(|| pull.body.clone());
            pull.base = edit.base.clone().unwrap_or_else(|| pull.base.clone());
            Ok(())
        };
        self.change(number.0, "edited", change).await
    }

    pub(crate) async fn comment(&self, number: PrNumber, comment: &NewComment) -> Result<Comment> {
        let add = |pull: &mut PullRequest| comment.add_to(&mut pull.comments);
        let pull = self.change(number.0, "commented", add).await?;
        comment
            .in_list(pull.comments)
            .ok_or(Error::NoPull { number })
    }

    /// Nothing runs checks on a bare remote; what ours said is in the receipt.
    pub(crate) async fn checks(&self, number: PrNumber) -> Result<Vec<Check>> {
        self.view(number).await?;
        Ok(Vec::new())
    }

    pub(crate) async fn conflict_files(&self, head: &CommitSha) -> Result<Vec<PathBuf>> {
        let base = self.repo.default_ref();
        squash::conflicts(&self.repo, &base, head.as_str(), &self.cancel).await
    }

    /// There is one list of comments.
    pub(crate) async fn reply(
        &self,
        number: PrNumber,
        _to: &str,
        comment: &NewComment,
    ) -> Result<Comment> {
        self.comment(number, comment).await
    }

    pub(crate) async fn merge_again(&self, wanted: &Merge) -> Result<()> {
        self.merge(wanted).await.map(drop)
    }

    pub(crate) async fn close(&self, number: PrNumber) -> Result<PullRequest> {
        let close = |pull: &mut PullRequest| match pull.state {
            PullState::Merged { .. } => Err(Error::NotOpen {
                number,
                state: "merged",
            }),
            _ => {
                pull.state = PullState::Closed;
                Ok(())
            }
        };
        self.change(number.0, "closed", close).await
    }

    pub(crate) async fn list(&self, open_only: bool) -> Result<Vec<PullRequest>> {
        let mut pulls = Vec::new();
        for kept in self.all::<PullRequest>().await?.into_iter().rev() {
            if !open_only || kept.entry.state == PullState::Open {
                pulls.push(kept.entry.live(&self.repo).await?);
            }
        }
        Ok(pulls)
    }
}
